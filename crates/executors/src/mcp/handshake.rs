//! How a connection begins: which era the server speaks is found out or given, and both sides say what they can do.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::task::TaskTracker;
use toolrail_core::{CallError, Caller, ErrorCode, Json, Principal};
use toolrail_protocol::{Era, code, revision};

use super::connection::{Connection, answer_of};
use super::endpoint::ServerEndpoint;
use super::failure::Failure;
use super::http::HttpSession;
use super::http_sse;
use super::message::{self, Writer};
use super::meta::{self, Claims};
use super::on_behalf::{Accounts, Holder};
use super::process::{Command, Process};
use super::session_stream::SessionStream;
use super::settings::{Limits, Protocol};
use super::wire::{OutgoingRequest, PendingRequest, Unsolicited, Wire, WireKind};

/// Makes connections to one server.
pub(super) struct ServerConnector {
    pub(super) way: Way,
    pub(super) protocol: Protocol,
    pub(super) limits: Limits,
    /// What a server is told on the connection on which it is listed.
    pub(super) claims: Claims,
    /// Where connections say goodbye after they were dropped.
    pub(super) farewells: TaskTracker,
    /// What was found out.
    pub(super) found: Mutex<Option<Era>>,
}

/// How a server is reached.
pub(super) enum Way {
    Http(Arc<ServerEndpoint>),
    Stdio(Command),
}

/// What a legacy server answers to `initialize`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Initialized {
    protocol_version: String,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    instructions: Value,
}

/// What a modern server answers to `server/discover`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Discovered {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    instructions: Value,
}

/// The most characters that are kept of what a server says about its use; clients get fewer.
const MOST_INSTRUCTIONS: usize = 8_000;

/// Programs that start at the same time: more would hold each other up until none is ready in time.
static STARTS: Semaphore = Semaphore::const_new(4);

type NewConnection = (Connection, Unsolicited);
/// Capabilities and instructions.
type ServerDetails = (Value, Value);

impl Initialized {
    fn said(self) -> ServerDetails {
        (self.capabilities, self.instructions)
    }
}

impl ServerConnector {
    /// The server in messages.
    pub(super) fn place(&self) -> String {
        match &self.way {
            Way::Http(endpoint) => endpoint.name(),
            Way::Stdio(command) => format!("{:?}", command.name()),
        }
    }

    /// A failure in words that name the server once: `deed` and the server go before a reason that does not.
    pub(super) fn words_for(&self, deed: &str, reason: &str) -> String {
        let place = self.place();
        if reason.contains(&place) { reason.to_owned() } else { format!("{deed} {place}: {reason}") }
    }

    /// A new connection, on which the server is listed.
    pub(super) async fn connect(&self) -> Result<NewConnection, CallError> {
        let made = self
            .first()
            .await
            .map(|(connection, unsolicited)| (Connection { claims: self.claims, ..connection }, unsolicited));
        let era = made.as_ref().ok().map(|(connection, _)| connection.era);
        // After a failure everything is found out anew: the server may have been replaced.
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = era;
        match (made, &self.way) {
            (Ok(made), _) => Ok(made),
            (Err(failure), Way::Http(endpoint)) => {
                Err(http_sse::explained(endpoint, failure).await.into_error())
            }
            (Err(failure), Way::Stdio(_)) => Err(failure.into_error()),
        }
    }

