//! The registry: sources of definitions are compiled into an immutable snapshot behind an atomic pointer. It knows
//! neither transports nor what a kind does with a call.

mod audit;
mod categories;
mod changes;
mod compile;
mod compile_drafts;
mod contradictions;
mod described;
mod endpoint;
mod entry;
mod entry_key;
mod feed;
mod follow;
mod gathered;
mod gauges;
mod header_params;
mod history;
mod item;
mod join;
mod key;
mod last_good;
mod late_store;
mod layer;
mod lazy_executor;
mod learning;
mod learning_memory;
mod lint;
mod listing;
mod mail;
mod merge;
mod offered;
mod offered_tool;
mod overlaid;
mod overlay;
mod plan;
mod publish;
mod refresh;
mod registration;
mod registry;
mod reload;
mod retention;
mod rollback;
mod schema_lint;
mod search;
mod search_document;
mod search_parameters;
mod shelf;
mod snapshot;
mod source;
mod space;
mod statistics;
mod status;
mod stored_form;
mod sync;
mod tally;
mod temperature;
mod tool;
mod tool_pages;
mod tracked;
mod upstreams;
mod uri_template;
mod usage;
mod use_board;
mod validator;
mod withdrawn;
mod write;
mod write_error;

pub use audit::{AuditReport, Noted, Stray};
pub use categories::Category;
pub use compile::{Compiler, Wrap};
pub use contradictions::{Contradiction, HistoryFault};
pub use described::Described;
pub use endpoint::{Choice, Endpoint, ListingMode};
pub use entry::{Entry, SourceId};
pub use feed::{Feed, Lists};
pub use header_params::HeaderParam;
pub use history::Comparison;
pub use item::Item;
pub use late_store::{LateStore, OpenStore, OpeningStore};
pub use learning::Learning;
pub use listing::{Era, List, Page};
pub use offered::{Prompt, Resource};
pub use plan::{Applied, Covers, Desired, Plan, PlanMode, Step, StepKind};
pub use refresh::{LoadProgress, OnProgress};
pub use registration::Registration;
pub use registry::{Registry, RegistryLimits};
pub use rollback::{RollbackOutcome, RolledBack};
pub use search::{
    Among, Hit, MOST_HITS, MOST_QUERY_CHARACTERS, Matched, SearchAnswer, SearchError, SearchMethod,
    SearchRequest, UnknownMethod,
};
pub use snapshot::Snapshot;
pub use source::{
    DefinitionFiles, Draft, FileFault, FileSource, FixedSource, Loaded, Places, ReadDocument, Source,
    SourceError, StoreSource, read_at_most, read_bounded, read_documents, read_yaml,
    registry_tools_definition,
};
pub use statistics::{MostUsed, Statistics};
pub use status::{SourceStatus, UpstreamStatus};
pub use stored_form::{document_of, stored_form};
pub use sync::{Refusal, SyncPlan};
pub use tally::Tally;
pub use temperature::{Temperature, ToolUse};
pub use tool::Tool;
pub use write::{BatchMode, Done, Registered, Which, Written};
pub use write_error::{Conflict, WriteError};
