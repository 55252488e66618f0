//! A connection that carries many messages at once (stdio, WebSocket): calls run side by side within the connection's
//! own task, so a slow one never blocks another, and each can be cancelled.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, Aborted};
use futures_util::stream::FuturesUnordered;
use toolrail_core::Principal;

use crate::envelope::{self, Message};
use crate::peer::{Peer, Session};
use crate::reply::{Answer, Code, Fault, Pieces};
use crate::server::{self, Server};

/// The most calls one connection may have under way; more are refused.
pub(super) const MOST_UNDER_WAY: usize = 1024;

type Running = Pin<Box<dyn Future<Output = (Option<String>, Result<Option<Answer>, Aborted>)> + Send>>;

/// The calls of one connection.
pub(super) struct Connection {
    server: Arc<Server>,
    session: Arc<Session>,
    running: FuturesUnordered<Running>,
    handles: HashMap<String, AbortHandle>,
}

impl Connection {
    pub(super) fn new(server: Arc<Server>, session: Session) -> Self {
        Self { server, session: Arc::new(session), running: FuturesUnordered::new(), handles: HashMap::new() }
    }

    /// Whether any call is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Takes one message: starts a call, or cancels one. What comes back is to be sent at once.
    pub(super) fn take(&mut self, bytes: Bytes) -> Option<Pieces> {
        let id = match envelope::parse(&bytes) {
            Ok(Message::Request(request)) => Some(request.id.get().to_owned()),
            Ok(Message::Notification(notification)) => {
                let handle = server::cancelled(&notification).and_then(|id| self.handles.remove(id.get()));
                handle.iter().for_each(AbortHandle::abort);
                return None;
            }
            Ok(Message::Response) => return None,
            Err((id, fault)) => return Some(Answer::write(id, Err(fault)).body),
        };
        if self.running.len() >= MOST_UNDER_WAY {
            let id = id.as_deref().and_then(|id| serde_json::from_str(id).ok());
            let message =
                format!("{MOST_UNDER_WAY} calls are under way on this connection; wait for one to end");
            return Some(Answer::write(id, Err(Fault::new(Code::CallFailed, message))).body);
        }
        let (handle, registration) = AbortHandle::new_pair();
        if let Some(id) = &id {
            self.handles.insert(id.clone(), handle);
        }
        let (server, session) = (Arc::clone(&self.server), Arc::clone(&self.session));
        self.running.push(Box::pin(async move {
            let call = async {
                let peer = Peer { claims: None, session: &session, principal: &Principal::Anonymous };
                server.answer(&bytes, &peer).await
            };
            (id, Abortable::new(call, registration).await)
        }));
        None
    }

    /// The next answer; waits for ever while no call is under way.
    pub(super) async fn next(&mut self) -> Option<Pieces> {
        let Some((id, outcome)) = self.running.next().await else {
            return std::future::pending().await;
        };
        if let Some(id) = id {
            self.handles.remove(&id);
        }
        outcome.ok().flatten().map(|answer| answer.body)
    }
}
