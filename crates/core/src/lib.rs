//! The words every other crate speaks: definitions and what is wrong with them, calls and how they end,
//! and the traits behind which kinds and stores stand. No input or output happens here.

mod block;
mod budget;
mod caller;
mod change_origin;
mod clock;
mod definition;
mod difference;
mod embedder;
mod error;
mod executor;
mod finding;
mod json;
mod kind;
mod memory_account;
mod name;
mod name_pattern;
mod plain;
mod principal;
mod problem;
mod published;
mod quick_map;
mod rights;
mod schema;
mod secret;
mod self_wakes;
mod span;
mod stepped;
mod store;
mod upstream;
mod user_grants;
mod variable;

pub use block::{Block, write_base64, write_text_block};
pub use budget::{Budget, Exhausted};
pub use caller::{
    Caller, ForeignPage, HOP_HEADER, InputRequired, Kept, LogLevel, Mute, Progress, Question, Questions,
    Refusal, Resumed, Unanswered, chain_to, missing_capability,
};
pub use change_origin::{Way, author_name};
pub use clock::{moment_of, rfc3339};
pub use definition::{
    Annotations, ApiKeyPlace, Approval, Auth, Definition, DefinitionForm, Document, OAuth2, OAuthUser,
    Policy, RegisteredBy, ResponseMapping, TokenExchange,
};
pub use difference::{Difference, differences};
pub use embedder::{EmbedError, Embedder, Embedding, Reach};
pub use error::{CallError, ErrorCode, RpcError};
pub use executor::{
    Call, Completing, Completion, Executor, Outcome, Payload, Preview, ToolResult, Tools, ValueOrigin,
};
pub use finding::USUAL_HITS;
pub use json::{
    Json, NotJson, Outline, Part, Root, Sort, TooManyValues, repeated_key, tree_size, write_json_string,
};
pub use kind::{AnyKind, ArgumentUse, Compiled, Kind, METADATA, Made, Need, Permission};
pub use memory_account::{Account, Full, Held, Share, Standings};
pub use name::{InvalidName, ToolName};
pub use name_pattern::NamePattern;
pub use plain::PlainAnswer;
pub use principal::{Ending, Identity, NeededRole, Principal, Role, Ruling, ToolReach, WrongTenant};
pub use problem::{
    Problem, Problems, Severity, Spot, closest, did_you_mean, did_you_mean_written, shortened,
};
pub use published::{publish_revision, published_revision};
pub use quick_map::{AddressHasher, AddressMap, DigestHasher, DigestMap};
pub use rights::{Denial, SaidHints, ToolRights, ToolTraits};
pub use schema::{Effort, Misfit, Overrun, SchemaCompiler, Unchecked, Validator, Violation};
pub use secret::{Binding, CallerToken, HostPattern, MASK, Secret, Secrets, WrongHost};
pub use self_wakes::SelfWakes;
pub use span::{WrongSpan, span_of};
pub use stepped::{Stepped, Unknown, Unusable};
pub use store::{
    AUDIT_START, Action, AuditBroken, AuditCheck, AuditEntry, AuditHead, AuditStore, Author, Change, Changes,
    DefinitionStore, Expected, Forget, HistoryQuery, HistoryStore, LearntLimits, LearntQuery, MailLimits,
    News, NewsKind, OverTls, PastQuery, PeerAddress, QueryPage, Record, RecordAudit, RecordLimits,
    RecordListener, RecordStore, RecordWrite, RecordWritten, ReplicaStore, Retention, Revision, Row,
    Standing, Store, StoreError, ToolKey, ToolQueries, Usage, UseStore, Uses, Version, VersionKind,
    audit_changes, hexadecimal,
};
pub use upstream::{
    ArgumentCheck, Changed, ListEntry, Notice, Offer, Offered, OfferedTool, TaskRequest, TaskSupport,
    Upstream, UpstreamState,
};
pub use user_grants::{GrantId, GrantServer, GrantView, Invitation, NoToken, OnConnected, UserGrants};

pub use variable::Variables;

/// Re-exported so that implementors of the traits here agree on one version.
pub use async_trait::async_trait;
