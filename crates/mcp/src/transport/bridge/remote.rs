//! The far end of the bridge, and the events of its streams.

use std::future::Future;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method};
use toolrail_protocol::sse::Line;

use super::patience::{self, within};

/// Why the remote did not answer, in words for the user.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BridgeError(pub String);

pub(super) type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, BridgeError>> + Send + 'a>>;

/// The remote end.
pub trait Remote: Sync {
    /// Sends a request to the remote endpoint.
    fn send(&self, method: Method, headers: HeaderMap, body: Bytes) -> Pending<'_, RemoteReply>;
}

/// What the remote answers.
pub struct RemoteReply {
    /// The HTTP status.
    pub status: u16,
    /// The session that the remote opened, if it did.
    pub session: Option<String>,
    /// The media type of the body, without parameters.
    pub media_type: Option<String>,
    /// The body.
    pub body: Box<dyn Incoming>,
}

impl RemoteReply {
    /// Whether the body is a stream of events.
    pub(super) fn is_events(&self) -> bool {
        self.media_type.as_deref().is_some_and(|kind| kind.eq_ignore_ascii_case("text/event-stream"))
    }

    /// All of the body.
    pub(super) async fn whole(self) -> Result<Bytes, BridgeError> {
        within(patience::BODY, self.body.whole()).await
    }
}

/// The body of an answer, still to be read.
pub trait Incoming: Send {
    /// All of it.
    fn whole(self: Box<Self>) -> Pending<'static, Bytes>;

    /// The next line, without its end; nothing at the end of the body.
    fn line(&mut self) -> Pending<'_, Option<Bytes>>;
}

/// One event.
pub(super) struct Event {
    pub(super) id: Option<String>,
    pub(super) data: Bytes,
}

/// The events of a stream.
pub(super) struct RemoteEvents {
    body: Option<Box<dyn Incoming>>,
}

impl RemoteEvents {
    pub(super) fn new(body: Box<dyn Incoming>) -> Self {
        Self { body: Some(body) }
    }

    /// A stream without any.
    pub(super) fn nothing() -> Self {
        Self { body: None }
    }

    /// The next event that has an id or data; nothing at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, BridgeError> {
        let (mut id, mut data) = (None, BytesMut::new());
        let Some(body) = &mut self.body else { return Ok(None) };
        while let Some(line) = within(patience::SILENCE, body.line()).await? {
            if line.is_empty() {
                if id.is_some() || !data.is_empty() {
                    return Ok(Some(Event { id, data: data.freeze() }));
                }
                continue;
            }
            match Line::read(&line) {
                // Several lines of data are one message; a line break inside JSON means nothing.
                Line::Data(value) => data.extend_from_slice(value),
                Line::Id(value) => id = Some(value.to_owned()),
                Line::Retry(_) | Line::Other => {}
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    struct Fixed(VecDeque<&'static str>);

    impl Incoming for Fixed {
        fn whole(self: Box<Self>) -> Pending<'static, Bytes> {
            Box::pin(async { Ok(Bytes::new()) })
        }

        fn line(&mut self) -> Pending<'_, Option<Bytes>> {
            Box::pin(async { Ok(self.0.pop_front().map(Bytes::from)) })
        }
    }

    #[tokio::test]
    async fn events_are_read_whatever_comes_between() {
        let text = ": comment\n\nid: 1\nretry: 5\ndata:\n\nevent: message\ndata: {\"a\":\ndata: 1}\n\ndata: {}\ndata";
        let mut events = RemoteEvents::new(Box::new(Fixed(text.split('\n').collect())));
        let first = events.next().await.unwrap().unwrap();
        assert_eq!((first.id.as_deref(), &*first.data), (Some("1"), &b""[..]));
        assert_eq!(&*events.next().await.unwrap().unwrap().data, b"{\"a\":1}");
        // What is not ended by an empty line is not an event.
        assert!(events.next().await.unwrap().is_none());
    }
}
