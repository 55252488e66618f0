//! Which environment variables are secrets, and where each may go: a list of names, or a mapping of names to their bindings.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use toolrail_core::{Binding, HostPattern};

use super::faults;
use super::layer::Layer;
use super::wording::{fault, in_plain_words, step};

/// A variable that is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedSecret {
    /// Its name.
    pub(crate) name: String,
    /// Where it may go; anywhere, if nothing.
    pub(crate) binding: Option<Binding>,
}

impl ListedSecret {
    /// Reads `NAME`, or `NAME@HOST`, or several hosts with a plus between them.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some((name, hosts)) = text.split_once('@') else {
            return Ok(Self { name: text.to_owned(), binding: None });
        };
        let hosts = hosts.split('+').map(host).collect::<Result<_, _>>()?;
        Ok(Self { name: name.to_owned(), binding: Some(Binding { hosts, programs: false }) })
    }
}

/// What `secrets` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SecretsFile(pub(crate) Vec<ListedSecret>);

impl Layer for SecretsFile {
    /// All of both: where one of them binds a secret, it is bound.
    fn over(self, below: Self) -> Self {
        let mut all: BTreeMap<String, Option<Binding>> = BTreeMap::new();
        for ListedSecret { name, binding } in self.0.into_iter().chain(below.0) {
            let known = all.entry(name).or_default();
            *known = known.take().or(binding);
        }
        Self(all.into_iter().map(|(name, binding)| ListedSecret { name, binding }).collect())
    }
}

/// Where a secret may go, as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BindingFile {
    /// The hosts that it may be sent to; one may stand without a list.
    #[serde(deserialize_with = "hosts")]
    hosts: Vec<HostPattern>,
    /// Whether it may stand in the environment of programs that definitions start.
    programs: bool,
}

/// Reads either form.
pub(super) fn secrets<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SecretsFile>, D::Error> {
    let read = match Option::<Value>::deserialize(from)? {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(items)) => items.iter().map(item).collect::<Result<_, _>>(),
        Some(Value::Object(members)) => {
            let one = |(name, value): (&String, &Value)| {
                let binding = binding(value).map_err(|fault| format!("{name}: {fault}"))?;
                Ok(ListedSecret { name: name.clone(), binding })
            };
            members.iter().map(one).collect()
        }
        Some(_) => Err("must be a list of names, or a mapping of names to {hosts: […]}".to_owned()),
    };
    read.map(|secrets| Some(SecretsFile(secrets))).map_err(D::Error::custom)
}

/// Everything that is wrong with the mapping.
pub(super) fn faults(bindings: &Map<String, Value>) -> Vec<String> {
    let of_one = |(name, value): (&String, &Value)| {
        let place = format!("/secrets/{}", step(name));
        let mut found = match value {
            Value::Object(members) => faults::of_members::<BindingFile>(&place, members),
            _ => Vec::new(),
        };
        if found.is_empty() {
            found.extend(binding(value).err().map(|words| fault(&place, &words)));
        }
        found
    };
    bindings.iter().flat_map(of_one).collect()
}

fn item(value: &Value) -> Result<ListedSecret, String> {
    let name = value.as_str().ok_or("must be the name of an environment variable, such as API_KEY")?;
    ListedSecret::parse(name)
}

fn binding(value: &Value) -> Result<Option<Binding>, String> {
    let members = match value {
        Value::Null => return Ok(None),
        Value::Object(members) if members.is_empty() => return Ok(None),
        Value::Object(members) => Value::Object(members.clone()),
        _ => return Err("must be a mapping such as {hosts: [api.example.com]}".to_owned()),
    };
    let BindingFile { hosts, programs } =
        serde_json::from_value(members).map_err(|error| in_plain_words(&error.to_string()))?;
    if hosts.is_empty() && !programs {
        return Err(
            "may go nowhere, so nothing can use it; name its hosts, or write {} where it may go to any"
                .to_owned(),
        );
    }
    Ok(Some(Binding { hosts, programs }))
}

fn hosts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<HostPattern>, D::Error> {
    let text =
        |value: &Value| host(value.as_str().ok_or("must be the name of a host, such as api.example.com")?);
    let read = match Value::deserialize(from)? {
        Value::Array(hosts) => hosts.iter().map(text).collect(),
        one @ Value::String(_) => text(&one).map(|host| vec![host]),
        _ => Err("must be a list of hosts, such as [api.example.com]".to_owned()),
    };
    read.map_err(D::Error::custom)
}

fn host(text: &str) -> Result<HostPattern, String> {
    text.parse().map_err(|error: toolrail_core::WrongHost| error.to_string())
}
