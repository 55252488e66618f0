//! The registry: sources of definitions are compiled into an immutable snapshot behind an atomic pointer. It knows
//! neither transports nor what a kind does with a call.

mod changes;
mod compile;
mod compile_drafts;
mod entry;
mod feed;
mod header_params;
mod item;
mod key;
mod lazy_executor;
mod lint;
mod listing;
mod mail;
mod merge;
mod offered;
mod offered_tool;
mod publish;
mod registry;
mod reload;
mod schema_lint;
mod shelf;
mod snapshot;
mod source;
mod tool;
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
pub use listing::{Era, List, Page};
pub use offered::{Prompt, Resource};
pub use registry::{Registry, RegistryLimits};
pub use snapshot::{Snapshot, SourceStatus, UpstreamStatus};
pub use source::{
    FileSource, FixedSource, Loaded, ReadDocument, Source, SourceError, StoreSource, read_documents,
};
pub use tool::Tool;
pub use write::{BatchMode, Registered, Registration, WriteError, Written};
