//! The server: takes one message, finds its dialect and its method, and answers it from one snapshot.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolrail_core::{Principal, shortened};
use toolrail_registry::{Endpoint, Registry};

use crate::batch;
use crate::caller::RequestCaller;
use crate::conversation;
use crate::dialect::{self, Dialect};
use crate::envelope::{self, Message, Notification, Params, Request};
use crate::headers::{Claims, decode};
use crate::live::{Live, Sessions};
use crate::long_lists::LongLists;
use crate::methods::{self, Context, Handle, Method};
use crate::peer::{Peer, Session};
use crate::relay::{Relay, Report};
use crate::reply::{Answer, Code, Fault, Reply};
use crate::session::now;
use crate::sign::Signer;
use crate::tasks::Tasks;
use crate::transport::Mailboxes;

/// How the server introduces itself.
#[derive(Clone, Debug)]
pub struct ServerInfo {
    /// Its name for machines.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// What a model should know about using it.
    pub instructions: Option<String>,
}

/// The MCP server over one registry.
pub struct Server {
    pub(crate) registry: Arc<Registry>,
    pub(crate) info: ServerInfo,
    /// What every modern result ends with, but for the two last braces.
    pub(crate) modern_tail: Vec<u8>,
    pub(crate) signer: Signer,
    /// To and from other replicas.
    pub(crate) relay: Arc<Relay>,
    pub(crate) sessions: Sessions,
    /// Connections of the transport of 2024-11-05.
    pub(crate) mailboxes: Mailboxes,
    /// Cancelled when the server is about to end: streams then end by themselves.
    pub(crate) closing: CancellationToken,
    /// Calls that go on although their client has lost the connection.
    pub(crate) tracker: TaskTracker,
    /// Open WebSockets, which have left the HTTP connections that they began as.
    pub(crate) sockets: TaskTracker,
    /// Calls that run on while their clients ask for them now and then.
    pub(crate) tasks: Tasks,
    pub(crate) long_lists: LongLists,
    /// When it was made, in seconds since 1970.
    started: u64,
}

/// What becomes of a message.
pub(crate) enum Said {
    /// It is answered.
    Answer(Answer),
    /// It wants no answer.
    Nothing,
    /// It answers something that nobody here has asked.
    Unexpected,
}

impl Server {
    /// A server over that registry. Replicas that share `key` know each other's sessions.
    pub fn new(registry: Arc<Registry>, info: ServerInfo, key: &[u8; 32]) -> Arc<Self> {
        let signer = Signer::new(key);
        let replica = signer.random().map_or_else(std::process::id, u32::from_be_bytes);
        let me = implementation(&info);
        let modern_tail =
            format!("\"resultType\":\"complete\",\"_meta\":{{\"io.modelcontextprotocol/serverInfo\":{me}")
                .into_bytes();
        let relay = Relay::new(Arc::clone(&registry), replica);
        Arc::new(Self {
            registry,
            info,
            modern_tail,
            signer,
            tasks: Tasks::new(Arc::clone(&relay)),
            relay,
            sessions: Sessions::default(),
            mailboxes: Mailboxes::default(),
            closing: CancellationToken::new(),
            tracker: TaskTracker::new(),
            sockets: TaskTracker::new(),
            long_lists: LongLists::default(),
            started: now(),
        })
    }

    /// Ends every stream in an orderly way; calls under way go on.
    pub fn close(&self) {
        self.closing.cancel();
        self.tracker.close();
        self.sockets.close();
    }

    /// Waits after [`close`](Self::close) until every WebSocket has said goodbye.
    pub async fn closed(&self) {
        self.sockets.wait().await;
    }

    /// Whether a client held its session with a process before this one and has not been told yet that the lists may be
    /// others now; from then on it has.
    pub(crate) fn may_have_missed(&self, session: &Session) -> bool {
        session.begun.is_some_and(|begun| begun < self.started)
            && session.live.as_ref().is_some_and(|live| !live.catch_up())
    }

    /// Tells this process from other replicas.
    pub(crate) fn replica(&self) -> u32 {
        self.relay.replica
    }

    /// How the server introduces itself, as JSON.
    pub(crate) fn implementation(&self) -> Value {
        implementation(&self.info)
    }

    /// Answers one message, or a batch of them.
    pub(crate) async fn answer(&self, bytes: &[u8], peer: &Peer<'_>) -> Said {
        if envelope::is_batch(bytes) && batch::is_allowed(peer) {
            return self.answer_batch(bytes, peer).await;
        }
        self.answer_one(bytes, peer).await
    }

    pub(crate) async fn answer_one(&self, bytes: &[u8], peer: &Peer<'_>) -> Said {
        match envelope::parse(bytes) {
            Err((id, fault)) => Said::Answer(Answer::write(id, Err(fault))),
            Ok(Message::Request(request)) => self.answer_request(&request, peer).await,
            Ok(Message::Notification(notification)) => {
                if let Some(live) = &peer.session.live {
                    self.pass_on_roots(&notification, live, (peer.principal, peer.endpoint));
                }
                if let (Some(id), Some(live)) = (cancelled(&notification), &peer.session.live)
                    && !live.cancel(id.get())
                    && let Some(session) = live.key()
                {
                    // It has ended, or another replica runs it.
                    self.relay.newsroom.tell(&Report::cancelled(session, id.get()));
                }
                Said::Nothing
            }
            Ok(Message::Response(response)) => {
                let Some(live) = &peer.session.live else { return Said::Nothing };
                let id = response.id.and_then(|id| serde_json::from_str::<String>(id.get()).ok());
                let Some(id) = id else { return Said::Unexpected };
                let expected = live.asks.answer_named(&id, response.result)
                    || self.pass_on(live, &id, response.result).await;
                if expected { Said::Nothing } else { Said::Unexpected }
            }
        }
    }

