//! Services as requests need them: read from the configuration, looked through, and their address and credential made of them.

use std::collections::BTreeMap;

use toolrail_core::{Auth, Problem, Problems};

use super::{Base, Proof, RequestSettings, RequestTemplate, Written, reach};
use crate::runtime::Runtime;
use crate::service::{PLACE, Service, Services, Shared};
use crate::template::Compiler;

impl Services {
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
}

impl Shared {
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
        RequestTemplate::compile(&written, &settings, self.proof(), compiler);
        reach::check(base.as_slice(), compiler);
    }
}
