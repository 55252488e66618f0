//! The way of one client: from the address of a server to where its user signs in.

use serde_json::Value;
use url::Url;

use super::clients::{ClientHabits, Registration, ResourceMatch};
use super::probe::{Probe, Refused};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// How far a client gets.
pub(super) struct Walk {
    pub(super) steps: Vec<Step>,
}

/// One thing that a client does.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) outcome: StepOutcome,
    pub(super) message: String,
    /// What to do about it.
    pub(super) advice: Option<String>,
}

/// How it went.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StepOutcome {
    Ok,
    /// It goes on, but something should be known.
    Note,
    /// It ends here.
    Failed,
}

impl StepOutcome {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Failed => "failed",
        }
    }
}

/// The client can go no further.
struct Stuck;

impl Walk {
    /// Goes as far as that client gets.
    pub(super) async fn of(client: &ClientHabits, server: &Url, probe: &mut Probe) -> Self {
        let mut walk = Self { steps: Vec::new() };
        // What ended it is its last step.
        let _ = walk.go(client, server, probe).await;
        walk
    }

    pub(super) fn succeeded(&self) -> bool {
        self.steps.iter().all(|step| step.outcome != StepOutcome::Failed)
    }

    async fn go(&mut self, client: &ClientHabits, server: &Url, probe: &mut Probe) -> Result<(), Stuck> {
        let pointer = self.introduce(client, server, probe).await?;
        let (at, resource) = self.find_resource(pointer, server, probe).await?;
        self.check_resource(client, server, (&at, &resource))?;
        let issuer = self.issuer(&at, &resource)?;
        let (at, described) = self.find_server(&issuer, probe).await?;
        self.check_server(&issuer, (&at, &described))?;
        self.register(client, &described)
    }

    /// Speaks to the server without a token, which must say that one is needed.
    async fn introduce(
        &mut self,
        client: &ClientHabits,
        server: &Url,
        probe: &mut Probe,
    ) -> Result<Option<String>, Stuck> {
        const NAME: &str = "challenge";
        let told = match probe.introduce(server).await {
            Ok(told) => told,
            Err(reason) => {
                let advice = "is the server started, and its address right, also from where the client runs?";
                return self.failed(NAME, format!("POST {server}: {reason}"), advice);
            }
        };
        if told.status != http::StatusCode::UNAUTHORIZED {
            let message = format!("POST {server} without a token is answered with {}, not 401", told.status);
            let advice = if told.status.is_success() {
                "nobody is asked to sign in there; name issuers in the configuration if they should be"
            } else {
                "clients begin to sign in when they see 401; look at what stands between, such as a proxy"
            };
            return self.failed(NAME, message, advice);
        }
        if let Some(endpoint) = mcp_below(server, &told, probe).await {
            let message = format!("POST {server}: 401, but MCP is spoken at {endpoint}, not there");
            return self.failed(NAME, message, "type that address into the client");
        }
        match (client.reads_challenge, told.description) {
            (true, Some(description)) => {
                self.ok(NAME, format!("POST {server}: 401, with its description at {description}"));
                Ok(Some(description))
            }
            (true, None) => {
                let header = if told.challenges { "has no resource_metadata" } else { "is missing" };
                let message = format!("POST {server}: 401, but WWW-Authenticate {header}");
                self.note(NAME, message, "the client tries the usual places instead");
                Ok(None)
            }
            (false, _) => {
                self.ok(NAME, format!("POST {server}: 401"));
                Ok(None)
            }
        }
    }

    /// Finds the description of the server: where it says, before its path, or at its root.
    async fn find_resource(
        &mut self,
        pointer: Option<String>,
        server: &Url,
        probe: &mut Probe,
    ) -> Result<(String, Value), Stuck> {
        const NAME: &str = "resource description";
        let origin = server.origin().ascii_serialization();
        let path = server.path().trim_end_matches('/');
        let usual = [format!("{origin}{RESOURCE}{path}"), format!("{origin}{RESOURCE}")];
        let tried = match pointer {
            Some(pointer) => vec![pointer],
            None => usual.into_iter().collect(),
        };
        let advice = "the server must describe itself there, without asking for a token (RFC 9728)";
        self.first_of(NAME, &tried, probe, advice).await
    }

    fn check_resource(
        &mut self,
        client: &ClientHabits,
        server: &Url,
        (at, resource): (&str, &Value),
    ) -> Result<(), Stuck> {
        const NAME: &str = "resource";
        let typed = server.as_str();
        let is_same = |told: &str| told.trim_end_matches('/') == typed.trim_end_matches('/');
        let origin = server.origin().ascii_serialization();
        let told = resource["resource"].as_str().unwrap_or_default();
        let fits = match client.resource {
            ResourceMatch::Anything => true,
            ResourceMatch::Exact => is_same(told),
            ResourceMatch::AddressOrOrigin => is_same(told) || told.trim_end_matches('/') == origin,
        };
        if fits {
            self.ok(NAME, format!("it describes {told}"));
            return Ok(());
        }
        let advice = "the resource must be the address as typed; for Toolrail, publicUrl is its beginning";
        self.failed(NAME, format!("{at} describes {told:?}, and {typed} was typed"), advice)
    }

    fn issuer(&mut self, at: &str, resource: &Value) -> Result<String, Stuck> {
        const NAME: &str = "authorisation server";
        let first = resource["authorization_servers"].get(0).and_then(Value::as_str);
        let advice = "name an issuer, or the broker, in the configuration";
        let Some(first) = first else {
            return self.failed(NAME, format!("{at} names no authorization_servers"), advice);
        };
        self.ok(NAME, format!("it sends its users to {first}"));
        Ok(first.to_owned())
    }

