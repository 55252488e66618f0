//! Learning from use: a call that follows a search in the same conversation teaches that the tool is what the query meant.
//! Kept in the store, read back by every replica, for each tenant by itself. A conversation teaches a pair once, and what
//! many teach counts by its logarithm (`toolrail_search::Learnt`), so that nobody can push a tool up by calling it often.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use rpds::{HashTrieMapSync, HashTrieSetSync};
use toolrail_core::{
    Caller, Forget, LearntLimits, LearntQuery, Store, StoreError, ToolKey, ToolName, ToolQueries,
};
use toolrail_search::{Hit, Learnt, Method};

use super::memory::{ConversationKey, Memory, Scope};
use crate::catalog::{Snapshot, Tool};
use crate::entry_key::EntryKey;
use crate::find::SearchRequest;
use crate::registry::Registry;

/// The most pairs that wait to be written; more are let go.
const MOST_WAITING: usize = 4_096;
/// The most that are written, or forgotten, at once.
const AT_ONCE: usize = 500;
/// How often it is looked for what has not been asked for long.
const EVERY: Duration = Duration::from_hours(1);

/// Whether a registry learns from use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Learning {
    /// What was called after which query is remembered, and counts in searches.
    #[default]
    On,
    /// Nothing is remembered, and what was remembered before does not count. It stays in the store.
    Off,
}

/// What was learnt, and what is being learnt.
pub(crate) struct Lessons {
    on: AtomicBool,
    memory: Memory,
    /// In how many conversations what was learnt that is not in the store yet.
    waiting: Mutex<HashMap<Pair, u32>>,
    learnt: ArcSwap<ByTenant>,
    /// Held while `learnt` is changed.
    changing: Mutex<()>,
}

type ByTenant = HashTrieMapSync<Option<Arc<str>>, OfTenant>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Pair {
    tenant: Option<Arc<str>>,
    /// Folded.
    name: Arc<str>,
    query: Arc<str>,
}

/// What was learnt from one tenant.
#[derive(Clone)]
struct OfTenant {
    learnt: Learnt,
    /// The folded names of the tools that this is about.
    tools: HashTrieSetSync<Arc<str>>,
}

/// What a call will have taught if it ends well.
pub(crate) struct Lesson<'l> {
    lessons: &'l Lessons,
    conversation: ConversationKey,
    pair: Pair,
}

impl Default for Lessons {
    fn default() -> Self {
        Self {
            on: AtomicBool::new(true),
            memory: Memory::default(),
            waiting: Mutex::default(),
            learnt: ArcSwap::from_pointee(HashTrieMapSync::new_sync()),
            changing: Mutex::default(),
        }
    }
}

impl Lesson<'_> {
    /// The call ended well.
    pub(crate) fn learn(self) {
        let Pair { query, name, .. } = &self.pair;
        if !self.lessons.memory.is_new(self.conversation, query, name) {
            return;
        }
        let mut waiting = self.lessons.waiting();
        if waiting.len() < MOST_WAITING || waiting.contains_key(&self.pair) {
            *waiting.entry(self.pair).or_default() += 1;
        }
    }
}

impl Pair {
    fn is_of(&self, what: &Forget) -> bool {
        concerns(what, self.tenant.as_deref(), &self.name)
    }
}

/// Whether something that was learnt from that tenant about a tool is to be forgotten.
fn concerns(what: &Forget, tenant: Option<&str>, name: &str) -> bool {
    match what {
        Forget::Everything => true,
        Forget::Tenant(whose) => whose.as_deref() == tenant,
        Forget::Tools(tools) => {
            tools.iter().any(|tool| tool.name == name && tool.tenant.as_deref() == tenant)
        }
        Forget::Unused { .. } => false,
    }
}

impl OfTenant {
    /// Forgets what is meant, and returns about how many tools.
    fn forget(&mut self, tenant: Option<&str>, what: &Forget) -> u64 {
        let names: Vec<Arc<str>> =
            self.tools.iter().filter(|name| concerns(what, tenant, name)).cloned().collect();
        for name in &names {
            self.learnt.forget(name);
            self.tools.remove_mut(name);
        }
        names.len() as u64
    }

