//! The registry: sources of definitions are compiled into an immutable snapshot behind an atomic pointer. It knows
//! neither transports nor what a kind does with a call.
//!
//! Each concern has a folder, and in its `mod.rs` a struct with the state it needs; a [`Registry`] holds one of each. Folders
//! see only those below them:
//!
//! ```text
//!  registry.rs, builder.rs              the parts put together
//!    │
//!    ├── change/    Changes             registering, history, plans, audit ──┐
//!    ├── find/      Finder ──┐          search, and which tool a call means  │
//!    ├── figures/ ───────────┤                                               │
//!    ├── usage/     Usage ◀──┘ ──┐      counts and lessons in the store      │
//!    ├── intake/    Intake ──────┤ ◀─── sources read, compiled, published ◀──┘
//!    └── store/     Replicas     │      opened late, taking writes or not
//!                                ▼
//!        catalog/   Catalog             snapshots, lists, tools and their calls
//!                                ▼
//!        calls/                         what calls leave behind at tools
//!        approvals/  ApprovalDesk       calls that a person must approve of
//! ```
//!
//! `change/` and `usage/` also note in `store/` how their writes went. `entry_key.rs`, `source_id.rs`, `gauges.rs` and `join.rs`
//! see no folder.

mod approvals;
mod builder;
mod calls;
mod catalog;
mod change;
mod entry_key;
mod figures;
mod find;
mod gauges;
mod intake;
mod registry;
mod source_id;
mod store;
mod usage;

pub use approvals::{ApprovalDesk, ApprovalRecord, ApprovalState, ApprovalView, Decision};
pub use builder::RegistryBuilder;
pub use catalog::{
    CALL_TOOL, Catalog, Category, Choice, DISCOVERY, DISCOVERY_TOOLS, Described, Discovery, Endpoint,
    Endpoints, Entry, Feed, Hearing, Item, List, Listing, ListingMode, Lists, Names, Page, Prompt, Resource,
    Serving, Snapshot, SourceStatus, Tally, Tool, Updated, UpstreamStatus, Viewer, header_params_of,
    is_discovery_tool,
};
pub use change::{
    Applied, AuditReport, BatchMode, Changes, Comparison, Conflict, Contradiction, Covers, Desired, Done,
    HistoryFault, Noted, Plan, PlanMode, Refusal, Registered, RollbackOutcome, RolledBack, Step, StepKind,
    Stray, SyncPlan, Which, WriteError, Written, document_of, stored_form,
};
pub use figures::{ClientFormat, ContextCost, FormatCost, MostUsed, Statistics};
pub use find::{
    Among, Finder, Highlights, Hit, MOST_HITS, MOST_PATTERN_CHARACTERS, MOST_QUERY_CHARACTERS, Matched,
    Named, Only, Resolved, SearchAnswer, SearchError, SearchMethod, SearchRequest, UnknownMethod, Unresolved,
};
pub use intake::{
    Compiler, DefinitionFiles, Draft, FileFault, FileSource, FixedSource, FoundScript, Intake, LoadProgress,
    Loaded, OnBroken, OnProgress, Places, ReadDocument, ReadFile, ReadScript, Registration, RegistryLimits,
    ScriptFault, ScriptReader, Source, SourceError, StoreSource, Wrap, is_script, read_at_most, read_bounded,
    read_documents, read_scripts, read_yaml, registry_tools_definition,
};
pub use registry::Registry;
pub use source_id::SourceId;
pub use store::{LateStore, OpenStore, OpeningStore, Replicas, WriteFailure};
pub use toolrail_protocol::{Era, HeaderParam};
pub use usage::{Learning, Temperature, ToolUse, Usage};
