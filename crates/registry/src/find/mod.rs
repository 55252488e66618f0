//! Finding tools among those that somebody sees: by words (`search.rs`), by a pattern (`pattern.rs`), by what is meant
//! (`meaning.rs`); and which tool a call means (`resolve.rs`).

mod highlights;
mod meaning;
mod meaning_work;
pub(crate) mod pattern;
mod resolve;
mod search;

pub use highlights::Highlights;
pub(crate) use meaning::Meaning;
pub use resolve::{Named, Resolved, Unresolved};
pub use search::{
    Among, Hit, MOST_HITS, MOST_PATTERN_CHARACTERS, MOST_QUERY_CHARACTERS, Matched, Only, SearchAnswer,
    SearchError, SearchMethod, SearchRequest, UnknownMethod,
};
