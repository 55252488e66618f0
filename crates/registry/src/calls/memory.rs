//! The searches of the last minutes, by conversation, so that it can be told which of them a call came after. Bounded in
//! every way; who was not looking for anything takes no lock.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long after a search a call may be its fruit.
const REMEMBERED: Duration = Duration::from_mins(10);
/// The most searches of one conversation that are remembered.
const MOST_OF_ONE: usize = 8;
/// The most searches that are remembered, and the most bytes of them.
const MOST: usize = 16_384;
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The most hits of one search that are remembered: the best.
const MOST_HITS: usize = 20;
/// The most pairs of which it is remembered that a conversation taught them.
const MOST_TAUGHT: usize = 16_384;

const SLOTS: usize = 4_096;

/// What conversations were looking for.
pub(crate) struct Memory {
    hasher: RandomState,
    begun: Instant,
    /// By a part of its key, until when a conversation has searches here, in seconds since `begun`. Several share one: then
    /// the lock is taken in vain.
    until: Box<[AtomicU32]>,
    /// The latest of these.
    latest: AtomicU32,
    inner: Mutex<SearchesKept>,
}

#[derive(Default)]
struct SearchesKept {
    conversations: HashMap<u64, VecDeque<Searched>>,
    /// All searches, the oldest first: the key of the conversation, and which one. Some may be gone.
    order: VecDeque<(u64, u64)>,
    next: u64,
    bytes: usize,
    /// The pairs that were taught: those of which conversation.
    taught: HashMap<u64, Taught>,
    taught_order: VecDeque<u64>,
}

/// About what a conversation taught something, as hashes.
struct Taught {
    tenant: u64,
    name: u64,
}

/// What to forget.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'a> {
    /// Everything.
    Everything,
    /// What conversations of a tenant were about, or of those without one.
    Tenant(Option<&'a str>),
    /// What they were about as far as it concerns one tool, by its folded name.
    Tool(Option<&'a str>, &'a str),
}

struct Searched {
    which: u64,
    /// The hash of whose it was.
    tenant: u64,
    at: Instant,
    query: Arc<str>,
    /// The hashes of the folded names of the hits.
    hits: Box<[u64]>,
}

impl Searched {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.query.len() + size_of_val(&*self.hits)
    }
}

/// Which conversation of whom.
#[derive(Clone, Copy)]
pub(crate) struct ConversationKey {
    conversation: u64,
    tenant: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            begun: Instant::now(),
            until: (0..SLOTS).map(|_| AtomicU32::new(0)).collect(),
            latest: AtomicU32::new(0),
            inner: Mutex::default(),
        }
    }
}

