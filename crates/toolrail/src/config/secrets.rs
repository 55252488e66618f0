//! Which environment variables are secrets, and where each may go: a list of names, or a mapping of names to their bindings.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use toolrail_core::{Binding, HostPattern, did_you_mean};

use super::layer::Layer;

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
    read.map(|secrets| Some(SecretsFile(secrets))).map_err(serde::de::Error::custom)
}

fn item(value: &Value) -> Result<ListedSecret, String> {
    ListedSecret::parse(value.as_str().ok_or("has an item that is not the name of a variable")?)
}

fn binding(value: &Value) -> Result<Option<Binding>, String> {
    const KEYS: [&str; 2] = ["hosts", "programs"];
    let members = match value {
        Value::Null => return Ok(None),
        Value::Object(members) if members.is_empty() => return Ok(None),
        Value::Object(members) => members,
        _ => return Err("must be {hosts: […]}".to_owned()),
    };
    if let Some(stray) = members.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let hint = did_you_mean(stray, KEYS).map(|question| format!("; {question}")).unwrap_or_default();
        return Err(format!("unknown key {stray:?}{hint}; known are {}", KEYS.join(", ")));
    }
    let hosts = match members.get("hosts") {
        None => Vec::new(),
        Some(Value::String(one)) => vec![host(one)?],
        Some(Value::Array(hosts)) => {
            let text = |value: &Value| host(value.as_str().ok_or("hosts must be texts")?);
            hosts.iter().map(text).collect::<Result<_, String>>()?
        }
        Some(_) => return Err("hosts must be a list of hosts".to_owned()),
    };
    let programs = match members.get("programs") {
        None => false,
        Some(value) => value.as_bool().ok_or("programs must be true or false")?,
    };
    Ok(Some(Binding { hosts, programs }))
}

fn host(text: &str) -> Result<HostPattern, String> {
    text.parse().map_err(|error: toolrail_core::WrongHost| error.to_string())
}
