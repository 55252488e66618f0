//! The entries of one tenant, or the shared ones, in maps that share with their earlier versions whatever did not change:
//! a copy costs nothing, a change as much as the map is deep.

use std::ops::Bound;
use std::sync::Arc;

use rpds::{HashTrieMapSync, RedBlackTreeMapSync};
use toolrail_core::{Problem, ToolName};

use super::entry::Entry;
use super::item::Item;
use super::lazy_index::{ByName, LazyIndex};
use super::shelf::Shelves;
use super::tally::Tally;
use crate::entry_key::EntryKey;

/// Entries by folded name.
#[derive(Clone)]
pub(crate) struct Space {
    by_name: ByName,
    /// The names of tools by their folded aliases: those that clients cannot carry.
    aliases: HashTrieMapSync<String, Arc<str>>,
    in_order: RedBlackTreeMapSync<Arc<str>, Arc<Entry>>,
    /// Those with problems.
    troubled: RedBlackTreeMapSync<Arc<str>, Arc<Entry>>,
    pub(crate) tally: Tally,
    /// When what a client would see of its tools last changed, by the count of such changes in all spaces.
    pub(crate) tools_changed: u64,
    /// Finds the live tools; behind the entries until [`Spaces::index`] is called.
    pub(crate) index: Arc<LazyIndex>,
    /// What is listed beside the tools.
    pub(crate) shelves: Arc<Shelves>,
}

impl Default for Space {
    fn default() -> Self {
        Self {
            by_name: HashTrieMapSync::new_sync(),
            aliases: HashTrieMapSync::new_sync(),
            in_order: RedBlackTreeMapSync::new_sync(),
            troubled: RedBlackTreeMapSync::new_sync(),
            tally: Tally::default(),
            tools_changed: 0,
            index: Arc::default(),
            shelves: Arc::default(),
        }
    }
}

impl Space {
    pub(crate) fn get(&self, folded: &str) -> Option<&Arc<Entry>> {
        self.by_name.get(folded)
    }

    /// The entry of that name, or else the one whose alias it is.
    pub(crate) fn named(&self, folded: &str) -> Option<&Arc<Entry>> {
        self.get(folded).or_else(|| self.get(self.aliases.get(folded)?))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The entries from there on, in order.
    pub(crate) fn from<'s>(
        &'s self,
        start: Bound<&'s str>,
    ) -> impl Iterator<Item = (&'s Arc<str>, &'s Arc<Entry>)> {
        self.in_order.range::<str, _>((start, Bound::Unbounded))
    }

    /// What is wrong with entries, in their order.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.troubled.values().flat_map(|entry| &entry.problems)
    }

    fn set(&mut self, name: &Arc<str>, entry: Option<Arc<Entry>>) {
        if let Some(before) = self.by_name.get(name) {
            self.tally.remove(before);
            if let Some(alias) = alias_of(before) {
                self.aliases.remove_mut(&alias);
            }
            if !before.problems.is_empty() {
                self.troubled.remove_mut(name);
            }
        }
        let Some(entry) = entry else {
            self.by_name.remove_mut(name);
            self.in_order.remove_mut(name);
            return;
        };
        self.tally.add(&entry);
        if let Some(alias) = alias_of(&entry) {
            self.aliases.insert_mut(alias, Arc::clone(name));
        }
        if !entry.problems.is_empty() {
            self.troubled.insert_mut(Arc::clone(name), Arc::clone(&entry));
        }
        self.by_name.insert_mut(Arc::clone(name), Arc::clone(&entry));
        self.in_order.insert_mut(Arc::clone(name), entry);
    }
}

/// The alias of a tool whose name clients cannot carry, folded.
fn alias_of(entry: &Entry) -> Option<String> {
    entry.tool()?.name.alias().map(|alias| ToolName::fold(&alias))
}

/// The shared entries, and those of every tenant.
#[derive(Clone)]
pub(crate) struct Spaces {
    pub(crate) shared: Space,
    pub(crate) tenants: RedBlackTreeMapSync<Arc<str>, Arc<Space>>,
    /// Over all of them.
    pub(crate) total: Tally,
    /// How often a list of tools changed, whoever's.
    changes: u64,
}

