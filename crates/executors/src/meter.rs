//! What it may take to evaluate something that a definition or an upstream wrote: work, memory and time. Whoever
//! evaluates says what it does before it does it, so that nothing goes far beyond what is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use toolrail_core::{Budget, Exhausted};

/// Bytes that are copied or looked at for one unit of work.
const BYTES_PER_UNIT: usize = 16;
/// Units from one look at the stop sign to the next.
const GLANCE: u64 = 4_096;

/// How much there is to spend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// Units of work, each of about ten nanoseconds.
    pub(crate) work: u64,
    /// Bytes that may be allocated, whether or not they are freed again.
    pub(crate) bytes: usize,
}

impl Allowance {
    /// What surely ends within a millisecond, so that it may run between other calls.
    pub(crate) const SMALL: Self = Self { work: 50_000, bytes: 1 << 20 };
    /// What one call may take on a thread of its own: about a fifth of a second.
    pub(crate) const LARGE: Self = Self { work: 20_000_000, bytes: 128 << 20 };
    /// However much work is left, it ends after this time.
    const LONGEST: Duration = Duration::from_secs(5);
}

/// Counts what is spent.
#[derive(Debug)]
pub(crate) struct Meter {
    work: Budget,
    bytes: usize,
    until_glance: u64,
    stop: Stop,
}

/// Set by whoever does not wait for the result any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

/// What ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    Work,
    Bytes,
    Time,
}

impl Spent {
    /// What there was too much of.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Bytes => "memory",
            Self::Time => "time",
        }
    }
}

impl Stop {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Meter {
    pub(crate) fn new(allowance: Allowance) -> Self {
        Self::stopped_by(allowance, Stop::default())
    }

    pub(crate) fn stopped_by(allowance: Allowance, stop: Stop) -> Self {
        let work = Budget::new(allowance.work, Allowance::LONGEST);
        Self { work, bytes: allowance.bytes, until_glance: GLANCE, stop }
    }

    /// So many units of work.
    pub(crate) fn spend(&mut self, units: u64) -> Result<(), Spent> {
        self.work.spend(units).map_err(|exhausted| match exhausted {
            Exhausted::Steps => Spent::Work,
            Exhausted::Time => Spent::Time,
        })?;
        if let Some(left) = self.until_glance.checked_sub(units) {
            self.until_glance = left;
        } else {
            self.until_glance = GLANCE;
            if self.stop.0.load(Ordering::Relaxed) {
                return Err(Spent::Time);
            }
        }
        Ok(())
    }

    /// The work of going through so many bytes.
    pub(crate) fn read(&mut self, bytes: usize) -> Result<(), Spent> {
        self.spend(1 + (bytes / BYTES_PER_UNIT) as u64)
    }

    /// Memory, and the work of filling it.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Spent> {
        self.read(bytes)?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Spent::Bytes)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_memory_and_time_each_come_to_an_end() {
        let allowance = Allowance { work: 1_000, bytes: 100 };
        assert_eq!(Meter::new(allowance).spend(1_001), Err(Spent::Work));
        assert_eq!(Meter::new(allowance).take(101), Err(Spent::Bytes));
        assert_eq!(Meter::new(allowance).take(1 << 20), Err(Spent::Work), "filling memory is work");
        let stop = Stop::default();
        let mut meter = Meter::stopped_by(Allowance::LARGE, stop.clone());
        stop.set();
        let ended = (0..=GLANCE).find_map(|_| meter.spend(1).err());
        assert_eq!(ended, Some(Spent::Time));
    }
}
