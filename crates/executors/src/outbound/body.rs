//! Reading a body up to a cap, with as few copies as can be: one frame is kept as it is, more are joined in one buffer, which
//! counts as in flight until the last of it is gone.

use std::pin::Pin;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use toolrail_core::{Full, Share};

use super::Cut;
use super::pool::Link;

/// A body that broke off.
pub(super) struct Broken {
    pub(super) error: hyper::Error,
    pub(super) received: usize,
    pub(super) declared: Option<u64>,
}

/// Why a body was not read.
pub(super) enum Unread {
    Broken(Broken),
    /// There is no room for it.
    Full(Full),
}

impl From<Full> for Unread {
    fn from(full: Full) -> Self {
        Self::Full(full)
    }
}

/// The body, or its first `cap` bytes. Dropping the rest closes the connection.
pub(super) async fn read(
    link: &mut Link,
    body: &mut Incoming,
    cap: usize,
) -> Result<(Bytes, Option<Cut>), Unread> {
    let declared = body.size_hint().exact();
    let cut = Some(Cut { cap, total: declared });
    let broken = |error, received| Unread::Broken(Broken { error, received, declared });
    let Some(first) = next(link, body).await.map_err(|error| broken(error, 0))? else {
        return Ok((Bytes::new(), None));
    };
    if first.len() > cap {
        return Ok((first.slice(..cap), cut));
    }
    if body.is_end_stream() {
        return Ok((first, None));
    }
    let expected = declared.map_or(first.len() * 2, |length| usize::try_from(length).unwrap_or(cap));
    let mut held = Share::current().hold(expected.min(cap))?;
    let mut joined = Vec::with_capacity(expected.min(cap));
    joined.extend_from_slice(&first);
    drop(first);
    while let Some(frame) = next(link, body).await.map_err(|error| broken(error, joined.len()))? {
        let room = cap - joined.len();
        if frame.len() > room {
            joined.extend_from_slice(&frame[..room]);
            return Ok((held.keep(joined.into()), cut));
        }
        if joined.len() + frame.len() > held.bytes() {
            held.resize((2 * held.bytes()).min(cap).max(joined.len() + frame.len()))?;
            joined.reserve_exact(held.bytes() - joined.len());
        }
        joined.extend_from_slice(&frame);
    }
    Ok((held.keep(joined.into()), None))
}

/// The next piece that is not empty; trailers are passed over.
pub(super) async fn next(link: &mut Link, body: &mut Incoming) -> Result<Option<Bytes>, hyper::Error> {
    while let Some(frame) = link.drive(|context| Pin::new(&mut *body).poll_frame(context)).await {
        // An upstream that sends small pieces faster than they are read would keep everybody else waiting.
        tokio::task::consume_budget().await;
        match frame?.into_data() {
            Ok(data) if !data.is_empty() => return Ok(Some(data)),
            _ => {}
        }
    }
    Ok(None)
}
