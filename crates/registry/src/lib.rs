//! The registry: sources of definitions are compiled into an immutable snapshot behind an atomic pointer. It knows
//! neither transports nor what a kind does with a call.

mod calls;
mod catalog;
mod change;
mod entry_key;
mod figures;
mod find;
mod gauges;
mod intake;
mod join;
mod registry;
mod source_id;
mod store;
mod usage;

pub use catalog::{
    CALL_TOOL, Category, Choice, DISCOVERY, DISCOVERY_TOOLS, Described, Discovery, Endpoint, Endpoints,
    Entry, Era, Feed, HeaderParam, Item, List, Listing, ListingMode, Lists, Names, Page, Prompt, Resource,
    Serving, Snapshot, SourceStatus, Tally, Tool, Updated, UpstreamStatus, is_discovery_tool,
};
pub use change::{
    Applied, AuditReport, BatchMode, Comparison, Conflict, Contradiction, Covers, Desired, Done,
    HistoryFault, Noted, Plan, PlanMode, Refusal, Registered, RollbackOutcome, RolledBack, Step, StepKind,
    Stray, SyncPlan, Which, WriteError, Written, document_of, stored_form,
};
pub use figures::{ClientFormat, ContextCost, FormatCost, MostUsed, Statistics};
pub use find::{
    Among, Highlights, Hit, MOST_HITS, MOST_PATTERN_CHARACTERS, MOST_QUERY_CHARACTERS, Matched, Named, Only,
    Resolved, SearchAnswer, SearchError, SearchMethod, SearchRequest, UnknownMethod, Unresolved,
};
pub use intake::{
    Compiler, DefinitionFiles, Draft, FileFault, FileSource, FixedSource, LoadProgress, Loaded, OnBroken,
    OnProgress, Places, ReadDocument, Registration, Source, SourceError, StoreSource, Wrap, read_at_most,
    read_bounded, read_documents, read_yaml, registry_tools_definition,
};
pub use registry::{Registry, RegistryLimits};
pub use source_id::SourceId;
pub use store::{LateStore, OpenStore, OpeningStore, WriteFailure};
pub use usage::{Learning, Temperature, ToolUse};
