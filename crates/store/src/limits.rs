//! How long the servers may take to answer, so that no call waits for ever.

use std::time::Duration;

/// The look at the revision, which is one row: a connection that is silently gone is noticed by it.
pub(crate) const LOOKING: Duration = Duration::from_secs(2);
/// A read, with getting a connection.
pub(crate) const READING: Duration = Duration::from_secs(5);
/// A write, with getting a connection.
pub(crate) const WRITING: Duration = Duration::from_secs(10);

/// A write of so many changes: as long again for every thousand of them.
pub(crate) fn writing(changes: usize) -> Duration {
    WRITING * u32::try_from(1 + changes / 1_000).unwrap_or(u32::MAX).min(60)
}