    /// Finds the description of the authorisation server, in the order that MCP lays down.
    async fn find_server(&mut self, issuer: &str, probe: &mut Probe) -> Result<(String, Value), Stuck> {
        const NAME: &str = "server description";
        let Ok(url) = Url::parse(issuer) else {
            return self.failed(NAME, format!("{issuer:?} is no address"), "an issuer is an https address");
        };
        let (origin, path) = (url.origin().ascii_serialization(), url.path().trim_end_matches('/'));
        let mut tried = vec![format!("{origin}{SERVER}{path}"), format!("{origin}{OPENID}{path}")];
        if !path.is_empty() {
            tried.push(format!("{origin}{path}{OPENID}"));
        }
        let advice = "the issuer must be exactly as the provider writes it; one that describes itself nowhere needs the broker";
        self.first_of(NAME, &tried, probe, advice).await
    }

    fn check_server(&mut self, issuer: &str, (at, described): (&str, &Value)) -> Result<(), Stuck> {
        const NAME: &str = "endpoints";
        let text = |member: &str| described[member].as_str().unwrap_or_default();
        if text("issuer") != issuer {
            let message = format!("{at} says it is {:?}, not {issuer:?}", text("issuer"));
            return self.failed(
                NAME,
                message,
                "write the issuer exactly as the provider does, also its slash",
            );
        }
        for member in ["authorization_endpoint", "token_endpoint"] {
            if !is_safe(text(member)) {
                let message = format!("{at}: {member} is {:?}", text(member));
                return self.failed(NAME, message, "it must be an https address, or one of this machine");
            }
        }
        let methods = described["code_challenge_methods_supported"].as_array();
        if !methods.is_some_and(|methods| methods.iter().any(|method| method == "S256")) {
            let message = format!("{at} does not say that it supports PKCE with S256");
            let advice = "clients must not go on (code_challenge_methods_supported); put the broker in front of this provider";
            return self.failed(NAME, message, advice);
        }
        self.ok(NAME, format!("users sign in at {}, with PKCE", text("authorization_endpoint")));
        Ok(())
    }

    fn register(&mut self, client: &ClientHabits, described: &Value) -> Result<(), Stuck> {
        const NAME: &str = "registration";
        let takes_documents = described["client_id_metadata_document_supported"] == true;
        let methods = described["token_endpoint_auth_methods_supported"].as_array();
        let takes_public = methods.is_some_and(|methods| methods.iter().any(|method| method == "none"));
        let endpoint = described["registration_endpoint"].as_str();
        for way in client.registers {
            match (way, endpoint) {
                (Registration::Document, _) if takes_documents && takes_public => {
                    self.ok(NAME, "its id is the address of a document about it".to_owned());
                }
                (Registration::Dynamic, Some(endpoint)) => {
                    self.ok(NAME, format!("it registers itself at {endpoint} (not tried)"));
                }
                (Registration::ByHand, _) => {
                    let advice = "register it at the provider by hand, or put the broker in front";
                    self.note(NAME, "it asks its user for a client id".to_owned(), advice);
                }
                _ => continue,
            }
            return Ok(());
        }
        let message = match (takes_documents, takes_public) {
            (true, false) => {
                "documents about clients are taken, but not clients without a secret (\"none\" in token_endpoint_auth_methods_supported), and there is no registration_endpoint"
            }
            _ => "there is no registration_endpoint, and ids that are addresses of documents are not taken",
        };
        let advice =
            "such a provider needs the broker, which registers clients itself (broker in the configuration)";
        self.failed(NAME, message.to_owned(), advice)
    }

    /// The first of those documents that is there.
    async fn first_of(
        &mut self,
        name: &'static str,
        urls: &[String],
        probe: &mut Probe,
        advice: &str,
    ) -> Result<(String, Value), Stuck> {
        let mut reasons = Vec::new();
        for url in urls {
            match probe.document(url).await {
                Ok(document) => {
                    self.ok(name, format!("GET {url}"));
                    return Ok((url.clone(), document));
                }
                Err(reason) => reasons.push(format!("GET {url}: {reason}")),
            }
        }
        self.failed(name, reasons.join("; "), advice)
    }

    fn ok(&mut self, name: &'static str, message: String) {
        self.steps.push(Step { name, outcome: StepOutcome::Ok, message, advice: None });
    }

    fn note(&mut self, name: &'static str, message: String, advice: &str) {
        let advice = Some(advice.to_owned());
        self.steps.push(Step { name, outcome: StepOutcome::Note, message, advice });
    }

    fn failed<T>(&mut self, name: &'static str, message: String, advice: &str) -> Result<T, Stuck> {
        let advice = Some(advice.to_owned());
        self.steps.push(Step { name, outcome: StepOutcome::Failed, message, advice });
        Err(Stuck)
    }
}

/// Whether somebody may be sent there to sign in.
fn is_safe(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let is_local = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_local)
}

/// Where a server speaks MCP that was typed without the path of that: some ask everybody who he is before they say that there is
/// nothing. It is below what was typed, and has a description of its own.
async fn mcp_below(server: &Url, told: &Refused, probe: &mut Probe) -> Option<Url> {
    const ENDPOINT: &str = "/mcp";
    let path = server.path().trim_end_matches('/');
    if path.split('/').any(|step| format!("/{step}") == ENDPOINT) {
        return None;
    }
    let mut below = server.clone();
    below.set_path(&format!("{path}{ENDPOINT}"));
    below.set_query(None);
    let asked = probe.introduce(&below).await.ok()?;
    let description = asked.description.filter(|_| asked.status == http::StatusCode::UNAUTHORIZED)?;
    let is_of_endpoint = description.ends_with(ENDPOINT) && told.description.as_ref() != Some(&description);
    is_of_endpoint.then_some(below)
}