impl Default for Spaces {
    fn default() -> Self {
        let tenants = RedBlackTreeMapSync::new_sync();
        Self { shared: Space::default(), tenants, total: Tally::default(), changes: 0 }
    }
}

impl Spaces {
    /// That of a tenant, or the shared one; nothing for a tenant without entries.
    pub(crate) fn of(&self, tenant: Option<&str>) -> Option<&Space> {
        match tenant {
            None => Some(&self.shared),
            Some(tenant) => self.tenants.get(tenant).map(|space| &**space),
        }
    }

    pub(crate) fn get(&self, key: &EntryKey) -> Option<&Arc<Entry>> {
        self.of(key.tenant.as_deref())?.get(&key.name)
    }

    /// Puts an entry in its place, or empties that.
    pub(crate) fn set(&mut self, key: &EntryKey, entry: Option<Arc<Entry>>) -> Difference {
        let before = self.get(key).cloned();
        let is_same = match (&before, &entry) {
            (Some(before), Some(entry)) => Arc::ptr_eq(before, entry),
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return Difference::default();
        }
        if let Some(before) = &before {
            self.total.remove(before);
        }
        if let Some(entry) = &entry {
            self.total.add(entry);
        }
        let difference = Difference::between(before.as_deref(), entry.as_deref());
        // An entry that comes or goes hides or bares the shared one of its name.
        let hides = key.tenant.is_some()
            && (before.is_none() || entry.is_none())
            && self.shared.get(&key.name).is_some();
        let difference = Difference { listed: difference.listed || hides, ..difference };
        self.changes += u64::from(difference.listed);
        let now = self.changes;
        self.change(key.tenant.as_ref(), |space| {
            space.set(&key.name, entry);
            if difference.listed {
                space.tools_changed = now;
            }
        });
        difference
    }

    /// Puts the tools of those names into the index of their space as they are now. Many at once are much cheaper than one
    /// by one. Returns the index if it is still to be made.
    pub(crate) fn index(&mut self, tenant: Option<&Arc<str>>, names: &[Arc<str>]) -> Option<Arc<LazyIndex>> {
        let mut changed = None;
        self.change(tenant, |space| {
            space.index = Arc::new(space.index.with(names, &space.by_name));
            changed = Some(Arc::clone(&space.index));
        });
        changed.filter(|index| !index.is_made())
    }

    /// Changes what a tenant has beside its tools, or what is shared of that.
    pub(crate) fn set_shelves(&mut self, tenant: Option<&Arc<str>>, shelves: Arc<Shelves>) {
        self.change(tenant, |space| space.shelves = shelves);
    }

    fn change(&mut self, tenant: Option<&Arc<str>>, change: impl FnOnce(&mut Space)) {
        let Some(tenant) = tenant else {
            return change(&mut self.shared);
        };
        let mut space = self.tenants.get(tenant).map(|space| Space::clone(space)).unwrap_or_default();
        change(&mut space);
        if space.is_empty() {
            self.tenants.remove_mut(tenant);
        } else {
            self.tenants.insert_mut(Arc::clone(tenant), Arc::new(space));
        }
    }
}

/// What is otherwise when an entry stands in the place of another.
#[derive(Clone, Copy, Default)]
pub(crate) struct Difference {
    /// Whether a client would see another list of tools.
    pub(crate) listed: bool,
    /// Whether a search may find another tool.
    pub(crate) found: bool,
}

impl Difference {
    fn between(before: Option<&Entry>, after: Option<&Entry>) -> Self {
        let tool = |entry: Option<&Entry>| match entry.and_then(Entry::live) {
            Some(Item::Tool(tool)) => Some(Arc::clone(tool)),
            _ => None,
        };
        match (tool(before), tool(after)) {
            (Some(before), Some(after)) if Arc::ptr_eq(&before, &after) => Self::default(),
            (Some(before), Some(after)) => Self { listed: before.entry != after.entry, found: true },
            (None, None) => Self::default(),
            _ => Self { listed: true, found: true },
        }
    }
}
