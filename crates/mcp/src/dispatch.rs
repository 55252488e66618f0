//! Takes one message, finds its dialect and its method, and has it answered from one snapshot.

use std::sync::Arc;

use serde_json::json;
use toolrail_core::{Principal, shortened};
use toolrail_protocol::header::decode;
use toolrail_protocol::{meta as keys, revision};
use toolrail_registry::Endpoint;

use crate::batch;
use crate::caller::RequestCaller;
use crate::conversation;
use crate::dialect::Dialect;
use crate::envelope::{self, Message, Notification, Params, Request};
use crate::headers::Claims;
use crate::live::Live;
use crate::methods::{self, Context, Handle, Method};
use crate::peer::Peer;
use crate::relay::Report;
use crate::reply::{Answer, Code, Fault, MessageOutcome, Reply};
use crate::server::Server;

impl Server {
    /// Answers one message, or a batch of them.
    pub(crate) async fn answer(&self, bytes: &[u8], peer: &Peer<'_>) -> MessageOutcome {
        if envelope::is_batch(bytes) && batch::is_allowed(peer) {
            return self.answer_batch(bytes, peer).await;
        }
        self.answer_one(bytes, peer).await
    }

    pub(crate) async fn answer_one(&self, bytes: &[u8], peer: &Peer<'_>) -> MessageOutcome {
        match envelope::parse(bytes) {
            Err((id, fault)) => MessageOutcome::Answer(Answer::write(id, Err(fault))),
            Ok(Message::Request(request)) => self.answer_request(&request, peer).await,
            Ok(Message::Notification(notification)) => {
                if let Some(live) = &peer.session.live {
                    self.pass_on_roots(&notification, live, (peer.principal, peer.endpoint));
                }
                if let (Some(id), Some(live)) = (envelope::cancelled(&notification), &peer.session.live)
                    && !live.cancel(id.get())
                    && let Some(session) = live.key()
                {
                    // It has ended, or another replica runs it.
                    self.relay.newsroom.tell(&Report::cancelled(session, id.get()));
                }
                MessageOutcome::Nothing
            }
            Ok(Message::Response(response)) => {
                let Some(live) = &peer.session.live else { return MessageOutcome::Nothing };
                let id = response.id.and_then(|id| serde_json::from_str::<String>(id.get()).ok());
                let Some(id) = id else { return MessageOutcome::Unexpected };
                let expected = live.questions.answer_named(&id, response.result)
                    || self.pass_on(live, &id, response.result).await;
                if expected { MessageOutcome::Nothing } else { MessageOutcome::Unexpected }
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
            let snapshot = self.registry.catalogue_at(principal, endpoint);
            snapshot.roots_changed(&conversation::of_session(live, self.replica()));
        }
    }

    /// Answers one request.
    pub(crate) async fn answer_request(&self, request: &Request<'_>, peer: &Peer<'_>) -> MessageOutcome {
        let reply = self.reply(request, peer).await;
        MessageOutcome::Answer(Answer::write(Some(request.id), reply))
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

/// Chooses the dialect by what the client said: modern metadata, a header, or an earlier `initialize`.
fn dialect_of(request: &Request<'_>, peer: &Peer<'_>) -> Result<Dialect, Fault> {
    let header = peer.claims.as_ref().and_then(|claims| claims.protocol_version);
    let meta = request.params.meta.as_ref();
    let named = meta.and_then(|meta| meta.protocol_version);
    let modern_header = header.is_some_and(|version| !revision::LEGACY.contains(&version));
    if named.is_none() && !modern_header {
        let standard = header.is_some() || peer.session.revision.get().is_some();
        return Ok(if standard { Dialect::Legacy } else { Dialect::Plain });
    }
    let invalid = |message: &str| Fault::new(Code::InvalidParams, message).with_status(400);
    let Some(version) =
        Params::text(keys::PROTOCOL_VERSION, named).map_err(|fault| fault.with_status(400))?
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
    if revision::MODERN.contains(&version) {
        return Ok(());
    }
    let data = json!({"supported": revision::all(), "requested": shortened(version)});
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
