//! Finding tools by what somebody wants to do, in English and Chinese. Pure: texts in, ranked hits out; no input or output,
//! no knowledge of registries, tenants or protocols.
//!
//! ```text
//!  ranking/     which documents answer best          pattern/   search by a regular expression (pattern_outline.rs: where it cannot be)
//!  query/       what a query asks for                semantic/  closeness by meaning
//!  index/       terms and where they occur
//!  document/    a tool's texts into terms
//!  lexicon/     what is known of words               containers/  shared lists and tables
//! ```

mod containers;
mod document;
mod field;
mod index;
mod lexicon;
mod method;
mod parameters;
mod pattern;
mod pattern_outline;
mod query;
mod ranking;
pub mod semantic;

pub use document::analysis::Reading;
pub use document::entry::{NamedText, ReadEntry, raw_members, read_entry};
pub use document::{Document, Parameter};
pub use index::{Change, Index};
pub use method::{Method, UnknownMethod};
pub use parameters::{ParameterField, Parameters};
pub use pattern::search::{PatternQuery, PatternSearch, Progress};
pub use pattern::{Pattern, PatternError, Texts};
pub use ranking::highlight::{Highlighter, highlights};
pub use ranking::hit::{Hit, Matched};
pub use ranking::learnt::Learnt;
pub use ranking::search::{Extras, Meaning, Query, search, search_with};
