//! Request bodies: bounded in size and time, each and all together; JSON whatever the content type says.

use std::error::Error;
use std::ops::Deref;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use toolrail_core::{ErrorCode, Full, Held, Share, repeated_key};

use crate::failure::Failure;

/// The most bytes of an ordinary request.
pub(crate) const ORDINARY: usize = 4 * 1024 * 1024;
/// The most bytes of a batch.
pub(crate) const BATCH: usize = 64 * 1024 * 1024;

/// How long a client may take to send a body.
const PATIENCE: Duration = Duration::from_mins(1);

/// A whole body, which counts as in flight.
pub(crate) struct Received {
    bytes: Bytes,
    held: Held,
}

impl Received {
    /// Forgets the bytes but goes on to count them, for what was made of them.
    pub(crate) fn into_held(self) -> Held {
        self.held
    }
}

impl Deref for Received {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The whole body, at most `limit` bytes of it. One that is said to have far more is refused before any of it is read. One
/// that has a little more is read up to the limit: a client that sends everything before it listens would hear of nothing
/// but a broken pipe.
pub(crate) async fn read(body: Body, limit: usize) -> Result<Received, Failure> {
    if body.size_hint().lower() > 2 * limit as u64 {
        return Err(too_large(limit));
    }
    tokio::time::timeout(PATIENCE, receive(body, limit)).await.map_err(|_| {
        Failure::bad_request(format!("the body did not arrive within {} seconds", PATIENCE.as_secs()))
    })?
}

async fn receive(body: Body, limit: usize) -> Result<Received, Failure> {
    let mut body = Limited::new(body, limit);
    let mut held = Share::current().nothing();
    // Most bodies come in one piece, which is taken as it is.
    let mut first = Bytes::new();
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|error| broken(error.as_ref(), limit))?.into_data() else {
            continue;
        };
        if first.is_empty() {
            first = piece;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&piece);
        }
        held.resize(first.len().max(all.len())).map_err(no_room)?;
    }
    let bytes = if all.is_empty() { first } else { Bytes::from(all) };
    Ok(Received { bytes, held })
}

fn broken(error: &(dyn Error + Send + Sync + 'static), limit: usize) -> Failure {
    if error.is::<LengthLimitError>() {
        return too_large(limit);
    }
    Failure::bad_request("the body broke off before its end")
}

fn too_large(limit: usize) -> Failure {
    let message = format!("the body is larger than {} MiB; send less at once", limit / 1024 / 1024);
    Failure::new(ErrorCode::TooLarge, message)
}

pub(crate) fn no_room(full: Full) -> Failure {
    Failure::new(ErrorCode::Overloaded, full.to_string())
}

/// Reads an object with known members. Serde would take a list for one, its items in the order of the members.
pub(crate) fn parse_object<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Failure> {
    match bytes.trim_ascii_start().first() {
        None | Some(b'{') => parse(bytes),
        Some(_) => Err(Failure::bad_request("the body must be a JSON object")),
    }
}

/// Refuses definitions in which a key stands twice.
pub(crate) fn refuse_repeated_keys(bytes: &[u8]) -> Result<(), Failure> {
    repeated_key(bytes).map_or(Ok(()), |problem| Err(Failure::bad_definition(vec![problem], "")))
}

/// Reads JSON out of a body. An empty one is told as such, since forgetting it is the commonest mistake with curl.
pub(crate) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Failure> {
    if bytes.trim_ascii().is_empty() {
        return Err(Failure::bad_request("the body is empty; send a JSON object"));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let message = match error.classify() {
            serde_json::error::Category::Data => format!("the body does not have the right form: {error}"),
            _ if looks_like_yaml(bytes) => {
                "the body must be JSON, and this looks like YAML; YAML is taken from files, with `toolrail tools add` or --tools".to_owned()
            }
            _ => format!("the body is not valid JSON: {error}"),
        };
        Failure::bad_request(message)
    })
}

/// Whether the first line that says something is `key: …`, `- …` or a mark that only YAML has.
fn looks_like_yaml(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let Some(line) = lines.find(|line| !line.is_empty() && !line.starts_with(b"#")) else {
        return false;
    };
    let key = line.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-$".contains(byte)).count();
    line.starts_with(b"- ") || line.starts_with(b"---") || (key > 0 && line.get(key) == Some(&b':'))
}
