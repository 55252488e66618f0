//! How much of its tools an endpoint lists: by its mode, by how many there are, and by what they say of themselves.

use std::sync::Arc;

use super::endpoint::{Endpoint, ListingMode};
use super::tally::Tally;
use super::tools::Tool;

/// How many tools an endpoint has, and how many of them it lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Tools that may be called.
    pub total: usize,
    /// Those of them that are listed.
    pub listed: usize,
    /// Tools that are only described: found, never listed, and not counted otherwise.
    pub described: usize,
    /// How the endpoint lists its tools.
    pub mode: ListingMode,
    /// What that comes to now: `full` or `search`.
    pub effective: ListingMode,
}

impl Listing {
    /// How many may be called without being listed.
    pub const fn hidden(&self) -> usize {
        self.total.saturating_sub(self.listed)
    }
}

/// Which tools are listed beside the pinned ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// All.
    All,
    /// Those that do not say `deferLoading: true`.
    NotDeferred,
    /// Those that say `deferLoading: false`.
    Eager,
}

/// What an endpoint lists, worked out when first asked for.
pub(crate) struct Shown {
    pub(crate) listing: Listing,
    rule: Rule,
    /// Whether any tool is listed that is not pinned.
    pub(crate) beyond_pinned: bool,
}

impl Shown {
    /// What an endpoint lists that has so many tools, and these always.
    pub(crate) fn new(endpoint: &Endpoint, tally: &Tally, pinned: &[&Arc<Tool>]) -> Self {
        let total = tally.tools.saturating_sub(tally.described);
        let not_deferred = total.saturating_sub(tally.deferred)
            + pinned.iter().filter(|tool| tool.defer_loading == Some(true)).count();
        let eager = tally.eager + pinned.iter().filter(|tool| tool.defer_loading != Some(false)).count();
        let (rule, listed) = match endpoint.mode {
            ListingMode::Full => (Rule::All, total),
            ListingMode::Auto if not_deferred <= endpoint.threshold => (Rule::NotDeferred, not_deferred),
            ListingMode::Search | ListingMode::Auto => (Rule::Eager, eager),
        };
        let effective = match rule {
            Rule::All | Rule::NotDeferred => ListingMode::Full,
            Rule::Eager => ListingMode::Search,
        };
        let (described, mode) = (tally.described, endpoint.mode);
        let listing = Listing { total, listed, described, mode, effective };
        Self { listing, rule, beyond_pinned: rule != Rule::Eager || tally.eager > 0 }
    }

    /// Whether that tool, which the endpoint has, is listed.
    pub(crate) fn lists(&self, tool: &Tool, endpoint: &Endpoint) -> bool {
        let by_rule = match self.rule {
            Rule::All => true,
            Rule::NotDeferred => tool.defer_loading != Some(true),
            Rule::Eager => tool.defer_loading == Some(false),
        };
        tool.is_callable() && (by_rule || endpoint.pinned.has(tool.name.as_str()))
    }
}
