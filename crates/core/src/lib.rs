//! The words every other crate speaks: definitions and what is wrong with them, calls and how they end,
//! and the traits behind which kinds and stores stand. No input or output happens here.

mod definition;
mod error;
mod executor;
mod json;
mod kind;
mod name;
mod problem;
mod schema;
mod secret;
mod store;

pub use definition::{
    Annotations, ApiKeyPlace, Auth, Definition, DefinitionForm, Document, Policy, ResponseMapping,
};
pub use error::{CallError, ErrorCode};
pub use executor::{Block, Call, Executor, Outcome, Payload, Preview, Principal, ToolResult, ValueOrigin};
pub use json::{Json, NotJson, Root, write_json_string};
pub use kind::{AnyKind, ArgumentUse, Compiled, Kind};
pub use name::{InvalidName, ToolName};
pub use problem::{Problem, Problems, Severity, closest};
pub use schema::{SchemaCompiler, Validator, Violation};
pub use secret::{MASK, Secret, Secrets};
pub use store::{Change, Changes, Revision, Row, Store, StoreError, Usage};

/// Re-exported so that implementors of the traits here agree on one version.
pub use async_trait::async_trait;
