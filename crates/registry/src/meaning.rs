//! The optional semantic tier: the vectors of tools, made in the background so that no registration waits for them, and what
//! they say about a query. They lie beside the snapshot: a tool that has none yet, or another by now, is found by its words.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use rpds::RedBlackTreeMapSync;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use toolrail_core::{Embedder, Embedding, ToolName};
use toolrail_search::semantic::Vectors;

use crate::entry_key::EntryKey;
use crate::registry::Registry;
use crate::snapshot::Snapshot;
use crate::tool::Tool;

/// The semantic tier of a registry.
pub(crate) enum Meaning {
    /// There is none.
    Absent,
    /// It is configured, but cannot be used; why.
    Broken(String),
    /// It is there.
    Present(Box<Meanings>),
}

/// An embedder, and the vectors it made.
pub(crate) struct Meanings {
    pub(crate) embedder: Arc<dyn Embedder>,
    board: ArcSwap<Board>,
    /// Tools that changed and whose vectors did not yet.
    waiting: Mutex<BTreeSet<EntryKey>>,
    pub(crate) bell: Notify,
    /// Held by whoever makes vectors.
    pub(crate) working: AsyncMutex<()>,
}

/// The vectors of each tenant's tools, and of the shared ones, under their folded names.
#[derive(Clone)]
struct Board(RedBlackTreeMapSync<Option<Arc<str>>, Vectors<Arc<Tool>>>);

/// What a query means, beside what was meant by the tools at that moment.
pub(crate) struct Meant {
    vector: Embedding,
    board: Arc<Board>,
}

/// The vector of a tool, if it has one.
pub(crate) type Pinned = (EntryKey, Option<(Embedding, Arc<Tool>)>);

impl Registry {
    /// The same with a semantic tier, or with the reason why the configured one cannot be used.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Result<Arc<dyn Embedder>, String>) -> Self {
        self.meaning = match embedder {
            Ok(embedder) => Meaning::Present(Box::new(Meanings::new(embedder))),
            Err(why) => Meaning::Broken(why),
        };
        self
    }

    /// What a query means; nothing, perhaps with notes for whoever asked, where only words can be looked for.
    pub(crate) async fn meant(&self, query: &str) -> (Option<Meant>, Vec<String>) {
        let only_words = |why: &str| vec![format!("{why}; the words alone were looked for")];
        let meanings = match &self.meaning {
            Meaning::Absent => return (None, only_words("no semantic search is configured")),
            Meaning::Broken(why) => {
                return (None, only_words(&format!("semantic search is not available: {why}")));
            }
            Meaning::Present(meanings) => meanings,
        };
        // An English table has nothing to say about a Chinese query; that is as it should be.
        if !meanings.embedder.reach().covers(query) {
            return (None, Vec::new());
        }
        match meanings.embedder.embed_query(query).await {
            Ok(None) => (None, Vec::new()),
            Ok(Some(vector)) => {
                let missing = meanings.waiting().len();
                let note =
                    || format!("{missing} tools have no vectors yet and are found by their words alone");
                let board = meanings.board.load_full();
                (Some(Meant { vector, board }), (missing > 0).then(note).into_iter().collect())
            }
            Err(error) => (None, only_words(&format!("semantic search is not available: {error}"))),
        }
    }

    /// Says that those tools have changed.
    pub(crate) fn note_meanings(&self, changed: Vec<EntryKey>) {
        if let Meaning::Present(meanings) = &self.meaning
            && !changed.is_empty()
        {
            meanings.waiting().extend(changed);
            meanings.bell.notify_one();
        }
    }
}

impl Meanings {
    fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self {
            embedder,
            board: ArcSwap::from_pointee(Board(RedBlackTreeMapSync::new_sync())),
            waiting: Mutex::default(),
            bell: Notify::new(),
            working: AsyncMutex::default(),
        }
    }

    pub(crate) fn waiting(&self) -> MutexGuard<'_, BTreeSet<EntryKey>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some of those that wait, which they do no longer.
    pub(crate) fn take(&self, count: usize) -> Vec<EntryKey> {
        let mut waiting = self.waiting();
        (0..count).map_while(|_| waiting.pop_first()).collect()
    }

    /// Puts vectors in their places and empties those of tools without one. Only whoever holds `working` may.
    pub(crate) fn pin(&self, pinned: Vec<Pinned>) {
        let mut changes: BTreeMap<Option<Arc<str>>, Vec<_>> = BTreeMap::new();
        for (EntryKey { tenant, name }, vector) in pinned {
            changes.entry(tenant).or_default().push((name, vector));
        }
        let mut board = Board::clone(&self.board.load());
        for (tenant, changes) in changes {
            let mut vectors = board.0.get(&tenant).cloned().unwrap_or_default();
            vectors.apply(changes);
            if vectors.is_empty() {
                board.0.remove_mut(&tenant);
            } else {
                board.0.insert_mut(tenant, vectors);
            }
        }
        self.board.store(Arc::new(board));
    }
}

impl Meant {
    /// How near a tool is, -1 to 1, if it has a vector.
    pub(crate) fn nearness(&self, tool: &Tool) -> Option<f32> {
        let vectors = self.board.0.get(&tool.tenant)?;
        vectors.nearness(&ToolName::fold(tool.name.as_str()), &self.vector)
    }

    /// The nearest of the tools that are seen in a snapshot and accepted, the nearest first.
    pub(crate) fn nearest(
        &self,
        snapshot: &Snapshot,
        count: usize,
        accept: &dyn Fn(&Arc<Tool>) -> bool,
    ) -> Vec<(Arc<Tool>, f32)> {
        let own = snapshot.tenant().map(|tenant| Some(Arc::clone(tenant)));
        let seen = own.into_iter().chain([None]).filter_map(|tenant| self.board.0.get(&tenant));
        let mut nearest: Vec<_> =
            seen.flat_map(|vectors| vectors.nearest(&self.vector, count, accept)).collect();
        nearest.sort_by(|(_, one), (_, another)| another.total_cmp(one));
        nearest.truncate(count);
        nearest
    }
}
