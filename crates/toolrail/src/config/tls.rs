//! TLS of an address, and whom the certificates of clients stand for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use serde::Deserialize;
use serde_json::{Map, Value};
use toolrail_core::{Principal, Role, ToolReach};
use toolrail_http::{ClientAuthority, ClientRule, Demand, TlsSettings};

use super::faults;
use super::layer::{Layer, layered};

layered! {
    /// TLS of an address.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    pub(crate) struct TlsFile {
        /// The file of the certificate (PEM), relative to this file, with those between it and its authority.
        pub(crate) cert: Option<PathBuf>,
        /// The file of its private key (PEM), relative to this file.
        pub(crate) key: Option<PathBuf>,
        /// A file of authorities (PEM), relative to this file, whose certificates clients may show; none when left out.
        pub(crate) client_ca: Option<PathBuf>,
        /// Whether clients have to show one: `required` or `optional`; `required` when left out.
        pub(crate) client_cert: Option<ClientCert>,
        /// Whether answers say `Strict-Transport-Security`; they do when left out.
        pub(crate) hsts: Option<bool>,
        /// Whom verified certificates stand for; the first that fits counts, and nobody where none does.
        pub(crate) clients: Option<Vec<ClientFile>>,
    }
}

/// Whether clients have to show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClientCert {
    Required,
    Optional,
}

impl Layer for ClientCert {}

/// Whom some certificates stand for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ClientText")]
pub(crate) struct ClientFile(ClientRule);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClientText {
    /// The subject, `CN=ci,O=Acme`, with `*` for any characters.
    subject: Option<String>,
    /// Another name of the certificate, such as a SPIFFE id, with `*` for any characters.
    san: Option<String>,
    /// Its name, for people; what the certificate says when left out.
    name: Option<String>,
    /// What it may do; `call` when left out.
    role: Option<Role>,
    /// Its tenant.
    tenant: Option<String>,
    /// Patterns of the tools that it sees; all when left out.
    tools: Option<Vec<String>>,
}

impl TryFrom<ClientText> for ClientFile {
    type Error = String;

    fn try_from(text: ClientText) -> Result<Self, String> {
        let ClientText { subject, san, name, role, tenant, tools } = text;
        let mut rule = ClientRule::new(subject, san).map_err(|wrong| wrong.to_string())?;
        if name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            return Err("name is empty; leave it out, or write one".to_owned());
        }
        // No pattern at all would be none that limits.
        if tools.as_ref().is_some_and(|tools| tools.iter().all(|tool| tool.trim().is_empty())) {
            return Err(
                "tools is empty; leave it out for all tools, or write patterns of their names".to_owned()
            );
        }
        let role = role.unwrap_or(rule.role);
        if tools.is_some() && role > Role::Call {
            let word = role.word();
            return Err(format!("tools go with the roles read and call only, not with {word}"));
        }
        let tenant = tenant.as_deref().map(Principal::of_tenant).transpose();
        let tenant = tenant.map_err(|wrong| wrong.to_string())?;
        rule.tenant = tenant.as_ref().and_then(Principal::shared_tenant).cloned();
        rule.reach = tools.map(|tools| Arc::new(ToolReach::new(&tools)));
        (rule.name, rule.role) = (name, role);
        Ok(Self(rule))
    }
}

impl TlsFile {
    /// What flags say.
    pub(crate) fn of_flags(cert: Option<&PathBuf>, key: Option<&PathBuf>) -> Option<Self> {
        let said = Self { cert: cert.cloned(), key: key.cloned(), ..Self::default() };
        (said != Self::default()).then_some(said)
    }

    /// The files are relative to the folder of the configuration.
    pub(super) fn relative_to(&mut self, folder: &Path) {
        for file in self.cert.iter_mut().chain(&mut self.key).chain(&mut self.client_ca) {
            *file = folder.join(&file);
        }
    }

