//! The optional semantic tier: finding tools by what a query means rather than by its words. `table` makes vectors of texts
//! out of a table in memory, with `tokenizer` and `tensors` to read its files; `vectors` keeps those of many tools and finds
//! the nearest, which the search adds to what the words say. Other embedders stand behind the same trait,
//! `toolrail_core::Embedder`.

mod closeness;
mod table;
mod tensors;
mod text;
mod tokenizer;
mod vectors;

pub use closeness::Closeness;
pub use table::StaticTable;
pub use text::meaning_text;
// Whoever reads a table needs these two, and not the rest of core.
pub use toolrail_core::{Embedding, Reach};
pub use vectors::{Nearest, Vectors};

/// Why a table cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TableProblem(pub(crate) String);

impl TableProblem {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}
