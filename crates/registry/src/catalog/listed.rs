//! What an endpoint lists of the tools that it has: everything, or so much that a model can read it and find the rest by
//! searching. Nothing here keeps a tool from being called.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;
use toolrail_protocol::Era;

use bytes::Bytes;

use super::built_in::{CALL_TOOL, REGISTER_TOOL};
use super::endpoint::{Endpoint, ListingMode};
use super::listing::{Cut, List, Page};
use super::shelf::Listed;
use super::shown::{Listing, Shown};
use super::snapshot::{Snapshot, live_tool};
use super::tools::Tool;

/// What the cursor of a built-in tool begins with: no name has it.
const BUILT_IN: char = '\n';

impl Snapshot {
    /// How many tools there are and how many are listed. Where this is the view of no endpoint, all are.
    pub fn listing(&self) -> Listing {
        match self.endpoint() {
            Some(endpoint) => self.shown(endpoint).listing,
            None => Listing {
                total: self.tool_count(),
                listed: self.tool_count(),
                described: 0,
                mode: ListingMode::Full,
                effective: ListingMode::Full,
            },
        }
    }

    /// The tools that a client of this endpoint is shown, in order; all that there are where this is the view of none.
    pub fn listed_tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.listed_from(Bound::Unbounded)
    }

    /// The first page of a list, or the one after a key; serialised when first asked for.
    pub fn page(&self, list: List, era: Era, after: Option<&str>) -> Page {
        if list != List::Tools {
            return self.listed_shelves().page(list, after, self.limits());
        }
        let differs = self.any_legacy() || self.built_ins().any(|tool| tool.legacy_entry.is_some());
        let era = if differs { era } else { Era::Modern };
        self.pages.page(era, after, || self.cut(era, after))
    }

    /// The same as long as a client of this endpoint is shown the same tools.
    pub fn tools_mark(&self) -> u64 {
        *self.tools_mark.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            let is_part = self.is_part();
            is_part.hash(&mut hasher);
            if is_part || self.listing().hidden() > 0 {
                for tool in self.listed_tools().chain(self.listed_built_ins()) {
                    tool.entry_for(Era::Modern).hash(&mut hasher);
                }
            } else {
                for space in self.spaces_seen() {
                    space.tools_changed.hash(&mut hasher);
                }
            }
            hasher.finish()
        })
    }

    /// Listed tools in order, then the built-in ones; a page may end anywhere.
    fn cut(&self, era: Era, after: Option<&str>) -> Page {
        let cut = Cut::new(self.limits());
        if let Some(name) = after.and_then(|after| after.strip_prefix(BUILT_IN)) {
            let rest = self.listed_built_ins().skip_while(|tool| tool.name.as_str() != name).skip(1);
            return cut.page(rest.map(|tool| built_in_entry(tool, era)));
        }
        let folded = after.map(Tool::folded);
        let start = folded.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let tools = self.listed_from(start).map(|tool| (Cow::Borrowed(tool.key()), tool.entry_for(era)));
        cut.page(tools.chain(self.listed_built_ins().map(|tool| built_in_entry(tool, era))))
    }

    fn listed_from<'s>(&'s self, start: Bound<&'s str>) -> Box<dyn Iterator<Item = &'s Arc<Tool>> + 's> {
        let Some(endpoint) = self.endpoint() else {
            return Box::new(self.tools_from(start));
        };
        let shown = self.shown(endpoint);
        if shown.beyond_pinned {
            return Box::new(self.tools_from(start).filter(|tool| shown.lists(tool, endpoint)));
        }
        Box::new(self.pinned(endpoint, start))
    }

    /// The tools that are always listed. A built-in one cannot be pinned: it is listed anyway.
    fn pinned<'s>(
        &'s self,
        endpoint: &'s Endpoint,
        start: Bound<&'s str>,
    ) -> impl Iterator<Item = &'s Arc<Tool>> {
        let names = endpoint.pinned.from(start);
        names.filter_map(|name| self.entry(name).and_then(live_tool)).filter(|tool| tool.is_callable())
    }

    fn listed_built_ins(&self) -> impl Iterator<Item = &Arc<Tool>> {
        let listing = self.listing();
        // Where every tool is listed, nobody needs the one that calls others; where there is none, nobody needs one to find it.
        let hides = listing.hidden() > 0;
        let any = listing.total + listing.described > 0;
        let at_endpoint = self.endpoint().into_iter().flat_map(|_| self.built_ins());
        at_endpoint.filter(move |tool| {
            let name = tool.name.as_str();
            if any { hides || name != CALL_TOOL } else { name == REGISTER_TOOL }
        })
    }

    fn shown(&self, endpoint: &Endpoint) -> &Shown {
        self.shown.get_or_init(|| {
            let pinned: Vec<_> = self.pinned(endpoint, Bound::Unbounded).collect();
            Shown::new(endpoint, &self.tool_tally(), &pinned)
        })
    }
}

fn built_in_entry(tool: &Arc<Tool>, era: Era) -> (Cow<'_, str>, &Bytes) {
    (Cow::Owned(format!("{BUILT_IN}{}", tool.name)), tool.entry_for(era))
}
