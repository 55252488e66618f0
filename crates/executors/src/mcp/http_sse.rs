//! Servers that speak only HTTP+SSE, the transport of 2024-11-05, are told apart from wrong addresses, so that whoever wrote
//! the definition learns the reason. They are not supported.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};
use toolrail_core::{CallError, ErrorCode};

use super::endpoint::ServerEndpoint;
use super::failure::Failure;

/// How long its stream may take to begin.
const WITHIN: Duration = Duration::from_secs(3);
/// The event with which it begins: where to post messages. It may come after comments.
const FIRST: &[u8] = b"event: endpoint";
const MOST_LINES: usize = 10;
const LONGEST_LINE: usize = 1024;

/// The failure of a handshake by what the server is, if it refused to be posted to and has the stream of HTTP+SSE instead.
pub(super) async fn explained(endpoint: &Arc<ServerEndpoint>, failure: Failure) -> Failure {
    if !matches!(failure, Failure::Status(400 | 404 | 405 | 406 | 415 | 501, _)) {
        return failure;
    }
    if !tokio::time::timeout(WITHIN, has_stream(endpoint)).await.unwrap_or_default() {
        return failure;
    }
    let message = format!(
        "{} speaks HTTP+SSE, the transport of 2024-11-05, which is not supported; use the server's address for Streamable \
         HTTP if it has one (often /mcp instead of /sse), or start it as a program with mcp.command",
        endpoint.path()
    );
    Failure::Call(CallError::new(ErrorCode::UpstreamInvalid, message))
}

async fn has_stream(endpoint: &Arc<ServerEndpoint>) -> bool {
    let Ok(mut streamed) = endpoint.send(None, Method::GET, (HeaderMap::new(), Bytes::new())).await else {
        return false;
    };
    let kind = streamed.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !streamed.status.is_success() || !kind.starts_with("text/event-stream") {
        return false;
    }
    for _ in 0..MOST_LINES {
        match streamed.line(LONGEST_LINE).await {
            Ok(Some(line)) if line == FIRST || line == b"event:endpoint"[..] => return true,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return false,
        }
    }
    false
}
