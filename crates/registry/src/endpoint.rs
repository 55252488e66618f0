//! What one endpoint serves, and how it lists it: all tools, or a chosen group of them; in full, or behind the search.

use std::sync::Arc;

/// How many tools `auto` lists before it turns to the search.
const DEFAULT_THRESHOLD: usize = 100;

/// One endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The name of its group, as in `/mcp/{group}`; none at `/mcp` itself.
    pub group: Option<Arc<str>>,
    /// What the group is for.
    pub description: Option<String>,
    /// Which tools it serves; all if nothing is chosen.
    pub choice: Option<Choice>,
    /// How it lists them.
    pub mode: ListingMode,
    /// With [`ListingMode::Auto`]: the most tools that are listed in full.
    pub threshold: usize,
    /// The names of tools that are always listed.
    pub pinned: Vec<String>,
    /// Whether the discovery tools are there.
    pub discovery: bool,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self {
            group: None,
            description: None,
            choice: None,
            mode: ListingMode::Full,
            threshold: DEFAULT_THRESHOLD,
            pinned: Vec::new(),
            discovery: true,
        }
    }
}

/// How an endpoint lists its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListingMode {
    /// All of them.
    #[default]
    Full,
    /// Only those that are pinned or say `deferLoading: false`; the others are found and called by name.
    Search,
    /// In full up to a threshold, but for those that say `deferLoading: true`; above it like [`ListingMode::Search`].
    Auto,
}

/// Which tools a group has: those that fit any of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Names, in any case.
    pub names: Vec<String>,
    /// Tags, in any case.
    pub tags: Vec<String>,
    /// Categories, in any case.
    pub categories: Vec<String>,
    /// Patterns of names with `*` and `?`.
    pub patterns: Vec<String>,
}
