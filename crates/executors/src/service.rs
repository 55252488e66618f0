//! Services: what several definitions share about one service (its address, headers, credential and time limits), so that
//! it stands in one place, the configuration. A definition uses one by its name and may overrule all but the address.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolrail_core::{Auth, Problem, Problems, closest};

use crate::kinds::Runtime;
use crate::request::{Base, Proof, Request, RequestSettings, Written, reach};
use crate::template::Compiler;

/// Where services stand in the configuration, as a JSON pointer.
const PLACE: &str = "/services/";

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

impl Service {
    /// The keys it may have.
    pub const KEYS: &'static [&'static str] =
        &["baseUrl", "headers", "auth", "timeoutMs", "connectTimeoutMs"];
}

/// The services that definitions may use.
#[derive(Clone, Debug, Default)]
pub struct Services(BTreeMap<String, Shared>);

/// A service that is known to be well-formed.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    name: String,
    pub(crate) base_url: String,
    pub(crate) headers: Map<String, Value>,
    auth: Option<Auth>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) connect_timeout_ms: Option<u64>,
}

impl Services {
    /// No services at all.
    pub(crate) const fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// Reads what the configuration says; every fault comes back with its pointer.
    pub fn read(services: BTreeMap<String, Service>) -> Result<Self, Vec<Problem>> {
        let mut problems = Problems::default();
        let mut read = BTreeMap::new();
        for (name, service) in services {
            let place = format!("{PLACE}{name}");
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
            if name.is_empty() || !name.chars().all(is_plain) {
                problems
                    .error(&place, "the name of a service has letters, digits, dots, dashes and underscores");
            }
            if service.base_url.is_empty() {
                problems.error(&place, "the field \"baseUrl\" is missing; add it");
            }
            let auth = service
                .auth
                .as_ref()
                .and_then(|auth| Auth::read(auth, &format!("{place}/auth"), &mut problems));
            let Service { base_url, headers, timeout_ms, connect_timeout_ms, .. } = service;
            let shared =
                Shared { name: name.clone(), base_url, headers, auth, timeout_ms, connect_timeout_ms };
            read.insert(name, shared);
        }
        // Whoever reads on finds these himself; what stops here should be told together.
        if problems.any_error() {
            for service in read.values() {
                if let Some(fault) = Base::fault(&service.base_url) {
                    problems.error(service.pointer("baseUrl"), fault);
                }
            }
        }
        if problems.any_error() { Err(problems.into_list(None, str::to_owned)) } else { Ok(Self(read)) }
    }

    /// What is wrong with the services, given the secrets and variables of `runtime`.
    pub fn check(runtime: &Runtime) -> Vec<Problem> {
        let mut problems = Problems::default();
        for service in runtime.services.0.values() {
            let mut compiler = Compiler::on(runtime, &mut problems);
            service.compile(&mut compiler);
            for argument in std::mem::take(&mut compiler.arguments) {
                let words = "a service is the same for every call, so there are no arguments here; put this into the definitions";
                compiler.problems.error(argument.pointer, words);
            }
        }
        problems.into_list(None, str::to_owned)
    }

    /// The service of that name; or why there is none.
    pub(crate) fn find(&self, name: &str) -> Result<&Shared, String> {
        self.0.get(name).ok_or_else(|| {
            let known = || self.0.keys().map(String::as_str);
            let hint = match closest(name, known()) {
                Some(meant) => format!("did you mean {meant:?}?"),
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

    /// Its address.
    pub(crate) fn base(&self, compiler: &mut Compiler<'_>) -> Option<Base> {
        Base::compile_text(&self.base_url, &self.pointer("baseUrl"), compiler)
    }

    /// Its credential, and where that stands.
    pub(crate) fn proof(&self) -> Option<Proof<'_>> {
        Some(Proof { auth: self.auth.as_ref()?, pointer: self.pointer("auth") })
    }

    /// Looks through all of it.
    fn compile(&self, compiler: &mut Compiler<'_>) {
        let base = self.base(compiler);
        let block = format!("services/{}", self.name);
        let settings = RequestSettings {
            block: &block,
            headers: Some(&self.headers),
            timeout_ms: self.timeout_ms,
            connect_timeout_ms: self.connect_timeout_ms,
            ..RequestSettings::default()
        };
        let written = Written { path: Vec::new(), query: Vec::new(), pointer: self.pointer("baseUrl") };
        Request::compile(&written, &settings, self.proof(), compiler);
        reach::check(base.as_slice(), compiler);
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
