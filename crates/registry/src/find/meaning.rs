//! The optional semantic tier: the vectors of tools, made in the background so that no registration waits for them, and what
//! they say about a query. They lie beside the snapshot: a tool that has none yet, or another by now, is found by its words.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use rpds::RedBlackTreeMapSync;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use toolrail_core::{Embedder, Embedding, ToolName};
use toolrail_search::semantic::{Closeness, Vectors};

use crate::catalog::{Snapshot, Tool};
use crate::entry_key::EntryKey;

/// The semantic tier of a registry.
#[derive(Default)]
pub(crate) enum Meaning {
    /// There is none.
    #[default]
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

/// What a query means, and what is near to it.
pub(crate) struct Near<'m> {
    meant: &'m Meant,
    closeness: Closeness,
    /// The folded names of tools that are near enough to be found without a word in common.
    pub(crate) candidates: Vec<Arc<str>>,
}

/// The vector of a tool, if it has one.
pub(crate) type Pinned = (EntryKey, Option<(Embedding, Arc<Tool>)>);

impl Meaning {
    /// A semantic tier, or the reason why the configured one cannot be used.
    pub(crate) fn new(embedder: Result<Arc<dyn Embedder>, String>) -> Self {
        match embedder {
            Ok(embedder) => Self::Present(Box::new(Meanings::new(embedder))),
            Err(why) => Self::Broken(why),
        }
    }

    /// Why the semantic tier does not work as it should at the moment, `Ok` while it does; nothing if there is none.
    pub(crate) fn state(&self) -> Option<Result<(), String>> {
        match self {
            Self::Absent => None,
            Self::Broken(why) => Some(Err(why.clone())),
            Self::Present(meanings) => Some(meanings.embedder.failing().map_or(Ok(()), Err)),
        }
    }

    /// What a query means; nothing, perhaps with notes for whoever asked, where only words can be looked for.
    pub(crate) async fn meant(&self, query: &str) -> (Option<Meant>, Vec<String>) {
        let only_words = |why: &str| vec![format!("{why}; the words alone were looked for")];
        let meanings = match self {
            Self::Absent => return (None, only_words("no semantic search is configured")),
            Self::Broken(why) => {
                return (None, only_words(&format!("semantic search is not available: {why}")));
            }
            Self::Present(meanings) => meanings,
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
    pub(crate) fn note_changed(&self, changed: Vec<EntryKey>) {
        if let Self::Present(meanings) = self
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
    /// How near the tools are that are seen in a snapshot and accepted.
    pub(crate) fn near(&self, snapshot: &Snapshot, accept: &dyn Fn(&Arc<Tool>) -> bool) -> Near<'_> {
        let own = snapshot.tenant().map(|tenant| Some(Arc::clone(tenant)));
        let seen = own.into_iter().chain([None]).filter_map(|tenant| self.board.0.get(&tenant));
        let (mut best, mut total, mut count) = (Vec::new(), 0.0, 0);
        for vectors in seen {
            let nearest = vectors.nearest(&self.vector, Closeness::MOST_CANDIDATES, accept);
            best.extend(nearest.best);
            total += nearest.total;
            count += vectors.len();
        }
        let closeness = Closeness::new(total, count);
        let near = best.iter().filter(|(_, cosine)| closeness.is_near(*cosine));
        let candidates = near.map(|(tool, _)| Arc::from(ToolName::fold(tool.name.as_str()))).collect();
        Near { meant: self, closeness, candidates }
    }
}

impl Near<'_> {
    /// What the meaning of a tool says for it, from 0 to 1.
    pub(crate) fn score(&self, tool: &Tool) -> f32 {
        let vectors = self.meant.board.0.get(&tool.tenant);
        let key = ToolName::fold(tool.name.as_str());
        let cosine = vectors.and_then(|vectors| vectors.nearness(&key, &self.meant.vector));
        cosine.map_or(0.0, |cosine| self.closeness.score(cosine))
    }
}