    /// A first connection, in nobody's name: which era the server speaks is found out, unless it is known.
    async fn first(&self) -> Result<NewConnection, Failure> {
        let capabilities = &self.claims.capabilities();
        let found = *self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.protocol, found) {
            (Protocol::Modern, _) | (Protocol::Auto, Some(Era::Modern)) => {
                self.modern(self.claims, None).await
            }
            (Protocol::Legacy, _) | (Protocol::Auto, Some(Era::Legacy)) => {
                self.legacy(capabilities, None).await
            }
            (Protocol::Auto, None) => match self.modern(self.claims, None).await {
                Err(failure) if self.may_be_legacy(&failure) => {
                    let legacy = self.legacy(capabilities, None).await;
                    // What a server says about a handshake it does not know tells less than about the one it does.
                    legacy.map_err(|second| if is_unknown_method(&second) { failure } else { second })
                }
                made => made,
            },
        }
    }

    /// A new connection in that era, which the server is known to speak, for a client that has those capabilities, in the name
    /// of whoever is to hold it.
    pub(super) async fn connect_as(
        &self,
        era: Era,
        capabilities: &Value,
        holder: Option<Holder>,
    ) -> Result<NewConnection, Failure> {
        let _turn = match &self.way {
            Way::Http(_) => None,
            Way::Stdio(_) => Some(self.turn().await?),
        };
        match era {
            Era::Modern => self.modern(Claims::Nothing, holder).await,
            Era::Legacy => self.legacy(capabilities, holder).await,
        }
    }

    /// In whose name a call is made; nobody's where everybody is the same to the server.
    pub(super) fn holder(
        &self,
        whose: (&Principal, &dyn Caller),
        server: &str,
    ) -> Result<Option<Holder>, CallError> {
        match &self.way {
            Way::Http(endpoint) => endpoint.holder(whose, server),
            Way::Stdio(_) => Ok(None),
        }
    }

    /// The accounts that people have at the server, where calls are made with what they grant.
    pub(super) fn accounts(&self, server: &str) -> Option<Accounts> {
        match &self.way {
            Way::Http(endpoint) => endpoint.accounts(server),
            Way::Stdio(_) => None,
        }
    }

    /// Whether calls are made in the name of whoever calls.
    pub(super) fn is_on_behalf(&self) -> bool {
        matches!(&self.way, Way::Http(endpoint) if endpoint.is_on_behalf())
    }

    /// Waits until a program may be started.
    async fn turn(&self) -> Result<SemaphorePermit<'static>, CallError> {
        let turn = tokio::time::timeout(self.limits.answer, STARTS.acquire()).await;
        turn.ok().and_then(Result::ok).ok_or_else(|| {
            let message = format!("too many programs are starting, so {} was not; try again", self.place());
            CallError::new(ErrorCode::Timeout, message)
        })
    }

    fn wire(&self, session: HttpSession) -> Arc<Wire> {
        Wire::new(WireKind::Http(Arc::new(session)), self.farewells.clone())
    }

    fn start(&self, command: &Command) -> Result<(Arc<Wire>, Unsolicited), Failure> {
        let (process, unasked) = Process::start(command, self.limits.message_bytes, self.farewells.clone())?;
        let wire = Wire::new(WireKind::Stdio(Box::new(process)), self.farewells.clone());
        Ok((wire, Unsolicited::Lines(unasked)))
    }

    async fn modern(&self, claims: Claims, holder: Option<Holder>) -> Result<NewConnection, Failure> {
        let (wire, unsolicited) = match &self.way {
            Way::Http(endpoint) => {
                let endpoint = Arc::clone(endpoint);
                let session = HttpSession {
                    endpoint,
                    holder,
                    version: Some(revision::V2026_07_28),
                    session: None,
                    is_modern: true,
                };
                (self.wire(session), Unsolicited::None)
            }
            Way::Stdio(command) => self.start(command)?,
        };
        let mut params = Writer::new();
        if let Some(meta) = meta::our_own(Era::Modern, claims) {
            params.raw("_meta", &meta);
        }
        let exchange = begin(&wire, "server/discover", params)?;
        let discovered: Discovered = read(&answer_of(exchange, self.limits.connect).await?, &wire)?;
        if !discovered.supported_versions.iter().any(|version| version == revision::V2026_07_28) {
            return Err(Failure::Status(400, unsupported(&wire, &discovered.supported_versions.join(", "))));
        }
        let said = (discovered.capabilities, discovered.instructions);
        Ok((self.connection(wire, Era::Modern, said), unsolicited))
    }

    async fn legacy(&self, capabilities: &Value, holder: Option<Holder>) -> Result<NewConnection, Failure> {
        let mut params = Writer::new();
        params.text("protocolVersion", revision::NEWEST_LEGACY).value("capabilities", capabilities);
        params.value("clientInfo", &meta::client_info());
        match &self.way {
            Way::Http(endpoint) => {
                let first = HttpSession {
                    endpoint: Arc::clone(endpoint),
                    holder: holder.clone(),
                    version: None,
                    session: None,
                    is_modern: false,
                };
                let wire = self.wire(first);
                let (initialized, session) = self.initialize(&wire, params).await?;
                let version = version_of(&initialized, &wire)?;
                let session = Arc::new(HttpSession {
                    endpoint: Arc::clone(endpoint),
                    holder,
                    version: Some(version),
                    session,
                    is_modern: false,
                });
                let wire = Wire::new(WireKind::Http(Arc::clone(&session)), self.farewells.clone());
                wire.send(message::notice("notifications/initialized", None)).await?;
                let stream = Unsolicited::Stream(Box::new(SessionStream::open(session)));
                Ok((self.connection(wire, Era::Legacy, initialized.said()), stream))
            }
            Way::Stdio(command) => {
                let (wire, unsolicited) = self.start(command)?;
                let (initialized, _) = self.initialize(&wire, params).await?;
                version_of(&initialized, &wire)?;
                wire.send(message::notice("notifications/initialized", None)).await?;
                Ok((self.connection(wire, Era::Legacy, initialized.said()), unsolicited))
            }
        }
    }

    async fn initialize(
        &self,
        wire: &Arc<Wire>,
        params: Writer,
    ) -> Result<(Initialized, Option<http::HeaderValue>), Failure> {
        let mut exchange = begin(wire, "initialize", params)?;
        let waiting = async {
            loop {
                if let message::ServerMessage::Answer { outcome, .. } = exchange.next().await? {
                    return outcome.map_err(|error| Failure::Call(message::refused(error)));
                }
            }
        };
        let waited = tokio::time::timeout(self.limits.connect, waiting).await;
        let result = waited.unwrap_or_else(|_| {
            Err(Failure::late(format!(
                "{} did not answer initialize within {} ms; raise connectTimeoutMs if it needs longer to start",
                wire.place(),
                self.limits.connect.as_millis()
            )))
        })?;
        Ok((read(&result, wire)?, exchange.named_session()))
    }

    /// Whether a server that refused `server/discover` like this may still know `initialize`. What it says about a request
    /// it does not know is up to it, so everything but an unreachable server and bad credentials counts.
    fn may_be_legacy(&self, failure: &Failure) -> bool {
        match failure {
            Failure::Status(status, _) => !matches!(status, 401 | 403 | 502..=504),
            // A child may have ended over the unknown request; it is started again.
            Failure::Lost(_) => matches!(self.way, Way::Stdio(_)),
            Failure::Call(error) => error.code != ErrorCode::SecretMissing,
            Failure::SessionGone => true,
        }
    }

    /// A connection to a server that said this about what it can do and how it is used.
    fn connection(
        &self,
        wire: Arc<Wire>,
        era: Era,
        (capabilities, instructions): ServerDetails,
    ) -> Connection {
        let instructions = instructions.as_str().map(|text| text.chars().take(MOST_INSTRUCTIONS).collect());
        let (patience, level) = (self.limits.answer, Mutex::default());
        let may_know_legacy = AtomicBool::new(era == Era::Modern && self.protocol == Protocol::Auto);
        let claims = Claims::Nothing;
        Connection { wire, era, may_know_legacy, capabilities, claims, instructions, patience, level }
    }
}

