//! The instances of a service: taken in turn, and avoided for a while after they could not be reached.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::request::Target;

/// How long an instance is avoided after one failure; doubled with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The instances of one service.
#[derive(Debug)]
pub(super) struct Instances {
    list: Vec<Instance>,
    next: AtomicUsize,
    /// What the instances' times are counted from.
    epoch: Instant,
}

/// One instance and how it fares.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) target: Target,
    /// Failures in a row.
    failures: AtomicU32,
    /// Until when it is avoided, in milliseconds after the epoch.
    avoided_until: AtomicU64,
}

impl Instances {
    /// Instances of which nothing is known yet.
    pub(super) fn new(targets: Vec<Target>) -> Self {
        let instance =
            |target| Instance { target, failures: AtomicU32::new(0), avoided_until: AtomicU64::new(0) };
        Self {
            list: targets.into_iter().map(instance).collect(),
            next: AtomicUsize::new(0),
            epoch: Instant::now(),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// The first as it was written.
    pub(super) fn first(&self) -> Option<&Instance> {
        self.list.first()
    }

    /// All of them in the order in which one call should try them: those in good standing in turn, then the avoided ones,
    /// since a bad instance is better than none.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = &Instance> {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let now = self.now();
        let turn = move |avoided: bool| {
            let count = self.list.len();
            (0..count)
                .map(move |step| &self.list[start.wrapping_add(step) % count])
                .filter(move |instance| instance.is_avoided(now) == avoided)
        };
        turn(false).chain(turn(true))
    }

    /// Notes that a connection to the instance stood.
    pub(super) fn reached(instance: &Instance) {
        if instance.failures.load(Ordering::Relaxed) != 0 {
            instance.failures.store(0, Ordering::Relaxed);
            instance.avoided_until.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that no connection to the instance came about.
    pub(super) fn unreachable(&self, instance: &Instance) {
        let failures = instance.failures.fetch_add(1, Ordering::Relaxed);
        let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(8)).min(LONGEST_PAUSE);
        let until = self.now().saturating_add(milliseconds(pause));
        instance.avoided_until.store(until, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        milliseconds(self.epoch.elapsed())
    }
}

impl Instance {
    fn is_avoided(&self, now: u64) -> bool {
        self.avoided_until.load(Ordering::Relaxed) > now
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
