//! Services: what several definitions share about one service (its address, headers, credential and time limits), so that
//! it stands in one place, the configuration. A definition uses one by its name and may overrule all but the address.
//! `request/services.rs` reads and checks them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolrail_core::{Auth, Problem, did_you_mean};

/// Where services stand in the configuration, as a JSON pointer.
pub(crate) const PLACE: &str = "/services/";

/// One service as the configuration has it. Values may hold `{{vars.NAME}}` and `{{secrets.KEY}}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Service {
    /// Where the service is, such as `https://api.example.com/v2`.
    #[serde(default)]
    pub base_url: String,
    /// Headers that go with every request, by name.
    #[serde(default)]
    pub headers: Map<String, Value>,
    /// How requests prove themselves, as in a definition.
    #[serde(default)]
    pub auth: Option<Value>,
    /// The most milliseconds an exchange may take, where the definition says nothing.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// The most milliseconds connecting may take, where the definition says nothing.
    #[serde(default)]
    pub connect_timeout_ms: Option<u64>,
}

/// The services that definitions may use.
#[derive(Clone, Debug, Default)]
pub struct Services(pub(crate) BTreeMap<String, Shared>);

/// A service that is known to be well-formed.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) base_url: String,
    pub(crate) headers: Map<String, Value>,
    pub(crate) auth: Option<Auth>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) connect_timeout_ms: Option<u64>,
}

impl Services {
    /// No services at all.
    pub(crate) const fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// The service of that name; or why there is none.
    pub(crate) fn find(&self, name: &str) -> Result<&Shared, String> {
        self.0.get(name).ok_or_else(|| {
            let known = || self.0.keys().map(String::as_str);
            let hint = match did_you_mean(name, known()) {
                Some(question) => question,
                None if self.0.is_empty() => "add it under `services` in the configuration".to_owned(),
                None => format!(
                    "known are {}; add it under `services` in the configuration",
                    known().collect::<Vec<_>>().join(", ")
                ),
            };
            format!("there is no service {name:?}; {hint}")
        })
    }
}

impl Shared {
    /// Where its part of that name stands in the configuration.
    pub(crate) fn pointer(&self, part: &str) -> String {
        format!("{PLACE}{}/{part}", self.name)
    }
}

/// Has what was noted about a service point at the field of the definition that names it.
pub(crate) fn told_at(field: &str, problem: &mut Problem) {
    if problem.pointer.starts_with(PLACE) {
        problem.message = format!("{} in the configuration: {}", problem.pointer, problem.message);
        field.clone_into(&mut problem.pointer);
    }
}

/// The same for a pointer alone.
pub(crate) fn pointed_at(field: &str, pointer: &mut String) {
    if pointer.starts_with(PLACE) {
        field.clone_into(pointer);
    }
}
