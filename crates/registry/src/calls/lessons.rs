//! What calls teach: one that follows a search in the same conversation teaches that the tool is what the query meant, for
//! each tenant by itself. Writing that to the store is left to `usage/`. A conversation teaches a pair once, and what
//! many teach counts by its logarithm (`toolrail_search::Learnt`), so that nobody can push a tool up by calling it often.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use rpds::{HashTrieMapSync, HashTrieSetSync};
use toolrail_core::{Caller, Forget, LearntQuery, ToolKey, ToolName, ToolQueries};
use toolrail_search::Learnt;

use super::memory::{ConversationKey, Memory, Scope};
use crate::entry_key::EntryKey;

/// The most pairs that wait to be written; more are let go.
const MOST_WAITING: usize = 4_096;

/// What was learnt, and what is being learnt.
pub(crate) struct Lessons {
    on: AtomicBool,
    memory: Memory,
    /// In how many conversations what was learnt that is not in the store yet.
    waiting: Mutex<HashMap<Pair, u32>>,
    learnt: ArcSwap<LessonsByTenant>,
    /// Held while `learnt` is changed.
    changing: Mutex<()>,
}

type LessonsByTenant = HashTrieMapSync<Option<Arc<str>>, OfTenant>;

/// That a query meant a tool, as a tenant uses them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    pub(crate) tenant: Option<Arc<str>>,
    /// Folded.
    pub(crate) name: Arc<str>,
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
        let is_of_tenant = |tenant: &Option<String>| tenant.as_deref() == self.tenant.as_deref();
        match what {
            Forget::Everything => true,
            Forget::Tenant(tenant) => is_of_tenant(tenant),
            Forget::Tools(tools) => {
                tools.iter().any(|tool| *tool.name == *self.name && is_of_tenant(&tool.tenant))
            }
            Forget::Unused { .. } => false,
        }
    }

    /// The same as stores write it, with the number of conversations.
    pub(crate) fn to_learnt_query(&self, times: u32) -> LearntQuery {
        let Self { tenant, name, query } = self;
        let tool = ToolKey { tenant: tenant.as_deref().map(str::to_owned), name: name.to_string() };
        LearntQuery { tool, query: query.to_string(), times }
    }
}

impl OfTenant {
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

    pub(crate) fn switch(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    /// Remembers what a conversation was looking for, and which tools it was shown, by their folded names.
    pub(crate) fn note_search<'h>(
        &self,
        (tenant, conversation): (Option<&str>, &str),
        query: &str,
        hits: impl Iterator<Item = &'h str>,
    ) {
        self.memory.note(self.memory.key(tenant, conversation), query, hits);
    }

    /// What a call of that tool would teach, if it follows a search that found the tool.
    pub(crate) fn lesson(&self, caller: &dyn Caller, tenant: Option<&str>, name: &str) -> Option<Lesson<'_>> {
        let conversation = self.memory.recent(tenant, || caller.conversation())?;
        let name = ToolName::fold(name);
        let query = self.memory.query_before(conversation, &name)?;
        let pair = Pair { tenant: tenant.map(Into::into), name: name.into(), query };
        Some(Lesson { lessons: self, conversation, pair })
    }

    /// What was learnt from that tenant, if anything. A copy costs nothing.
    pub(crate) fn of(&self, tenant: Option<&str>) -> Option<Learnt> {
        self.learnt.load().get(&tenant.map(Arc::from)).map(|known| known.learnt.clone())
    }

    /// What was learnt from that tenant: the queries by tool, each with the number of conversations; about one tool or all
    /// of them, at most so many.
    pub(crate) fn about(
        &self,
        tenant: Option<&str>,
        tool: Option<&str>,
        most: usize,
    ) -> Vec<(String, Vec<(String, u32)>)> {
        let tool = tool.map(ToolName::fold);
        let learnt = self.learnt.load();
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

    /// What was learnt and is not in the store yet; whoever takes it writes it.
    pub(crate) fn take_waiting(&self) -> HashMap<Pair, u32> {
        std::mem::take(&mut *self.waiting())
    }

    /// Takes back what could not be written.
    pub(crate) fn put_back(&self, waiting: impl Iterator<Item = (Pair, u32)>) {
        self.waiting().extend(waiting.take(MOST_WAITING));
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

    /// Lets go of all that was learnt; what is in the store stays there.
    pub(crate) fn clear(&self) {
        self.change(|learnt| *learnt = HashTrieMapSync::new_sync());
    }

    /// Lets go of what was not written yet, and of the conversations that could teach it again.
    pub(crate) fn drop_waiting(&self, what: &Forget) {
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

    fn change(&self, change: impl FnOnce(&mut LessonsByTenant)) {
        let _turn = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut learnt = LessonsByTenant::clone(&self.learnt.load());
        change(&mut learnt);
        self.learnt.store(Arc::new(learnt));
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Pair, u32>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of what was not written yet about tools that are gone, and returns about which of them there is more.
    /// `has_own` says whether a tenant has a definition of that name itself.
    pub(crate) fn lose(&self, gone: &HashSet<EntryKey>, has_own: HasOwn<'_>) -> Vec<ToolKey> {
        let is_lost = |tenant: &Option<Arc<str>>, name: &Arc<str>| is_lost((tenant, name), gone, has_own);
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

/// Whether a tenant has a definition of that name itself.
type HasOwn<'h> = &'h dyn Fn(Option<&str>, &str) -> bool;

/// Whether what was learnt from a tenant about a tool is lost with those definitions: a shared tool is also seen by tenants
/// that have none of its name.
fn is_lost(
    (tenant, name): (&Option<Arc<str>>, &Arc<str>),
    gone: &HashSet<EntryKey>,
    has_own: HasOwn<'_>,
) -> bool {
    let is_gone = |tenant: Option<Arc<str>>| gone.contains(&EntryKey { tenant, name: Arc::clone(name) });
    let had_none = || !has_own(tenant.as_deref(), name);
    is_gone(tenant.clone()) || (tenant.is_some() && is_gone(None) && had_none())
}

/// Changes what was learnt from a tenant.
fn change_of(learnt: &mut LessonsByTenant, tenant: Option<Arc<str>>, change: impl FnOnce(&mut OfTenant)) {
    let nothing = || OfTenant { learnt: Learnt::default(), tools: HashTrieSetSync::new_sync() };
    let mut known = learnt.get(&tenant).cloned().unwrap_or_else(nothing);
    change(&mut known);
    learnt.insert_mut(tenant, known);
}
