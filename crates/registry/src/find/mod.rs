//! Finding tools among those that somebody sees: by words (`search.rs`), by a pattern (`pattern.rs`), by what is meant
//! (`meaning.rs`); and which tool a call means (`resolve.rs`).

mod highlights;
mod meaning;
mod meaning_work;
mod pattern;
mod resolve;
mod search;

pub use highlights::Highlights;
pub(crate) use meaning::Meaning;
pub use resolve::{Named, Resolved, Unresolved};
pub use search::{
    Among, Hit, MOST_HITS, MOST_PATTERN_CHARACTERS, MOST_QUERY_CHARACTERS, Matched, Only, SearchAnswer,
    SearchError, SearchMethod, SearchRequest, UnknownMethod,
};

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::catalog::Catalog;
use crate::usage::Usage;

/// Finds tools.
pub struct Finder {
    catalog: Arc<Catalog>,
    usage: Arc<Usage>,
    /// How tools are looked for where nobody says.
    default_method: SearchMethod,
    /// The semantic tier.
    meaning: Arc<Meaning>,
    /// Who may look for a pattern.
    patterns: Semaphore,
}

impl Finder {
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        usage: Arc<Usage>,
        default_method: SearchMethod,
        meaning: Arc<Meaning>,
    ) -> Self {
        Self { catalog, usage, default_method, meaning, patterns: Semaphore::new(pattern::AT_ONCE) }
    }

    /// How tools are looked for where nobody says.
    pub fn default_method(&self) -> SearchMethod {
        self.default_method
    }

    /// Why the semantic tier does not work as it should at the moment, `Ok` while it does; nothing if there is none.
    pub fn semantic_state(&self) -> Option<Result<(), String>> {
        self.meaning.state()
    }
}