impl Memory {
    /// Remembers a search and its hits, by their folded names.
    pub(crate) fn note<'h>(&self, key: ConversationKey, query: &str, hits: impl Iterator<Item = &'h str>) {
        let hits: Box<[u64]> = hits.take(MOST_HITS).map(|name| self.hasher.hash_one(name)).collect();
        if hits.is_empty() {
            return;
        }
        let at = Instant::now();
        self.inner().remember(key, Searched { which: 0, tenant: key.tenant, at, query: query.into(), hits });
        let until = self.seconds(at) + u32::try_from(REMEMBERED.as_secs()).unwrap_or(u32::MAX);
        if let Some(slot) = self.slot(key) {
            slot.fetch_max(until, Ordering::Release);
        }
        self.latest.fetch_max(until, Ordering::Release);
    }

    /// The key of a conversation, if it may have been looking for something lately.
    pub(crate) fn recent<'c>(
        &self,
        tenant: Option<&str>,
        conversation: impl FnOnce() -> Option<&'c str>,
    ) -> Option<ConversationKey> {
        let latest = self.latest.load(Ordering::Acquire);
        if latest == 0 {
            return None;
        }
        let now = self.seconds(Instant::now());
        if now > latest {
            return None;
        }
        let key = self.key(tenant, conversation()?);
        self.slot(key).filter(|until| now <= until.load(Ordering::Acquire)).map(|_| key)
    }

    /// The key of a conversation of a tenant; nobody else can make up the same.
    pub(crate) fn key(&self, tenant: Option<&str>, conversation: &str) -> ConversationKey {
        let conversation = self.hasher.hash_one((tenant, conversation));
        ConversationKey { conversation, tenant: self.hasher.hash_one(tenant) }
    }

    /// The last thing that the conversation was looking for when it was shown that tool.
    pub(crate) fn query_before(&self, key: ConversationKey, name: &str) -> Option<Arc<str>> {
        let name = self.hasher.hash_one(name);
        let inner = self.inner();
        let searches = inner.conversations.get(&key.conversation)?.iter().rev();
        let mut fresh = searches.take_while(|searched| searched.at.elapsed() <= REMEMBERED);
        fresh.find(|searched| searched.hits.contains(&name)).map(|searched| Arc::clone(&searched.query))
    }

    /// Whether the conversation teaches this for the first time.
    pub(crate) fn is_new(&self, key: ConversationKey, query: &str, name: &str) -> bool {
        let pair = self.hasher.hash_one((key.conversation, query, name));
        let taught = Taught { tenant: key.tenant, name: self.hasher.hash_one(name) };
        let mut inner = self.inner();
        if inner.taught.insert(pair, taught).is_some() {
            return false;
        }
        inner.taught_order.push_back(pair);
        if inner.taught_order.len() > MOST_TAUGHT
            && let Some(oldest) = inner.taught_order.pop_front()
        {
            inner.taught.remove(&oldest);
        }
        true
    }

    /// Forgets searches, and that something was taught, which can then be taught again.
    pub(crate) fn forget(&self, scope: Scope<'_>) {
        let mut inner = self.inner();
        match scope {
            Scope::Everything => {
                let next = inner.next;
                *inner = SearchesKept { next, ..SearchesKept::default() };
            }
            Scope::Tenant(tenant) => inner.forget_tenant(self.hasher.hash_one(tenant)),
            Scope::Tool(tenant, name) => {
                inner.forget_tool(self.hasher.hash_one(tenant), self.hasher.hash_one(name));
            }
        }
    }

    fn slot(&self, key: ConversationKey) -> Option<&AtomicU32> {
        let place = usize::try_from(key.conversation % SLOTS as u64).ok()?;
        self.until.get(place)
    }

    /// Rounded up, so that none is nothing.
    fn seconds(&self, at: Instant) -> u32 {
        u32::try_from(at.duration_since(self.begun).as_secs()).unwrap_or(u32::MAX - 1_000) + 1
    }

    fn inner(&self) -> MutexGuard<'_, SearchesKept> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SearchesKept {
    fn remember(&mut self, key: ConversationKey, mut searched: Searched) {
        let key = key.conversation;
        self.next += 1;
        searched.which = self.next;
        self.bytes += searched.bytes();
        let searches = self.conversations.entry(key).or_default();
        searches.push_back(searched);
        self.order.push_back((key, self.next));
        if searches.len() > MOST_OF_ONE
            && let Some(oldest) = searches.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
        while self.is_full() || self.oldest_is_stale() {
            self.forget_oldest();
        }
    }

    fn forget_tenant(&mut self, tenant: u64) {
        let is_kept =
            |searches: &VecDeque<Searched>| searches.iter().all(|searched| searched.tenant != tenant);
        self.conversations.retain(|_, searches| is_kept(searches));
        self.bytes = self.conversations.values().flatten().map(Searched::bytes).sum();
        let Self { conversations, order, .. } = self;
        order.retain(|(key, _)| conversations.contains_key(key));
        self.forget_taught(|taught| taught.tenant == tenant);
    }

    fn forget_tool(&mut self, tenant: u64, name: u64) {
        for searched in self.conversations.values_mut().flatten().filter(|searched| searched.tenant == tenant)
        {
            // No name has this, as far as hashes go.
            searched.hits.iter_mut().filter(|hit| **hit == name).for_each(|hit| *hit = 0);
        }
        self.forget_taught(|taught| taught.tenant == tenant && taught.name == name);
    }

    fn forget_taught(&mut self, is_forgotten: impl Fn(&Taught) -> bool) {
        self.taught.retain(|_, taught| !is_forgotten(taught));
        let Self { taught, taught_order, .. } = self;
        taught_order.retain(|pair| taught.contains_key(pair));
    }

    fn is_full(&self) -> bool {
        self.order.len() > MOST || (self.bytes > MOST_BYTES && self.order.len() > 1)
    }

    /// Whether the oldest is too old, or gone already.
    fn oldest_is_stale(&self) -> bool {
        let Some((key, which)) = self.order.front() else {
            return false;
        };
        let oldest = self.conversations.get(key).and_then(VecDeque::front);
        oldest.is_none_or(|oldest| oldest.which != *which || oldest.at.elapsed() > REMEMBERED)
    }

    fn forget_oldest(&mut self) {
        let Some((key, which)) = self.order.pop_front() else {
            return;
        };
        let Some(searches) = self.conversations.get_mut(&key) else {
            return;
        };
        if searches.front().is_some_and(|oldest| oldest.which == which)
            && let Some(oldest) = searches.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
        if searches.is_empty() {
            self.conversations.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory_of(searches: &[(&str, &str, &[&str])]) -> Memory {
        let memory = Memory::default();
        for (conversation, query, hits) in searches {
            memory.note(memory.key(None, conversation), query, hits.iter().copied());
        }
        memory
    }

    fn before(memory: &Memory, conversation: &str, name: &str) -> Option<String> {
        memory.query_before(memory.recent(None, || Some(conversation))?, name).map(|query| query.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_search_that_showed_the_tool_counts_for_ten_minutes() {
        let memory =
            memory_of(&[("c", "first", &["a", "b"]), ("c", "second", &["a"]), ("c", "third", &["x"])]);
        assert_eq!(before(&memory, "c", "a").as_deref(), Some("second"));
        assert_eq!(before(&memory, "c", "b").as_deref(), Some("first"));
        assert_eq!(before(&memory, "c", "unseen"), None);
        assert_eq!(before(&memory, "other", "a"), None);
        assert!(
            memory
                .recent(Some("acme"), || Some("c"))
                .is_none_or(|key| memory.query_before(key, "a").is_none())
        );
        tokio::time::advance(REMEMBERED).await;
        assert_eq!(before(&memory, "c", "a").as_deref(), Some("second"));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(before(&memory, "c", "a"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_much_is_remembered() {
        let memory = Memory::default();
        let long = "x".repeat(1_000);
        for number in 0..30_000 {
            memory.note(memory.key(None, &format!("c{number}")), &long, ["a"].into_iter());
        }
        for number in 0..20 {
            memory.note(memory.key(None, "one"), &format!("{number}"), ["a"].into_iter());
        }
        {
            let inner = memory.inner();
            assert!(inner.bytes <= MOST_BYTES && inner.order.len() <= MOST);
            assert_eq!(inner.conversations.values().map(VecDeque::len).max(), Some(MOST_OF_ONE));
            let counted: usize = inner.conversations.values().flatten().map(Searched::bytes).sum();
            assert_eq!(counted, inner.bytes);
        }
        assert_eq!(before(&memory, "c29999", "a"), Some(long));
        tokio::time::advance(2 * REMEMBERED).await;
        memory.note(memory.key(None, "new"), "q", ["a"].into_iter());
        assert_eq!(memory.inner().conversations.len(), 1, "what is too old goes with the next search");
        let key = memory.key(None, "new");
        for number in 0..2 * MOST_TAUGHT {
            assert!(memory.is_new(key, &number.to_string(), "a"));
        }
        assert_eq!(memory.inner().taught.len(), MOST_TAUGHT);
    }

    #[test]
    fn a_conversation_teaches_a_pair_once() {
        let memory = Memory::default();
        let (one, other) = (memory.key(None, "one"), memory.key(None, "other"));
        assert!(memory.is_new(one, "q", "a"));
        assert!(!memory.is_new(one, "q", "a"));
        assert!(memory.is_new(one, "q", "b") && memory.is_new(other, "q", "a"));
    }

    #[test]
    fn only_what_is_meant_is_forgotten() {
        let memory = Memory::default();
        let keys = [None, Some("acme"), Some("other")].map(|tenant| memory.key(tenant, "c"));
        let teach = |key| memory.is_new(key, "q", "a") && memory.is_new(key, "q", "b");
        for key in keys {
            memory.note(key, "q", ["a", "b"].into_iter());
            assert!(teach(key));
        }
        let knows = |key, name| memory.query_before(key, name).is_some();
        memory.forget(Scope::Tool(None, "a"));
        assert!(!knows(keys[0], "a") && knows(keys[0], "b") && knows(keys[1], "a"));
        assert!(memory.is_new(keys[0], "q", "a") && !memory.is_new(keys[0], "q", "b"));
        memory.forget(Scope::Tenant(Some("acme")));
        assert!(!knows(keys[1], "a") && knows(keys[0], "b") && knows(keys[2], "a"));
        assert!(teach(keys[1]) && !memory.is_new(keys[2], "q", "a"));
        memory.forget(Scope::Everything);
        assert!(!knows(keys[2], "a") && teach(keys[2]));
        assert_eq!(memory.inner().bytes, 0);
    }
}
