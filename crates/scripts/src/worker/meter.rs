//! The processor time of a call: measured while its code runs, ended when there is none left.

use std::cell::Cell;

use rustix::time::{ClockId, clock_gettime};

/// The processor time of a call.
#[derive(Debug, Default)]
pub(super) struct CpuMeter {
    left: Cell<u64>,
    /// When the code began to run that runs now.
    entered: Cell<Option<u64>>,
    is_exhausted: Cell<bool>,
}

impl CpuMeter {
    /// A new call may take so many milliseconds.
    pub(super) fn allow(&self, ms: u64) {
        self.left.set(ms.saturating_mul(1_000_000));
        self.is_exhausted.set(false);
    }

    /// Runs code of the script.
    pub(super) fn measure<T>(&self, run: impl FnOnce() -> T) -> T {
        self.entered.set(Some(now()));
        let made = run();
        if let Some(entered) = self.entered.take() {
            self.left.set(self.left.get().saturating_sub(now().saturating_sub(entered)));
        }
        made
    }

    /// Whether the code that runs must end now.
    pub(super) fn is_over(&self) -> bool {
        let used = self.entered.get().map_or(0, |entered| now().saturating_sub(entered));
        if used > self.left.get() || self.left.get() == 0 {
            self.is_exhausted.set(true);
        }
        self.is_exhausted.get()
    }

    /// Whether a call was ended for it.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }
}

/// The processor time of this thread in nanoseconds.
fn now() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, rest) = (u64::try_from(now.tv_sec).unwrap_or(0), u64::try_from(now.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}
