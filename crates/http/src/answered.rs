//! The body of an answer, which knows when a stream of events ends: a connection that carries one is in use until then, even
//! if nothing happens. That any other answer is being sent shows by the bytes that are written.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Response, header};
use hyper::body::{Body, Frame, SizeHint};

use super::watched::Activity;

/// The end of the rights of whoever reads.
pub(super) type Expulsion = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A body, and what is to be told when it ends.
pub(super) struct WatchedBody<B> {
    body: B,
    _open: Option<OpenStream>,
    /// Of streams only: any other answer ends by itself.
    expulsion: Option<Expulsion>,
}

/// A stream under way.
struct OpenStream(Arc<Activity>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Whether that is a stream of events.
pub(super) fn is_stream<B>(response: &Response<B>) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream")
}

impl<B> WatchedBody<B> {
    /// Notes the end of the request: now, or when its stream of events has ended.
    pub(super) fn new(
        response: Response<B>,
        activity: Arc<Activity>,
        expulsion: Option<Expulsion>,
    ) -> Response<Self> {
        let open = OpenStream(activity);
        let open = is_stream(&response).then_some(open);
        let expulsion = expulsion.filter(|_| open.is_some());
        response.map(|body| Self { body, _open: open, expulsion })
    }
}

impl<B: Body + Unpin> Body for WatchedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        if let Some(expulsion) = &mut self.expulsion
            && expulsion.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
