//! How long the bridge waits for what a gateway says.

use std::time::Duration;

use super::remote::{BridgeError, Pending};

/// How long the head of an answer may take.
pub(super) const HEAD: Duration = Duration::from_mins(2);
/// The same where a call is answered: the head comes with its outcome. Longer than any call may take.
pub(super) const HEAD_OF_CALL: Duration = Duration::from_mins(11);
/// How long the whole of an answer may take from its head on.
pub(super) const BODY: Duration = Duration::from_mins(5);
/// How long a stream may be silent. A gateway shows every 15 seconds that it is alive.
pub(super) const SILENCE: Duration = Duration::from_mins(2);

/// Whether the answer to a method takes as long as whoever carries it out.
pub(super) fn is_long(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "resources/read" | "completion/complete")
}

/// Waits no longer than that.
pub(super) async fn within<T>(patience: Duration, waiting: Pending<'_, T>) -> Result<T, BridgeError> {
    let late = |_| {
        let minutes = patience.as_secs() / 60;
        Err(BridgeError(format!("the gateway said nothing, or not all of it, within {minutes} minutes")))
    };
    tokio::time::timeout(patience, waiting).await.unwrap_or_else(late)
}
