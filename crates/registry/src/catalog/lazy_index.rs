//! The index of a space, made a little later where it takes long: when a gateway starts, everybody waits for its tools and nobody
//! has searched yet. Whoever searches first waits for it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rpds::HashTrieMapSync;
use toolrail_search::Index;

use super::entry::Entry;
use super::search_document::index_tools;
use super::tools::Tool;

/// The tools that can be found.
pub(crate) type ToolIndex = Index<Arc<Tool>>;

/// Entries by folded name.
pub(super) type ByName = HashTrieMapSync<Arc<str>, Arc<Entry>>;

/// As many changes are over before anybody notices.
const FEW: usize = 512;

/// An index that is made when it is first asked for.
#[derive(Default)]
pub(crate) struct LazyIndex {
    made: OnceLock<ToolIndex>,
    /// What it is made of; nothing once it is.
    unmade: Mutex<Option<Unmade>>,
}

/// An index, and what has changed since.
#[derive(Clone)]
struct Unmade {
    before: ToolIndex,
    names: Arc<[Arc<str>]>,
    by_name: ByName,
}

impl LazyIndex {
    /// This index with the tools of those names as they are now; if they are few, it is made at once.
    pub(super) fn with(&self, names: &[Arc<str>], by_name: &ByName) -> Self {
        let unmade = Unmade { before: self.get().clone(), names: names.into(), by_name: by_name.clone() };
        if names.len() <= FEW {
            return Self { made: OnceLock::from(unmade.make()), unmade: Mutex::default() };
        }
        Self { made: OnceLock::new(), unmade: Mutex::new(Some(unmade)) }
    }

    /// Whether nobody has to wait for it.
    pub(crate) fn is_made(&self) -> bool {
        self.made.get().is_some() || self.unmade.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Makes it, unless that was done.
    pub(crate) fn make(&self) {
        self.get();
    }

    /// The index. May take long, unless it is made.
    pub(crate) fn get(&self) -> &ToolIndex {
        self.made.get_or_init(|| {
            let unmade = || self.unmade.lock().unwrap_or_else(PoisonError::into_inner);
            // Made without the lock, since others ask whether it is.
            let found = unmade().clone();
            let made = found.map(Unmade::make).unwrap_or_default();
            *unmade() = None;
            made
        })
    }
}

impl Unmade {
    fn make(self) -> ToolIndex {
        let Self { before: mut index, names, by_name } = self;
        index_tools(&mut index, &names, |name| by_name.get(name));
        index
    }
}
