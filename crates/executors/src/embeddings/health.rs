//! When a server that fails is asked again: not at once, so that searches do not wait for it one after the other, and ever
//! later, but for no longer than a minute unless it asks for more.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use toolrail_core::EmbedError;

/// The first pause where nobody waits, and where somebody does, who would wait in vain each time.
pub(super) const PATIENT: Duration = Duration::from_secs(1);
pub(super) const QUICK: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// The longest that a server may ask for.
const LONGEST_ASKED: Duration = Duration::from_mins(5);

/// How requests of one sort fare.
pub(super) struct Health {
    /// What the failure means for users.
    consequence: &'static str,
    first_pause: Duration,
    failing: Mutex<Option<Failing>>,
}

struct Failing {
    message: String,
    times: u32,
    until: Instant,
}

impl Health {
    pub(super) fn new(consequence: &'static str, first_pause: Duration) -> Self {
        Self { consequence, first_pause, failing: Mutex::default() }
    }

    /// What the last request failed with; nothing if it did not.
    pub(super) fn failure(&self) -> Option<String> {
        let failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        failing.as_ref().map(|failing| failing.message.clone())
    }

    /// Whether the server may be asked now.
    pub(super) fn check(&self) -> Result<(), EmbedError> {
        let failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(failing) = failing.as_ref() else { return Ok(()) };
        let retry_after = failing.until.saturating_duration_since(Instant::now());
        if retry_after.is_zero() {
            return Ok(());
        }
        let message = format!("{} (asked again in {} s)", failing.message, retry_after.as_secs() + 1);
        Err(EmbedError { message, retry_after })
    }

    /// Notes a failure; the log has only the first of several.
    pub(super) fn failed(&self, message: String, asked: Option<Duration>) -> EmbedError {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let times = failing.as_ref().map_or(0, |failing| failing.times);
        if times == 0 {
            tracing::warn!(failure = %message, "the server for vectors fails; {}", self.consequence);
        }
        let pause = self.first_pause.saturating_mul(1 << times.min(6)).min(LONGEST_PAUSE);
        let retry_after = asked.map_or(pause, |asked| asked.clamp(pause, LONGEST_ASKED));
        let until = Instant::now() + retry_after;
        *failing = Some(Failing { message: message.clone(), times: times.saturating_add(1), until });
        EmbedError { message, retry_after }
    }

    pub(super) fn succeeded(&self) {
        if self.failing.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            tracing::info!("the server for vectors answers again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_minute_and_end_with_a_success() {
        let health = Health::new("-", PATIENT);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let pause = health.failed("down".into(), None).retry_after;
            assert!(health.check().is_err());
            tokio::time::advance(pause).await;
            assert!(health.check().is_ok());
            pauses.push(pause.as_secs());
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        health.succeeded();
        assert!(health.check().is_ok());
        assert_eq!(health.failed("down".into(), Some(Duration::from_secs(7))).retry_after.as_secs(), 7);
        assert_eq!(health.failed("down".into(), Some(Duration::MAX)).retry_after, LONGEST_ASKED);
    }
}