    /// Upstream servers that the client speaks to hear that its roots have changed.
    pub(crate) fn pass_on_roots(
        &self,
        notification: &Notification<'_>,
        live: &Live,
        (principal, endpoint): (&Principal, &Arc<Endpoint>),
    ) {
        if notification.method == "notifications/roots/list_changed" {
            let snapshot = self.registry.catalogue_at(principal.tenant(), endpoint);
            snapshot.roots_changed(&conversation::of_session(live, self.replica()));
        }
    }

    /// Answers one request.
    pub(crate) async fn answer_request(&self, request: &Request<'_>, peer: &Peer<'_>) -> Said {
        let reply = self.reply(request, peer).await;
        Said::Answer(Answer::write(Some(request.id), reply))
    }

    async fn reply(&self, request: &Request<'_>, peer: &Peer<'_>) -> Reply {
        let dialect = dialect_of(request, peer)?;
        let Some(method) = methods::find(&request.method, dialect) else {
            let status = if dialect == Dialect::Modern { 404 } else { 200 };
            let message = format!("unknown method {:?}", shortened(&request.method));
            return Err(Fault::new(Code::MethodNotFound, message).with_status(status));
        };
        if let (Dialect::Modern, Some(claims)) = (dialect, &peer.claims) {
            check_method_headers(method, request, claims)?;
        }
        let caller = RequestCaller::new(self, peer, request, dialect);
        let context =
            Context { server: self, peer, dialect, id: request.id, params: &request.params, caller: &caller };
        match method.handle {
            Handle::Now(handle) => handle(context),
            Handle::Later(handle) => handle(context).await,
        }
    }
}

/// The id of the request that a notification cancels, if it is one that does.
pub(crate) fn cancelled<'a>(notification: &Notification<'a>) -> Option<&'a RawValue> {
    notification.params.request_id.filter(|_| notification.method == "notifications/cancelled")
}

fn implementation(info: &ServerInfo) -> Value {
    let mut implementation = json!({"name": info.name, "version": info.version});
    if let Some(title) = &info.title {
        implementation["title"] = title.as_str().into();
    }
    implementation
}

/// Chooses the dialect by what the client said: modern metadata, a header, or an earlier `initialize`.
fn dialect_of(request: &Request<'_>, peer: &Peer<'_>) -> Result<Dialect, Fault> {
    let header = peer.claims.as_ref().and_then(|claims| claims.protocol_version);
    let meta = request.params.meta.as_ref();
    let named = meta.and_then(|meta| meta.protocol_version);
    let modern_header = header.is_some_and(|version| !dialect::LEGACY.contains(&version));
    if named.is_none() && !modern_header {
        let standard = header.is_some() || peer.session.revision.get().is_some();
        return Ok(if standard { Dialect::Legacy } else { Dialect::Plain });
    }
    let invalid = |message: &str| Fault::new(Code::InvalidParams, message).with_status(400);
    let Some(version) = Params::text("io.modelcontextprotocol/protocolVersion", named)
        .map_err(|fault| fault.with_status(400))?
    else {
        // A client that only names an unknown revision in the header learns which ones there are.
        check_supported(header.unwrap_or_default())?;
        return Err(invalid("_meta must have \"io.modelcontextprotocol/protocolVersion\" in this revision"));
    };
    if peer.claims.is_some() && header != Some(&*version) {
        let message = format!(
            "the header MCP-Protocol-Version must repeat the version of _meta, {:?}",
            shortened(&version)
        );
        return Err(Fault::new(Code::HeaderMismatch, message));
    }
    check_supported(&version)?;
    let capabilities = meta.and_then(|meta| meta.client_capabilities);
    if !capabilities.is_some_and(|raw| raw.get().starts_with('{')) {
        return Err(invalid("_meta must have \"io.modelcontextprotocol/clientCapabilities\", an object"));
    }
    Ok(Dialect::Modern)
}

fn check_supported(version: &str) -> Result<(), Fault> {
    if dialect::MODERN.contains(&version) {
        return Ok(());
    }
    let data = json!({"supported": dialect::supported(), "requested": shortened(version)});
    Err(Fault::new(Code::UnsupportedVersion, "unsupported protocol version").with_data(data))
}

fn check_method_headers(method: &Method, request: &Request<'_>, claims: &Claims<'_>) -> Result<(), Fault> {
    if claims.method != Some(&*request.method) {
        let message = format!("the header Mcp-Method must repeat the method, {:?}", method.name);
        return Err(Fault::new(Code::HeaderMismatch, message));
    }
    let Some(name_in) = method.name_in else {
        return Ok(());
    };
    let field = name_in.field();
    let Ok(Some(name)) = Params::text(field, name_in.of(&request.params)) else {
        return Ok(()); // Its own check tells that better.
    };
    if claims.name.and_then(decode).as_deref() == Some(&*name) {
        return Ok(());
    }
    Err(Fault::new(
        Code::HeaderMismatch,
        format!("the header Mcp-Name must repeat params.{field}, {:?}", shortened(&name)),
    ))
}
