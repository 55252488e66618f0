//! What there is: entries in their spaces, one immutable snapshot of them, and how it is listed.
//!
//! `snapshot.rs` is what a request sees; `entry.rs` and `item.rs` say what a definition has become, `space.rs` keeps those of
//! one tenant, `listed.rs` and `shelf.rs` make the pages of lists. A tool and the life of one call through it are in `tools/`.

mod built_in;
mod categories;
mod choice;
mod endpoint;
mod entry;
mod feed;
mod item;
mod listed;
pub(crate) mod listing;
mod offered;
mod overlaid;
mod resources;
mod search_document;
mod shelf;
mod snapshot;
mod space;
mod status;
mod tally;
mod tool_pages;
mod tools;
mod uri_template;
mod views;

pub(crate) use built_in::BuiltIns;
pub use built_in::{CALL_TOOL, DISCOVERY, DISCOVERY_TOOLS, is_discovery_tool};
pub use categories::Category;
pub use choice::{Choice, Names};
pub use endpoint::{Discovery, Endpoint, Endpoints, ListingMode};
pub(crate) use entry::says_disabled;
pub use entry::{Entry, Serving};
pub use feed::{Feed, Lists, Updated};
pub use item::Item;
pub use listed::Listing;
pub(crate) use listed::is_callable;
pub(crate) use listing::PageLimits;
pub use listing::{Era, List, Page};
pub use offered::{Prompt, Resource};
pub(crate) use search_document::meaning_of;
pub(crate) use shelf::{Listed, Made, Shelf, Shelves};
pub(crate) use snapshot::Published;
pub use snapshot::Snapshot;
pub(crate) use space::Spaces;
pub use status::{SourceStatus, UpstreamStatus};
pub(crate) use tally::STATES;
pub use tally::Tally;
pub(crate) use tools::{
    Arguments, LazyExecutor, LazyValidator, MakeExecutor, Running, ToolExecutor, defaults_of, header_params,
};
pub use tools::{Described, HeaderParam, Tool};
