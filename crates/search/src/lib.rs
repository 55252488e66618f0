//! Finding tools by what somebody wants to do, in English and Chinese. Pure: texts in, ranked hits out; no input or output,
//! no knowledge of registries, tenants or protocols.

mod analysis;
mod buckets;
mod candidates;
mod common;
mod document;
mod entry;
mod explain;
mod field;
mod highlight;
mod hit;
mod index;
mod judge;
mod known;
mod learnt;
mod lexicon;
mod method;
mod packed;
mod pages;
mod parameters;
mod pattern;
mod pattern_search;
mod pattern_width;
mod postings;
mod probe;
mod query;
mod quick;
mod rank;
pub mod semantic;
mod spelling;
mod text;
mod vocabulary;
mod wanted;

pub use analysis::Reading;
pub use document::{Document, Parameter};
pub use entry::{NamedText, ReadEntry, raw_members, read_entry};
pub use highlight::{Highlighter, highlights};
pub use hit::{Hit, Matched};
pub use index::{Change, Index};
pub use learnt::Learnt;
pub use method::{Method, UnknownMethod};
pub use parameters::{ParameterField, Parameters};
pub use pattern::{Pattern, PatternError, Texts};
pub use pattern_search::{PatternQuery, PatternSearch, Progress};
pub use query::{Extras, Meaning, Query, search, search_with};