    /// What it comes to; `place` is how the file calls it, and `flags` are those of certificate and key.
    pub(super) fn settle(self, place: &str, flags: [&str; 2]) -> anyhow::Result<TlsSettings> {
        let (cert, key) = match (self.cert, self.key) {
            (Some(cert), Some(key)) => (cert, key),
            (Some(_), None) => {
                bail!(
                    "{place} has a certificate without a key; name the file of its key with {} or {place}.key",
                    flags[1]
                )
            }
            (None, Some(_)) => {
                bail!(
                    "{place} has a key without a certificate; name the file of its certificate with {} or {place}.cert",
                    flags[0]
                )
            }
            (None, None) => bail!(
                "{place} has neither certificate nor key; name their files with {} and {}, or leave {place} out",
                flags[0],
                flags[1]
            ),
        };
        let client_authority = match (self.client_ca, self.client_cert) {
            (Some(file), said) => Some(ClientAuthority { file, demand: demand(said) }),
            (None, Some(_)) => {
                bail!(
                    "{place}.clientCert asks for certificates of clients; name the file of their authority in {place}.clientCa"
                )
            }
            (None, None) => None,
        };
        let clients: Vec<ClientRule> =
            self.clients.into_iter().flatten().map(|ClientFile(rule)| rule).collect();
        if client_authority.is_none() && !clients.is_empty() {
            bail!("{place}.clients are never met; name the file of their authority in {place}.clientCa");
        }
        Ok(TlsSettings { cert, key, client_authority, hsts: self.hsts.unwrap_or(true), clients })
    }
}

fn demand(said: Option<ClientCert>) -> Demand {
    match said {
        Some(ClientCert::Optional) => Demand::Optional,
        Some(ClientCert::Required) | None => Demand::Required,
    }
}

/// Everything that is wrong with the mapping at `place`.
pub(super) fn faults(place: &str, members: &Map<String, Value>) -> Vec<String> {
    faults::of_members::<TlsFile>(place, members)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settled(value: Value) -> Result<TlsSettings, String> {
        let file: TlsFile = serde_json::from_value(value).unwrap();
        file.settle("tls", ["--tls-cert", "--tls-key"]).map_err(|error| error.to_string())
    }

    #[test]
    fn certificate_and_key_go_together() {
        for (value, words) in [
            (json!({"cert": "a"}), "--tls-key or tls.key"),
            (json!({"key": "a"}), "--tls-cert or tls.cert"),
            (json!({"hsts": false}), "neither certificate nor key"),
            (json!({"cert": "a", "key": "b", "clientCert": "optional"}), "tls.clientCa"),
            (json!({"cert": "a", "key": "b", "clients": [{"san": "x"}]}), "never met"),
        ] {
            let told = settled(value).unwrap_err();
            assert!(told.contains(words), "{told}");
        }
        let usual = settled(json!({"cert": "a", "key": "b", "clientCa": "c"})).unwrap();
        assert!(usual.hsts && usual.client_authority.is_some_and(|who| who.demand == Demand::Required));
    }

    #[test]
    fn every_fault_of_a_client_is_told_with_its_place() {
        let members = json!({
            "certt": "a",
            "clientCert": "maybe",
            "clients": [
                {"name": "x"},
                {"subject": "ci"},
                {"subject": "CN=ci", "role": "root"},
                {"subject": "CN=ci", "role": "admin", "tools": ["a"]},
                {"subject": "CN=ci", "tenant": "a b"},
                {"subject": "CN=ci", "groups": []},
                {"subject": "CN=ci", "tools": []},
                {"subject": "CN=ci", "role": "read", "tools": ["a.*"], "tenant": "acme"},
            ],
        });
        let told = faults("/tls", members.as_object().unwrap());
        let words = [
            "/tls/certt: unknown key; did you mean \"cert\"?",
            "/tls/clientCert: \"maybe\" is not known; known are required, optional",
            "/tls/clients/0: it needs `subject`",
            "/tls/clients/1: \"ci\" is not the subject of certificates",
            "/tls/clients/2: \"root\" is not known; known are read, call, write, admin",
            "/tls/clients/3: tools go with the roles read and call only, not with admin",
            "/tls/clients/4: \"a b\" is not the name of a tenant",
            "/tls/clients/5: unknown key",
            "/tls/clients/6: tools is empty",
        ];
        for words in words {
            assert!(told.iter().any(|line| line.starts_with(words)), "{words}: {told:#?}");
        }
        assert_eq!(told.len(), words.len(), "{told:#?}");
    }
}
