//! A resource that one client watches: in the session of its conversation, where the server may tell what it tells nobody
//! else, or together with everybody on the connection of the server. A session that ends is opened again for it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tokio_util::task::AbortOnDropHandle;
use toolrail_core::{CallError, Caller, Kept, Principal};
use toolrail_protocol::Era;

use super::failure::Failure;
use super::hub::Hub;
use super::message::{ServerMessage, Writer};
use super::session::Session;
use super::sessions::{Seat, SessionKey, SessionUse};
use super::wire::PendingRequest;

/// The pauses before what ended is begun again: each is twice the last.
const AGAIN: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Watches a resource on behalf of a client as long as what comes back lives.
pub(super) async fn watch(
    hub: &Arc<Hub>,
    uri: &str,
    principal: &Principal,
    caller: &dyn Caller,
) -> Result<Kept, CallError> {
    let Some(key) = hub.own_session(principal, caller).await? else {
        return Ok(Box::new(hub.watch(uri)));
    };
    let Some(first) = Watch::begin(hub, key.clone(), uri).await? else {
        // It may still tell without having been asked.
        return Ok(Box::new(()));
    };
    let keeping = keep(Arc::downgrade(hub), key, uri.to_owned(), first);
    Ok(Box::new(AbortOnDropHandle::new(tokio::spawn(keeping))))
}

/// A resource that is watched in a session.
struct Watch {
    // Before the seat: the server hears of the end while the session is still in use.
    subscribed: Subscribed,
    _seat: Seat,
}

enum Subscribed {
    /// A legacy server was asked for it.
    Asked(Subscription),
    /// A modern server tells it on a stream.
    Streamed(Arc<Session>, Box<PendingRequest>),
}

/// Ends what a legacy server was asked for when it is dropped.
struct Subscription {
    session: Arc<Session>,
    uri: String,
}

impl Watch {
    /// Nothing if the server cannot be asked for it.
    async fn begin(hub: &Arc<Hub>, key: SessionKey, uri: &str) -> Result<Option<Self>, CallError> {
        let seat = hub.seat(key, SessionUse::Watching).await?;
        let session = hub.session_of(&seat).await.map_err(Failure::into_error)?;
        if !session.connection.can("/resources/subscribe") {
            return Ok(None);
        }
        let subscribed = subscribe(session, uri).await.map_err(Failure::into_error)?;
        Ok(Some(Self { subscribed, _seat: seat }))
    }

    /// Waits until it has ended.
    async fn end(&mut self) {
        match &mut self.subscribed {
            Subscribed::Asked(subscription) => subscription.session.gone().await,
            Subscribed::Streamed(session, exchange) => {
                while let Ok(message) = exchange.next().await {
                    if matches!(message, ServerMessage::Answer { .. }) {
                        return;
                    }
                    session.hear(message);
                }
            }
        }
    }
}

async fn subscribe(session: Arc<Session>, uri: &str) -> Result<Subscribed, Failure> {
    let connection = Arc::clone(&session.connection);
    let mut params = Writer::new();
    match connection.era {
        Era::Modern => {
            params.value("notifications", &json!({"resourceSubscriptions": [uri]}));
            let exchange = connection.begin("subscriptions/listen", params)?;
            Ok(Subscribed::Streamed(session, Box::new(exchange)))
        }
        Era::Legacy => {
            let is_first = session.begin_watch(uri);
            let subscription = Subscription { session, uri: uri.to_owned() };
            if is_first {
                params.text("uri", uri);
                connection.ask("resources/subscribe", params).await?;
            }
            Ok(Subscribed::Asked(subscription))
        }
    }
}

/// Watches until it is dropped.
async fn keep(hub: Weak<Hub>, key: SessionKey, uri: String, first: Watch) {
    let mut watch = Some(first);
    let mut pause = AGAIN;
    loop {
        if let Some(mut watching) = watch.take() {
            watching.end().await;
        }
        tokio::time::sleep(pause).await;
        let Some(hub) = hub.upgrade() else { return };
        match Watch::begin(&hub, key.clone(), &uri).await {
            Ok(Some(again)) => (watch, pause) = (Some(again), AGAIN),
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(server = hub.name, uri, reason = %error, "cannot be watched");
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if !self.session.end_watch(&self.uri) || self.session.is_gone() {
            return;
        }
        let connection = &self.session.connection;
        let mut params = Writer::new();
        params.text("uri", &self.uri);
        if let Ok(exchange) = connection.begin("resources/unsubscribe", params) {
            connection.wire.ask_soon(exchange);
        }
    }
}
