//! How definitions come in: sources are read (`source/`, `refresh.rs`), compiled (`compile.rs`), laid over one another
//! (`layer.rs`, `merge.rs`, `overlay.rs`) with what upstreams offer (`upstreams.rs`), and published (`publish.rs`).
//!
//! A source that cannot be read keeps what it gave: `last_good.rs` has that across restarts, `good_version.rs` does the same
//! for one row.

mod built_in;
mod changes;
mod compile;
mod compile_drafts;
mod follow;
mod gathered;
mod good_version;
mod last_good;
mod last_good_journal;
mod layer;
mod lint;
mod merge;
mod offered_tool;
mod overlay;
pub(crate) mod publish;
mod refresh;
mod registration;
mod reload;
mod schema_lint;
mod source;
mod tracked;
mod upstreams;
mod withdrawn;

pub(crate) use built_in::built_ins;
pub use compile::{Compiler, Wrap};
pub(crate) use compile_drafts::with_name;
pub use good_version::OnBroken;
pub(crate) use last_good::LastGood;
pub(crate) use layer::Layer;
pub(crate) use merge::State;
pub(crate) use publish::OffersBell;
pub use refresh::{LoadProgress, OnProgress};
pub use registration::Registration;
pub(crate) use registration::error_at;
pub use source::{
    DefinitionFiles, Draft, FileFault, FileSource, FixedSource, Loaded, Places, ReadDocument, Source,
    SourceError, StoreSource, read_at_most, read_bounded, read_documents, read_yaml,
    registry_tools_definition,
};
pub(crate) use tracked::Tracked;
pub(crate) use upstreams::{Offerer, Upstreams};
