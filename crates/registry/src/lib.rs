//! The registry: sources of definitions are compiled into an immutable snapshot behind an atomic pointer. It knows
//! neither transports nor what a kind does with a call.

mod changes;
mod compile;
mod compile_drafts;
mod entry;
mod entry_key;
mod feed;
mod follow;
mod gathered;
mod gauges;
mod header_params;
mod item;
mod join;
mod key;
mod last_good;
mod late_store;
mod layer;
mod lazy_executor;
mod lint;
mod listing;
mod mail;
mod merge;
mod offered;
mod offered_tool;
mod overlaid;
mod overlay;
mod publish;
mod refresh;
mod registry;
mod schema_lint;
mod shelf;
mod snapshot;
mod source;
mod space;
mod status;
mod tally;
mod tool;
mod tool_pages;
mod tracked;
mod upstreams;
mod uri_template;
mod usage;
mod validator;
mod write;

pub use compile::{Compiler, Wrap};
pub use entry::{Entry, SourceId};
pub use feed::{Feed, Lists};
pub use header_params::HeaderParam;
pub use item::Item;
pub use late_store::{LateStore, OpenStore, OpeningStore};
pub use listing::{Era, List, Page};
pub use offered::{Prompt, Resource};
pub use refresh::{LoadProgress, OnProgress};
pub use registry::{Registry, RegistryLimits};
pub use snapshot::Snapshot;
pub use source::{
    Draft, FileSource, FixedSource, Loaded, ReadDocument, Source, SourceError, StoreSource, read_documents,
};
pub use status::{SourceStatus, UpstreamStatus};
pub use tally::Tally;
pub use tool::Tool;
pub use write::{BatchMode, Registered, Registration, WriteError, Written};