    fn put(&mut self, tools: &[&ToolQueries]) {
        for ToolQueries { tool, queries, .. } in tools {
            self.learnt.forget(&tool.name);
            if queries.is_empty() {
                self.tools.remove_mut(tool.name.as_str());
            } else {
                self.tools.insert_mut(tool.name.as_str().into());
            }
        }
        // The newest stands first there, and is noted last here.
        self.learnt.note_many(tools.iter().flat_map(|known| {
            known.queries.iter().rev().map(|past| (known.tool.name.as_str(), past.query.as_str(), past.times))
        }));
    }
}

impl Lessons {
    pub(crate) fn are_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// What a call of that tool would teach, if it follows a search that found the tool.
    pub(crate) fn lesson(&self, caller: &dyn Caller, tenant: Option<&str>, name: &str) -> Option<Lesson<'_>> {
        let conversation = self.memory.recent(tenant, || caller.conversation())?;
        let name = ToolName::fold(name);
        let query = self.memory.query_before(conversation, &name)?;
        let pair = Pair { tenant: tenant.map(Into::into), name: name.into(), query };
        Some(Lesson { lessons: self, conversation, pair })
    }

    /// What was learnt from that tenant, if anything.
    fn of(&self, tenant: Option<&str>) -> Option<Learnt> {
        self.learnt.load().get(&tenant.map(Arc::from)).map(|known| known.learnt.clone())
    }

    /// Takes over what the store has about those tools now.
    pub(crate) fn put(&self, tools: &[ToolQueries]) {
        let mut by_tenant: BTreeMap<Option<&str>, Vec<&ToolQueries>> = BTreeMap::new();
        for tool in tools {
            by_tenant.entry(tool.tool.tenant.as_deref()).or_default().push(tool);
        }
        self.change(|learnt| {
            for (tenant, tools) in by_tenant {
                change_of(learnt, tenant.map(Arc::from), |known| known.put(&tools));
            }
        });
    }

    /// Without a store: what is learnt is kept here.
    pub(crate) fn keep_here(&self) {
        let waiting = std::mem::take(&mut *self.waiting());
        if waiting.is_empty() {
            return;
        }
        self.change(|learnt| {
            for (Pair { tenant, name, query }, times) in waiting {
                change_of(learnt, tenant, |known| {
                    known.learnt.note(&name, &query, times);
                    known.tools.insert_mut(name);
                });
            }
        });
    }

    /// Lets go of all that was learnt; what is in the store stays there.
    pub(crate) fn clear(&self) {
        self.change(|learnt| *learnt = HashTrieMapSync::new_sync());
    }

    /// Lets go of what was not written yet, and of the conversations that could teach it again.
    fn drop_waiting(&self, what: &Forget) {
        self.waiting().retain(|pair, _| !pair.is_of(what));
        match what {
            Forget::Everything => self.memory.forget(Scope::Everything),
            Forget::Tenant(tenant) => self.memory.forget(Scope::Tenant(tenant.as_deref())),
            Forget::Tools(tools) => {
                for ToolKey { tenant, name } in tools {
                    self.memory.forget(Scope::Tool(tenant.as_deref(), name));
                }
            }
            Forget::Unused { .. } => {}
        }
    }

    /// Without a store: lets go of what was learnt, and returns about how many tools there was something.
    fn forget_here(&self, what: &Forget) -> u64 {
        let mut forgotten = 0;
        self.change(|learnt| {
            for tenant in learnt.keys().cloned().collect::<Vec<_>>() {
                change_of(learnt, tenant.clone(), |known| forgotten += known.forget(tenant.as_deref(), what));
            }
        });
        forgotten
    }

    fn change(&self, change: impl FnOnce(&mut ByTenant)) {
        let _turn = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut learnt = ByTenant::clone(&self.learnt.load());
        change(&mut learnt);
        self.learnt.store(Arc::new(learnt));
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Pair, u32>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of what was not written yet about tools that are gone, and returns about which of them there is more.
    fn lose(&self, gone: &HashSet<EntryKey>, snapshot: &Snapshot) -> Vec<ToolKey> {
        let is_lost = |tenant: &Option<Arc<str>>, name: &Arc<str>| is_lost((tenant, name), gone, snapshot);
        let mut lost = HashSet::new();
        self.waiting().retain(|Pair { tenant, name, .. }, _| {
            let is_kept = !is_lost(tenant, name);
            if !is_kept {
                lost.insert((tenant.clone(), Arc::clone(name)));
            }
            is_kept
        });
        for (tenant, known) in self.learnt.load().iter() {
            let names = gone.iter().map(|key| &key.name).filter(|name| known.tools.contains(*name));
            let names = names.filter(|name| is_lost(tenant, name));
            lost.extend(names.map(|name| (tenant.clone(), Arc::clone(name))));
        }
        for (tenant, name) in &lost {
            self.memory.forget(Scope::Tool(tenant.as_deref(), name));
        }
        let key = |(tenant, name): (Option<Arc<str>>, Arc<str>)| ToolKey {
            tenant: tenant.as_deref().map(str::to_owned),
            name: name.to_string(),
        };
        lost.into_iter().map(key).collect()
    }
}

