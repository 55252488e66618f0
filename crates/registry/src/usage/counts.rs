//! How often tools are used: counted with each call, written to the store in batches (R75). Only tools that were called
//! are looked at then. What other replicas counted is on the board (`board.rs`).

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use toolrail_core::{Caller, Principal, Store, StoreError, Uses};

use super::board::{UseBoard, Used};
use super::learning::{Lesson, Lessons};
use crate::catalog::{Entry, SourceId, Tool};
use crate::entry_key::EntryKey;
use crate::registry::Registry;

/// What calls leave behind: which tools were called since their counts were last written, and what was learnt from them.
#[derive(Default)]
pub(crate) struct UseLog {
    used: Mutex<HashSet<EntryKey>>,
    /// Definitions that were removed from the store since the last time.
    gone: Mutex<HashSet<EntryKey>>,
    /// Whether they could not be written the last time.
    failing: AtomicBool,
    pub(crate) board: UseBoard,
    pub(crate) lessons: Lessons,
}

impl UseLog {
    fn note(&self, key: EntryKey) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    fn take(&self) -> HashSet<EntryKey> {
        std::mem::take(&mut self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn take_gone(&self) -> HashSet<EntryKey> {
        std::mem::take(&mut self.gone.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn give_back_gone(&self, gone: HashSet<EntryKey>) {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).extend(gone);
    }

    /// Notes whether the store failed, and returns whether that is new.
    pub(crate) fn fails_anew(&self, fails: bool) -> bool {
        !self.failing.swap(fails, Ordering::Relaxed) && fails
    }
}

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
        tool: &Tool,
        principal: &Principal,
        caller: &dyn Caller,
    ) -> Option<Lesson<'_>> {
        self.last.store(now(), Ordering::Relaxed);
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            self.log.note(EntryKey::new(tool.tenant.clone(), tool.name.as_str()));
        }
        self.log.lessons.lesson(caller, principal.tenant(), tool.name.as_str())
    }

    /// How many calls there were, here and elsewhere, and when the last was made.
    fn all(&self, tool: &Tool) -> Used {
        let Used { count, last } = self.stored(tool);
        let calls = u64::from(self.calls.load(Ordering::Relaxed));
        let on_the_way = u64::from(self.on_the_way.load(Ordering::Relaxed));
        Used { count: count + calls + on_the_way, last: last.max(self.last.load(Ordering::Relaxed)) }
    }

    /// What the board says, which is looked up once for each of its states: a search asks for hundreds of tools.
    fn stored(&self, tool: &Tool) -> Used {
        // Never 0, as it is before anything was looked up.
        let generation = (u64::from(self.log.board.generation()) << 1 | 1) << COUNT_BITS;
        let stored = self.stored.load(Ordering::Acquire);
        let count_mask = (1 << COUNT_BITS) - 1;
        if stored & !count_mask == generation {
            return Used { count: stored & count_mask, last: self.stored_last.load(Ordering::Relaxed) };
        }
        let used = self.log.board.of(&EntryKey::new(tool.tenant.clone(), tool.name.as_str()));
        self.stored_last.store(used.last, Ordering::Relaxed);
        self.stored.store(generation | used.count.min(count_mask), Ordering::Release);
        used
    }

    /// The calls to be written now. Until then they still count here.
    fn take(&self) -> u32 {
        let calls = self.calls.swap(0, Ordering::Relaxed);
        self.on_the_way.store(calls, Ordering::Relaxed);
        calls
    }

    fn written(&self) {
        self.on_the_way.store(0, Ordering::Relaxed);
    }

    fn give_back(&self, calls: u32) {
        self.calls.fetch_add(calls, Ordering::Relaxed);
    }
}

fn now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
}

/// Calls that are being written.
struct Counted {
    key: EntryKey,
    tool: Arc<Tool>,
    calls: u32,
}

impl Registry {
    /// Writes the calls counted since the last time to the store, with what was learnt from them, and reads what other
    /// replicas wrote. What cannot be written is kept.
    pub async fn record_uses(&self) {
        let log = &self.compiler.uses;
        let counted = self.take_counted();
        let Some(store) = &self.store else {
            log.lessons.keep_here();
            return;
        };
        let mut written = write(&**store, &counted).await;
        if !counted.is_empty() {
            self.writes.note(&written);
        }
        if written.is_err() {
            self.keep(&counted);
        } else {
            written = self.write_lessons(&**store).await;
        }
        let read = match written {
            Ok(()) => self.read_uses(&**store).await,
            error => error,
        };
        // Only now: until they are on the board they count here.
        for counted in &counted {
            counted.tool.uses.written();
        }
        let anew = log.fails_anew(read.is_err());
        if let Some(error) = read.err().filter(|_| anew) {
            tracing::warn!(%error, "use counts could not be written or read; they are kept until they can be");
        }
    }

    fn take_counted(&self) -> Vec<Counted> {
        let snapshot = self.snapshot();
        let counted = |key: EntryKey| {
            let entry = snapshot.entry_of(key.tenant.as_deref(), &key.name)?;
            let tool = Arc::clone(entry.tool()?);
            let calls = tool.uses.take();
            (calls > 0).then_some(Counted { key, tool, calls })
        };
        self.compiler.uses.take().into_iter().filter_map(counted).collect()
    }

    /// Keeps calls that could not be written, with whatever their definitions are now.
    fn keep(&self, counted: &[Counted]) {
        let snapshot = self.snapshot();
        for Counted { key, calls, .. } in counted {
            let entry = snapshot.entry_of(key.tenant.as_deref(), &key.name);
            if let Some(tool) = entry.and_then(|entry| entry.tool()) {
                tool.uses.give_back(*calls);
                self.compiler.uses.note(key.clone());
            }
        }
    }

    /// How often the tool of a definition was called, whether or not it compiles now.
    pub fn use_of_entry(&self, entry: &Entry) -> (u64, Option<SystemTime>) {
        if let Some(tool) = entry.tool() {
            let used = self.use_of(tool);
            return (used.count, used.last_used);
        }
        let used = self.compiler.uses.board.of(&EntryKey::new(entry.tenant.clone(), &entry.name));
        (used.count, used.last_used())
    }
}

impl Tool {
    /// How often it was called here and on every other replica, and when last.
    pub(crate) fn counted_uses(&self) -> (u64, Option<SystemTime>) {
        let used = self.uses.all(self);
        (used.count, used.last_used())
    }
}

async fn write(store: &dyn Store, counted: &[Counted]) -> Result<(), StoreError> {
    if counted.is_empty() {
        return Ok(());
    }
    let uses = |counted: &Counted| Uses { tool: counted.key.to_tool_key(), calls: counted.calls };
    store.record_uses(&counted.iter().map(uses).collect::<Vec<_>>()).await
}

/// A definition that is replaced hands its count on.
pub(crate) fn carry_over(before: &Entry, after: &Entry) {
    if let (Some(before), Some(after)) = (before.tool(), after.tool())
        && !Arc::ptr_eq(before, after)
    {
        let last = before.uses.last.load(Ordering::Relaxed);
        after.uses.last.fetch_max(last, Ordering::Relaxed);
        after.uses.give_back(before.uses.calls.swap(0, Ordering::Relaxed));
    }
}

/// A definition that was removed from the store takes along what is known of its use: another of its name begins anew.
pub(crate) fn let_go(key: &EntryKey, before: &Entry) {
    if let Some(tool) = before.tool().filter(|_| before.source == SourceId::Store) {
        let mut gone = tool.uses.log.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.insert(key.clone());
        tool.uses.log.board.remove(key);
    }
}