fn begin(wire: &Arc<Wire>, method: &'static str, params: Writer) -> Result<PendingRequest, Failure> {
    let id = wire.next_id();
    wire.begin(OutgoingRequest {
        id,
        method,
        name: None,
        params: params.finish(),
        params_in_headers: Vec::new(),
    })
}

fn read<'j, T: Deserialize<'j>>(result: &'j Json, wire: &Wire) -> Result<T, Failure> {
    serde_json::from_str(result.text()).map_err(|error| {
        Failure::unusable(format!("{} began with something that is not MCP ({error})", wire.place()))
    })
}

fn version_of(initialized: &Initialized, wire: &Wire) -> Result<&'static str, Failure> {
    let version = &initialized.protocol_version;
    let known = revision::LEGACY.iter().find(|known| *known == version);
    known.copied().ok_or_else(|| Failure::Call(unsupported(wire, version)))
}

fn unsupported(wire: &Wire, versions: &str) -> CallError {
    let message = format!(
        "{} speaks only revisions of MCP that are not known here ({versions}); known are {}",
        wire.place(),
        revision::all().join(", ")
    );
    CallError::new(ErrorCode::UpstreamInvalid, message)
}

fn is_unknown_method(failure: &Failure) -> bool {
    matches!(failure, Failure::Call(error) if error.rpc.as_ref().is_some_and(|rpc| rpc.code == code::METHOD_NOT_FOUND))
}