/// Whether what was learnt from a tenant about a tool is lost with those definitions: a shared tool is also seen by tenants
/// that have none of its name.
fn is_lost(
    (tenant, name): (&Option<Arc<str>>, &Arc<str>),
    gone: &HashSet<EntryKey>,
    snapshot: &Snapshot,
) -> bool {
    let is_gone = |tenant: Option<Arc<str>>| gone.contains(&EntryKey { tenant, name: Arc::clone(name) });
    let had_none = || snapshot.entry_of(tenant.as_deref(), name).is_none();
    is_gone(tenant.clone()) || (tenant.is_some() && is_gone(None) && had_none())
}

/// Changes what was learnt from a tenant.
fn change_of(learnt: &mut ByTenant, tenant: Option<Arc<str>>, change: impl FnOnce(&mut OfTenant)) {
    let nothing = || OfTenant { learnt: Learnt::default(), tools: HashTrieSetSync::new_sync() };
    let mut known = learnt.get(&tenant).cloned().unwrap_or_else(nothing);
    change(&mut known);
    learnt.insert_mut(tenant, known);
}

impl Registry {
    /// The same, learning from use or not; it does unless this is said.
    #[must_use]
    pub fn with_learning(self, learning: Learning) -> Self {
        self.compiler.uses.lessons.on.store(learning == Learning::On, Ordering::Relaxed);
        self
    }

    /// What was learnt from the use of a tenant, or of those without one. A copy costs nothing.
    pub(crate) fn learnt_of(&self, tenant: Option<&str>) -> Option<Learnt> {
        self.compiler.uses.lessons.of(tenant)
    }

    /// Whether it learns from use.
    pub fn learns(&self) -> bool {
        self.compiler.uses.lessons.are_on()
    }

    /// What was learnt from the use of a tenant, or of those without one: the queries by tool, each with the number of
    /// conversations; about one tool or all of them, at most so many.
    pub fn learnt_about(
        &self,
        tenant: Option<&str>,
        tool: Option<&str>,
        most: usize,
    ) -> Vec<(String, Vec<(String, u32)>)> {
        let tool = tool.map(ToolName::fold);
        let learnt = self.compiler.uses.lessons.learnt.load();
        let Some(known) = learnt.get(&tenant.map(Arc::from)) else {
            return Vec::new();
        };
        let is_asked = |name: &&Arc<str>| tool.as_deref().is_none_or(|tool| tool == &***name);
        let mut names: Vec<&Arc<str>> = known.tools.iter().filter(is_asked).collect();
        names.sort_unstable();
        let queries =
            |name: &str| known.learnt.queries(name).map(|(query, times)| (query.to_owned(), times)).collect();
        names.into_iter().take(most).map(|name| (name.to_string(), queries(name))).collect()
    }

