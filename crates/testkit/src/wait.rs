//! Waiting for a condition instead of sleeping for a while.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::Instant;

const PAUSE: Duration = Duration::from_millis(5);
/// How long words on stderr may take.
pub(crate) const SAID_WITHIN: Duration = Duration::from_secs(30);

/// Asks `probe` again and again until it gives something; fails with `what` once `within` has passed.
pub async fn wait_until<T>(
    what: &str,
    within: Duration,
    mut probe: impl AsyncFnMut() -> Option<T>,
) -> Result<T> {
    let deadline = Instant::now() + within;
    loop {
        if let Ok(Some(found)) = tokio::time::timeout_at(deadline, probe()).await {
            return Ok(found);
        }
        if Instant::now() >= deadline {
            bail!("waited {within:?} in vain for {what}");
        }
        tokio::time::sleep(PAUSE).await;
    }
}
