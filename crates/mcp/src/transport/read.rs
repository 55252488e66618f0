//! Reads the body of a request under a limit of size and time.

use std::pin::pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;

use toolrail_core::Share;

use super::LARGEST_MESSAGE;
use crate::reply::{Code, Fault};

/// How long a client may take to send its message.
const READ_DEADLINE: Duration = Duration::from_secs(30);

/// The whole body. One that is said to be far too large is refused before any of it is read. One that is a little too large
/// is read up to the limit: a client that sends everything before it listens would hear of nothing but a broken pipe.
pub(super) async fn read<B: Body<Data = Bytes>>(body: B) -> Result<Bytes, Fault> {
    if body.size_hint().lower() > 2 * LARGEST_MESSAGE as u64 {
        return Err(too_large());
    }
    tokio::time::timeout(READ_DEADLINE, collect(body)).await.unwrap_or_else(|_| {
        Err(Fault::new(Code::InvalidRequest, "the message took too long to arrive").with_status(408))
    })
}

fn too_large() -> Fault {
    let message = format!("the message is larger than {} MiB", LARGEST_MESSAGE / 1024 / 1024);
    Fault::new(Code::InvalidRequest, message).with_status(413)
}

/// The whole body; one that came in one piece, as nearly all do, is not copied.
async fn collect<B: Body<Data = Bytes>>(body: B) -> Result<Bytes, Fault> {
    let mut body = pin!(body);
    let mut whole = Bytes::new();
    let mut joined: Option<BytesMut> = None;
    let mut held = Share::current().nothing();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|_| Fault::new(Code::InvalidRequest, "the message did not arrive whole"))?;
        let Ok(data) = frame.into_data() else { continue };
        let so_far = joined.as_ref().map_or(whole.len(), BytesMut::len);
        if so_far + data.len() > LARGEST_MESSAGE {
            return Err(too_large());
        }
        if joined.is_some() || !whole.is_empty() {
            held.resize(so_far + data.len()).map_err(|full| Fault::full(full).with_status(503))?;
        }
        match &mut joined {
            Some(joined) => joined.extend_from_slice(&data),
            None if whole.is_empty() => whole = data,
            None => {
                let mut first = BytesMut::with_capacity((so_far + data.len()) * 2);
                first.extend_from_slice(&whole);
                first.extend_from_slice(&data);
                joined = Some(first);
            }
        }
        if body.is_end_stream() {
            break;
        }
    }
    // One piece is a part of what the connection has read, whatever becomes of it here.
    Ok(joined.map_or(whole, |joined| held.keep(joined.freeze())))
}