    /// Remembers what was found, for the calls that may follow in the same conversation. Patterns say nothing about what
    /// somebody wants.
    pub(crate) fn note_search(&self, request: &SearchRequest<'_>, query: &str, hits: &[Hit<Arc<Tool>>]) {
        let lessons = &self.compiler.uses.lessons;
        let Some(conversation) = request.conversation.filter(|_| lessons.are_on()) else {
            return;
        };
        if request.method == Method::Regex || query.chars().nth(LearntLimits::ALL.longest).is_some() {
            return;
        }
        let names: Vec<String> = hits.iter().map(|hit| ToolName::fold(hit.value.name.as_str())).collect();
        let key = lessons.memory.key(request.tenant, conversation);
        lessons.memory.note(key, query, names.iter().map(String::as_str));
    }

    /// Forgets queries that were learnt, here and on every replica, and returns about how many tools there were some.
    pub async fn forget_learnt(&self, what: &Forget) -> Result<u64, StoreError> {
        let lessons = &self.compiler.uses.lessons;
        lessons.drop_waiting(what);
        let Some(store) = &self.store else {
            return Ok(lessons.forget_here(what));
        };
        let forgotten = store.forget_queries(what).await?;
        self.read_uses(&**store).await?;
        Ok(forgotten)
    }

    /// Writes what was learnt since the last time, and forgets what was learnt about definitions that are gone.
    pub(crate) async fn write_lessons(&self, store: &dyn Store) -> Result<(), StoreError> {
        let log = &self.compiler.uses;
        let gone = log.take_gone();
        // First: a tool may be taught and removed between two writes.
        let lost = if gone.is_empty() { Vec::new() } else { log.lessons.lose(&gone, &self.snapshot()) };
        for lost in lost.chunks(AT_ONCE) {
            if let Err(error) = store.forget_queries(&Forget::Tools(lost.to_vec())).await {
                log.give_back_gone(gone);
                return Err(error);
            }
        }
        self.write_waiting(store).await
    }

    async fn write_waiting(&self, store: &dyn Store) -> Result<(), StoreError> {
        let lessons = &self.compiler.uses.lessons;
        let waiting = std::mem::take(&mut *lessons.waiting());
        // A call may have ended after its tool was gone.
        let is_there = |pair: &Pair| self.catalogue(pair.tenant.as_deref()).find(&pair.name).is_some();
        let mut waiting: Vec<(Pair, u32)> = waiting.into_iter().filter(|(pair, _)| is_there(pair)).collect();
        while !waiting.is_empty() {
            let rest = waiting.split_off(AT_ONCE.min(waiting.len()));
            let learnt: Vec<LearntQuery> = waiting.iter().map(learnt_query).collect();
            if let Err(error) = store.record_queries(&learnt).await {
                lessons.waiting().extend(waiting.into_iter().chain(rest).take(MOST_WAITING));
                return Err(error);
            }
            waiting = rest;
        }
        Ok(())
    }

    /// Forgets what has not been asked for long, every hour, until the future is dropped. Every replica may do that.
    pub(crate) async fn keep_learnt(&self) {
        let Some(store) = &self.store else {
            return std::future::pending().await;
        };
        let mut hours = tokio::time::interval(EVERY);
        hours.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            hours.tick().await;
            match store.forget_queries(&Forget::Unused { days: LearntLimits::ALL.days }).await {
                Ok(0) => {}
                Ok(tools) => tracing::info!(tools, "what was learnt from old queries was forgotten"),
                Err(error) => tracing::debug!(%error, "what was learnt from old queries cannot be forgotten"),
            }
        }
    }
}

fn learnt_query((pair, times): &(Pair, u32)) -> LearntQuery {
    let Pair { tenant, name, query } = pair;
    let tool = ToolKey { tenant: tenant.as_deref().map(str::to_owned), name: name.to_string() };
    LearntQuery { tool, query: query.to_string(), times: *times }
}
