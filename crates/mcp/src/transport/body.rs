//! The body of an HTTP answer: whole, or a stream of events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::reply::Pieces;

/// The body of an answer.
pub enum Body {
    /// All of it is there.
    Whole(Pieces),
    /// It comes bit by bit, until whatever it tells of has ended.
    Stream(Pin<Box<dyn http_body::Body<Data = Bytes, Error = Infallible> + Send>>),
}

impl Body {
    /// Whether it may take long.
    pub fn is_stream(&self) -> bool {
        matches!(self, Self::Stream(_))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(pieces) => Pin::new(pieces).poll_frame(context),
            Self::Stream(stream) => stream.as_mut().poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(pieces) => pieces.is_end_stream(),
            Self::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(pieces) => pieces.size_hint(),
            Self::Stream(stream) => stream.size_hint(),
        }
    }
}
