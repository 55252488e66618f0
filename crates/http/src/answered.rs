//! The body of an answer, which knows when a stream of events ends: a connection that carries one is in use until then, even
//! if nothing happens. That any other answer is being sent shows by the bytes that are written.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Response, header};
use hyper::body::{Body, Frame, SizeHint};

use super::watched::Activity;

/// A body, and what is to be told when it ends.
pub(super) struct WatchedBody<B> {
    body: B,
    _open: Option<OpenStream>,
}

/// A stream under way.
struct OpenStream(Arc<Activity>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<B> WatchedBody<B> {
    /// Notes the end of the request: now, or when its stream of events has ended.
    pub(super) fn new(response: Response<B>, activity: Arc<Activity>) -> Response<Self> {
        let kind = response.headers().get(header::CONTENT_TYPE);
        let open = OpenStream(activity);
        let open = kind.is_some_and(|kind| kind == "text/event-stream").then_some(open);
        response.map(|body| Self { body, _open: open })
    }
}

impl<B: Body + Unpin> Body for WatchedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
