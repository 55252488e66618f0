//! Tools written in Rust, inside the gateway. Annotate a function with [`tool`], or the methods of a value with [`tools`];
//! a binary that calls `toolrail::run()` then serves them beside everything else. `docs/native-tools.md` is the guide.
//!
//! ```
//! use toolrail_tool::{Context, tool};
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! async fn add(
//!     /// The first number.
//!     a: i64,
//!     /// The second number, 1 if it is left out.
//!     #[arg(default = 1)]
//!     b: i64,
//!     ctx: &Context,
//! ) -> i64 {
//!     ctx.info("adding").progress(1.0, 1.0);
//!     a + b
//! }
//! ```
//!
//! Prompts and resources are built with [`Prompt`], [`Resource`] and [`ResourceTemplate`] and added to an [`Offering`].

mod ask;
mod content;
mod context;
mod error;
mod memory;
mod message;
mod nested;
mod offering;
mod output;
mod prompt;
mod resource;
mod result;
mod schema;
mod tool;

pub use ask::{Action, Answers, Elicited, QuestionSet, Root, Sampled};
pub use content::{Content, ResourceContents};
pub use context::{Cancellation, Context};
pub use error::ToolError;
pub use message::{IntoPromptResult, Message, PromptOutput, Role};
pub use offering::{Item, Offering, Refused, ToolSet, native, register};
pub use output::ToolOutput;
pub use prompt::Prompt;
pub use resource::{IntoContents, Resource, ResourceTemplate};
pub use result::{IntoToolResult, Json};
pub use tool::Tool;

pub use futures_util::future::BoxFuture;
pub use toolrail_core::{LogLevel, TaskSupport, Tools, Upstream};
pub use toolrail_tool_macros::{tool, tools};

/// For structs of arguments and results: `#[derive(Deserialize, JsonSchema)]` with
/// `#[serde(crate = "toolrail_tool::serde")] #[schemars(crate = "toolrail_tool::schemars")]`, or with your own copies of both.
pub use {schemars, serde, serde_json};

/// What the macros expand to; not for people.
#[doc(hidden)]
pub mod __private {
    pub use crate::offering::Annotated;
    pub use {inventory, schemars, serde};
}

/// The guide compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/native-tools.md")]
struct Guide;

/// What cannot be a tool does not compile. This compiles, and each of the others differs from it in one thing; what the
/// compiler says is tested in `toolrail-tool-macros`.
///
/// ```
/// /// Adds one.
/// #[toolrail_tool::tool(name = "add.one")]
/// async fn add_one(number: i64) -> i64 {
///     number + 1
/// }
/// ```
///
/// A name that clients cannot carry:
///
/// ```compile_fail
/// /// Adds one.
/// #[toolrail_tool::tool(name = "add one")]
/// async fn add_one(number: i64) -> i64 {
///     number + 1
/// }
/// ```
///
/// An option that does not exist:
///
/// ```compile_fail
/// /// Adds one.
/// #[toolrail_tool::tool(names = "add.one")]
/// async fn add_one(number: i64) -> i64 {
///     number + 1
/// }
/// ```
///
/// An argument that cannot be read from JSON:
///
/// ```compile_fail
/// /// Adds one.
/// #[toolrail_tool::tool(name = "add.one")]
/// async fn add_one(number: std::thread::JoinHandle<i64>) -> i64 {
///     number.join().unwrap_or_default() + 1
/// }
/// ```
///
/// A result that a client cannot be given:
///
/// ```compile_fail
/// /// Adds one.
/// #[toolrail_tool::tool(name = "add.one")]
/// async fn add_one(number: i64) -> std::thread::JoinHandle<i64> {
///     std::thread::spawn(move || number + 1)
/// }
/// ```
///
/// A type parameter:
///
/// ```compile_fail
/// /// Adds one.
/// #[toolrail_tool::tool(name = "add.one")]
/// async fn add_one<T: Into<i64>>(number: T) -> i64 {
///     number.into() + 1
/// }
/// ```
#[cfg(doctest)]
struct Refusals;
