//! How often one tool is called: counted with each call, taken when it is written to the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use toolrail_core::{Caller, Principal};

use super::board::Used;
use super::lessons::Lesson;
use super::log::UseLog;
use crate::entry_key::EntryKey;

/// The calls of one tool: those that are not in the store yet, and what the board says about the others.
pub(crate) struct UseCount {
    calls: AtomicU32,
    /// Those that are being written.
    on_the_way: AtomicU32,
    /// When the last of them was made, in seconds since 1970.
    last: AtomicU32,
    /// The count that was on the board, below the generation of the board that had it.
    stored: AtomicU64,
    /// When the last of those was made.
    stored_last: AtomicU32,
    log: Arc<UseLog>,
}

/// Whose a tool is, and its name.
pub(crate) type OwnedName<'t> = (Option<&'t Arc<str>>, &'t str);

/// The bits of a count that stand below the generation.
const COUNT_BITS: u32 = 40;

impl UseCount {
    pub(crate) fn new(log: Arc<UseLog>) -> Self {
        Self {
            calls: AtomicU32::new(0),
            on_the_way: AtomicU32::new(0),
            last: AtomicU32::new(0),
            stored: AtomicU64::new(0),
            stored_last: AtomicU32::new(0),
            log,
        }
    }

    /// Counts a call of the tool that this belongs to. What it teaches, if it ends well, comes back.
    pub(crate) fn count(
        &self,
        (tenant, name): OwnedName<'_>,
        principal: &Principal,
        caller: &dyn Caller,
    ) -> Option<Lesson<'_>> {
        self.last.store(now(), Ordering::Relaxed);
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            self.log.note(EntryKey::new(tenant.cloned(), name));
        }
        self.log.lessons.lesson(caller, principal.tenant(), name)
    }

    /// Takes the last call back, unless it is being written already.
    pub(crate) fn uncount(&self) {
        let one_less = |calls: u32| calls.checked_sub(1);
        let before = self.calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        if before == Ok(1) {
            // When the one before was made, the board says.
            self.last.store(0, Ordering::Relaxed);
        }
    }

    /// How many calls there were, here and elsewhere, and when the last was made.
    pub(crate) fn all(&self, tool: OwnedName<'_>) -> Used {
        let Used { count, last } = self.stored(tool);
        let calls = u64::from(self.calls.load(Ordering::Relaxed));
        let on_the_way = u64::from(self.on_the_way.load(Ordering::Relaxed));
        Used { count: count + calls + on_the_way, last: last.max(self.last.load(Ordering::Relaxed)) }
    }

    /// What the board says, which is looked up once for each of its states: a search asks for hundreds of tools.
    fn stored(&self, (tenant, name): OwnedName<'_>) -> Used {
        // Never 0, as it is before anything was looked up.
        let generation = (u64::from(self.log.board.generation()) << 1 | 1) << COUNT_BITS;
        let stored = self.stored.load(Ordering::Acquire);
        let count_mask = (1 << COUNT_BITS) - 1;
        if stored & !count_mask == generation {
            return Used { count: stored & count_mask, last: self.stored_last.load(Ordering::Relaxed) };
        }
        let used = self.log.board.of(&EntryKey::new(tenant.cloned(), name));
        self.stored_last.store(used.last, Ordering::Relaxed);
        self.stored.store(generation | used.count.min(count_mask), Ordering::Release);
        used
    }

    /// The calls to be written now. Until then they still count here.
    pub(crate) fn take(&self) -> u32 {
        let calls = self.calls.swap(0, Ordering::Relaxed);
        self.on_the_way.store(calls, Ordering::Relaxed);
        calls
    }

    pub(crate) fn written(&self) {
        self.on_the_way.store(0, Ordering::Relaxed);
    }

    pub(crate) fn give_back(&self, calls: u32) {
        self.calls.fetch_add(calls, Ordering::Relaxed);
    }

    /// What replaces the tool goes on with its count.
    pub(crate) fn hand_on(&self, to: &Self) {
        let last = self.last.load(Ordering::Relaxed);
        to.last.fetch_max(last, Ordering::Relaxed);
        to.give_back(self.calls.swap(0, Ordering::Relaxed));
    }

    /// The tool, which is kept under that key, was removed for good.
    pub(crate) fn let_go(&self, key: &EntryKey) {
        self.log.board.remove(key);
        self.log.note_gone(key.clone());
    }
}

fn now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
}
