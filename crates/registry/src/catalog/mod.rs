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
mod lazy_index;
mod listed;
pub(crate) mod listing;
mod notices;
mod offered;
mod overlaid;
mod resources;
mod search_document;
mod shelf;
mod shown;
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
pub(crate) use lazy_index::{LazyIndex, ToolIndex};
pub(crate) use listing::PageLimits;
pub use listing::{List, Page};
pub use notices::Hearing;
pub use offered::{Prompt, Resource};
pub(crate) use search_document::meaning_of;
pub(crate) use shelf::{Listed, Made, Shelf, Shelves};
pub use shown::Listing;
pub(crate) use snapshot::Published;
pub use snapshot::Snapshot;
pub(crate) use space::Spaces;
pub use status::{SourceStatus, UpstreamStatus};
pub(crate) use tally::STATES;
pub use tally::Tally;
pub(crate) use tools::{
    Arguments, LazyExecutor, LazyValidator, MakeExecutor, Running, ToolExecutor, defaults_of, header_params,
};
pub use tools::{Described, Tool, header_params_of};
pub use views::Viewer;

use std::sync::Arc;

use arc_swap::ArcSwap;

/// The tools, prompts and resources there are, always as one consistent snapshot.
pub struct Catalog {
    current: ArcSwap<Snapshot>,
    endpoints: Endpoints,
    /// What the gateway has by itself.
    built_ins: Arc<BuiltIns>,
    feed: Arc<Feed>,
}

impl Catalog {
    /// Nothing but what is built in, until something is published.
    pub(crate) fn new(endpoints: Endpoints, built_ins: BuiltIns) -> Self {
        let (built_ins, feed) = (Arc::new(built_ins), Arc::default());
        let discovery = endpoints.main().discovery;
        let nothing = Published { built_ins: Arc::clone(&built_ins), discovery, ..Published::default() };
        let current = ArcSwap::from_pointee(Snapshot::shared(Arc::new(nothing)));
        Self { current, endpoints, built_ins, feed }
    }

    /// What is there now for somebody without a tenant.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// What somebody sees: the definitions of his tenant, and the shared ones whose names it does not use; of both what is
    /// within his reach.
    pub fn seen_by<'v>(&self, viewer: impl Into<Viewer<'v>>) -> Arc<Snapshot> {
        let snapshot = self.snapshot();
        snapshot.seen_by(viewer.into()).unwrap_or(snapshot)
    }

    /// What somebody sees at that endpoint.
    pub fn seen_at<'v>(&self, viewer: impl Into<Viewer<'v>>, endpoint: &Arc<Endpoint>) -> Arc<Snapshot> {
        self.current.load().at(viewer.into(), endpoint)
    }

    /// The endpoints there are.
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// Where changes are told.
    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// What is to be published becomes a snapshot, with what is built in.
    pub(crate) fn snapshot_of(&self, mut published: Published) -> Arc<Snapshot> {
        published.built_ins = Arc::clone(&self.built_ins);
        published.discovery = self.endpoints.main().discovery;
        Arc::new(Snapshot::shared(Arc::new(published)))
    }

    /// Everybody sees that snapshot from now on.
    pub(crate) fn swap(&self, snapshot: Arc<Snapshot>) {
        self.current.store(snapshot);
    }
}
