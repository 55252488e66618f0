//! The registry: sources of definitions are compiled into an immutable snapshot behind an atomic pointer. It knows
//! neither transports nor what a kind does with a call.

mod audit;
mod changes;
mod compile;
mod compile_drafts;
mod entry;
mod feed;
mod header_params;
mod history;
mod item;
mod key;
mod lazy_executor;
mod lint;
mod listing;
mod mail;
mod merge;
mod offered;
mod offered_tool;
mod plan;
mod publish;
mod registration;
mod registry;
mod reload;
mod retention;
mod rollback;
mod schema_lint;
mod shelf;
mod snapshot;
mod source;
mod stored_form;
mod sync;
mod tool;
mod tracked;
mod upstreams;
mod uri_template;
mod usage;
mod validator;
mod write;
mod write_error;

pub use audit::{AuditReport, Noted, Stray};
pub use compile::{Compiler, Wrap};
pub use entry::{Entry, SourceId};
pub use feed::{Feed, Lists};
pub use header_params::HeaderParam;
pub use history::Comparison;
pub use item::Item;
pub use listing::{Era, List, Page};
pub use offered::{Prompt, Resource};
pub use plan::{Applied, Covers, Desired, Plan, PlanMode, Step, StepKind};
pub use registration::Registration;
pub use registry::{Registry, RegistryLimits};
pub use rollback::{RollbackOutcome, RolledBack};
pub use snapshot::{Snapshot, SourceStatus, UpstreamStatus};
pub use source::{
    FileFault, FileSource, FixedSource, Loaded, Places, ReadDocument, Source, SourceError, StoreSource,
    read_documents, registry_tools_definition,
};
pub use stored_form::{document_of, stored_form};
pub use sync::{Refusal, SyncPlan};
pub use tool::Tool;
pub use write::{BatchMode, Done, Registered, Which, Written};
pub use write_error::{Conflict, WriteError};
