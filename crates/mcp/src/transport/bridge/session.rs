//! The session of a legacy client at the far end of a bridge: its stream, its end, and beginning anew when it is lost.

use std::sync::PoisonError;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};

use super::headers::{insert, plain};
use super::remote::{BridgeError, RemoteEvents};
use super::verdict::{ClientLine, Verdict};
use super::{Bridge, RETRY};

impl Bridge<'_> {
    /// Follows the stream of a legacy session for what the server says by itself.
    pub(super) async fn follow(&self) {
        self.introduced.notified().await;
        let mut last: Option<String> = None;
        while self.session().is_some() {
            let headers = self.stream_headers(last.as_deref());
            if let Ok(reply) = self.ask(Method::GET, headers, Bytes::new()).await {
                if reply.status == 405 {
                    return;
                }
                if reply.is_events() {
                    let mut events = RemoteEvents::new(reply.body);
                    while let Ok(Some(event)) = events.next().await {
                        last = event.id.or(last);
                        if matches!(ClientLine::Told.verdict(&event.data), Verdict::Beside) {
                            self.pass(event.data).await;
                        }
                    }
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Introduces the client again to a server that does not know it.
    pub(super) async fn introduce_again(&self) -> Result<(), BridgeError> {
        let Some(introduction) = self.introduction.get() else { return Ok(()) };
        let mut reply = self.ask(Method::POST, plain(), introduction.clone()).await?;
        self.set_session(reply.session.take());
        let _ = reply.whole().await?;
        let mut headers = plain();
        self.add_session(&mut headers);
        insert(&mut headers, "mcp-protocol-version", self.negotiated.get().map(String::as_str));
        let initialized =
            Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        self.ask(Method::POST, headers, initialized).await.map(|_| ())
    }

    /// Tells the server that the session is over.
    pub(super) async fn end(&self) {
        if self.session().is_some() {
            let ending = self.remote.send(Method::DELETE, self.stream_headers(None), Bytes::new());
            // It would find out by itself in the end.
            let _ = tokio::time::timeout(RETRY, ending).await;
        }
    }

    pub(super) fn set_session(&self, session: Option<String>) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }

    fn session(&self) -> Option<String> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn add_session(&self, headers: &mut HeaderMap) {
        insert(headers, "mcp-session-id", self.session().as_deref());
    }

    pub(super) fn stream_headers(&self, last: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        self.add_session(&mut headers);
        insert(&mut headers, "mcp-protocol-version", self.negotiated.get().map(String::as_str));
        insert(&mut headers, "last-event-id", last);
        headers
    }
}
