//! What one endpoint serves, and how it lists it: all tools, or a chosen group of them; in full, or behind the search.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::choice::{Choice, Names};

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
    pub pinned: Names,
    /// Which discovery tools are there.
    pub discovery: Discovery,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self {
            group: None,
            description: None,
            choice: None,
            mode: ListingMode::Full,
            threshold: DEFAULT_THRESHOLD,
            pinned: Names::default(),
            discovery: Discovery::On,
        }
    }
}

/// Which of the discovery tools an endpoint has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discovery {
    /// None.
    Off,
    /// Those that find and call tools, but neither register nor remove any. More is for an operator to say: whoever reaches
    /// an endpoint, and every text that a model reads there, could register tools otherwise.
    #[default]
    ReadOnly,
    /// All of them.
    On,
}

impl Discovery {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::On, Self::ReadOnly, Self::Off];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "false",
            Self::ReadOnly => "read-only",
            Self::On => "true",
        }
    }

    /// Which that word means; yes and no may be said in several ways.
    pub fn parse(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" | "y" | "t" | "1" => Some(Self::On),
            "false" | "off" | "no" | "n" | "f" | "0" => Some(Self::Off),
            "read-only" | "readonly" => Some(Self::ReadOnly),
            _ => None,
        }
    }

    /// As much of it as those see who may change nothing.
    pub(crate) const fn without_changes(self) -> Self {
        match self {
            Self::Off => Self::Off,
            Self::ReadOnly | Self::On => Self::ReadOnly,
        }
    }

    /// Whether tools can be found.
    pub const fn finds(self) -> bool {
        matches!(self, Self::ReadOnly | Self::On)
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

impl ListingMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Full, Self::Search, Self::Auto];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Search => "search",
            Self::Auto => "auto",
        }
    }

    /// The mode of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// Every endpoint of a gateway: `/mcp`, and one for each group.
#[derive(Clone, Debug, Default)]
pub struct Endpoints {
    main: Arc<Endpoint>,
    groups: BTreeMap<Arc<str>, Arc<Endpoint>>,
}

impl Endpoints {
    /// The endpoint at `/mcp`, and those of groups under the names they have.
    pub fn new(main: Endpoint, groups: impl IntoIterator<Item = Endpoint>) -> Self {
        let named = |group: Endpoint| Some((Arc::clone(group.group.as_ref()?), Arc::new(group)));
        Self { main: Arc::new(main), groups: groups.into_iter().filter_map(named).collect() }
    }

    /// The one at `/mcp`.
    pub fn main(&self) -> &Arc<Endpoint> {
        &self.main
    }

    /// That of a group, if there is one of that name; without a name the one at `/mcp`.
    pub fn of(&self, group: Option<&str>) -> Option<&Arc<Endpoint>> {
        match group {
            None => Some(&self.main),
            Some(name) => self.groups.get(name),
        }
    }

    /// Whether any of them has the discovery tools.
    pub fn any_discovery(&self) -> bool {
        self.main.discovery.finds() || self.groups.values().any(|group| group.discovery.finds())
    }

    /// Whether tools can be registered at any of them.
    pub fn any_registration(&self) -> bool {
        let mut all = std::iter::once(&self.main).chain(self.groups.values());
        all.any(|endpoint| endpoint.discovery == Discovery::On)
    }

    /// Those of the groups, in order of their names.
    pub fn groups(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.groups.values()
    }

    /// The names of the groups, in order.
    pub fn group_names(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(|name| &**name)
    }
}
