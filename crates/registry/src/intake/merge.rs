//! Layers and what upstreams offer become the spaces of the next snapshot. Only what changed is looked at: the cost of a
//! change does not grow with the number of definitions.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use toolrail_core::{Problem, Revision, Severity};

use super::compile::Compiler;
use super::layer::Layer;
use super::overlay::{Overlay, TenantShelves};
use super::upstreams::Upstreams;
use crate::catalog::{Entry, Item, LazyIndex, PageLimits, Published, Resource, Shelves, Spaces};
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// What a snapshot is made from.
pub(crate) struct MergeState {
    /// One for each source, the winner first.
    pub(crate) layers: Vec<Layer>,
    pub(crate) upstreams: Upstreams,
    spaces: Spaces,
    /// The live definitions that are no tools.
    others: BTreeMap<EntryKey, Arc<Entry>>,
    overlay: Overlay,
    /// Keys that changed in some layer and were not merged yet.
    changed: HashSet<EntryKey>,
}

/// Whether upstreams offer something else than what is merged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offers {
    Same,
    Changed,
}

/// What is otherwise than before, as clients see it.
#[derive(Default)]
pub(crate) struct Differences {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    /// Where the search would find something else.
    pub(crate) found: Vec<EntryKey>,
    /// Indexes that are still to be made.
    pub(crate) unmade: Vec<Arc<LazyIndex>>,
    /// The URIs of resources whose definitions changed.
    pub(crate) updated: Vec<(Box<str>, EntryKey)>,
}

impl MergeState {
    pub(crate) fn new(layers: Vec<Layer>, upstreams: Upstreams) -> Self {
        let (spaces, overlay) = (Spaces::default(), Overlay::default());
        Self { layers, upstreams, spaces, others: BTreeMap::new(), overlay, changed: HashSet::new() }
    }

    /// Notes that the layers have other entries under those keys.
    pub(crate) fn note(&mut self, changed: Vec<EntryKey>) {
        self.changed.extend(changed);
    }

    /// Whether every source was looked at. Before that, what one gave may be hidden by what another will give.
    pub(crate) fn is_whole(&self) -> bool {
        self.layers.iter().all(|layer| layer.status.is_some())
    }

    /// Merges what changed, and what upstreams offer if that is said to have changed.
    pub(crate) fn merge(&mut self, compiler: &Arc<Compiler>, offers: Offers) -> Differences {
        let changed = std::mem::take(&mut self.changed);
        self.let_go_of_shadowed(&changed, compiler);
        let mut differences = Differences::default();
        let mut touched = changed;
        if self.note_others(&touched) || offers == Offers::Changed {
            let layers = &self.layers;
            let winner = |key: &EntryKey| winner(layers, key).cloned();
            let overlay = Overlay::new(&self.others, &mut self.upstreams, &winner);
            let mut before = std::mem::replace(&mut self.overlay, overlay);
            touched.extend(before.patches.drain().map(|(key, _)| key));
            touched.extend(self.overlay.patches.keys().cloned());
            self.put(touched, &mut differences);
            self.put_shelves(&before.shelves, &mut differences);
        } else {
            self.put(touched, &mut differences);
        }
        differences
    }

    /// Everything as it is published. Costs nothing that grows with the number of definitions.
    pub(crate) fn published(&self, limits: PageLimits) -> Published {
        let problems = self.layers.iter().flat_map(|layer| &layer.problems);
        Published {
            revision: self.revision(),
            sources: self.layers.iter().filter_map(|layer| layer.status.clone()).collect(),
            upstreams: self.overlay.upstreams.clone(),
            problems: problems.chain(&self.overlay.problems).cloned().collect(),
            spaces: self.spaces.clone(),
            limits,
            ..Published::default()
        }
    }

    fn revision(&self) -> Revision {
        let store = self.layers.iter().find(|layer| layer.id == SourceId::Store);
        store.and_then(|layer| layer.revision).unwrap_or(0)
    }

    /// An upstream whose definition has lost its name to another source ends: its definition gets one that was not started.
    fn let_go_of_shadowed(&mut self, changed: &HashSet<EntryKey>, compiler: &Arc<Compiler>) {
        for key in changed {
            let holders = self.layers.iter_mut().filter_map(|layer| layer.entries.get_mut(key));
            for entry in holders.skip(1) {
                if let Some(Item::Upstream { document, .. }) = entry.live() {
                    let value = serde_json::from_str(document).unwrap_or_default();
                    let (finished, _) = compiler.compile(value, document, entry.source);
                    let item = finished.map(|finished| finished.item);
                    *entry = Arc::new(Entry { item, ..Entry::clone(entry) });
                }
            }
        }
    }

    /// Keeps the list of what is no tool, and says whether the overlay must be made anew.
    fn note_others(&mut self, changed: &HashSet<EntryKey>) -> bool {
        let mut stale = false;
        for key in changed {
            let other = winner(&self.layers, key).filter(|entry| is_other(entry));
            let before = match other {
                Some(entry) => self.others.insert(key.clone(), Arc::clone(entry)),
                None => self.others.remove(key),
            };
            stale |= before.is_some() || other.is_some() || self.overlay.wanted.contains(key);
        }
        stale
    }

    fn put(&mut self, touched: HashSet<EntryKey>, differences: &mut Differences) {
        let layers = &self.layers;
        let winner = |key: &EntryKey| winner(layers, key).cloned();
        let mut found: BTreeMap<Option<Arc<str>>, Vec<Arc<str>>> = BTreeMap::new();
        for key in touched {
            let entry = self.overlay.entry(&key, &winner).map(|entry| telling_of_hidden(layers, &key, entry));
            let difference = self.spaces.set(&key, entry);
            differences.tools |= difference.listed;
            if difference.found {
                differences.found.push(key.clone());
                found.entry(key.tenant.clone()).or_default().push(Arc::clone(&key.name));
            }
            let hidden = EntryKey { tenant: None, name: key.name };
            if key.tenant.is_some() && self.others.contains_key(&hidden) {
                // What it hides may be in any of the lists.
                (differences.prompts, differences.resources) = (true, true);
            }
        }
        // When all are in their places: what is told of a tool may stand in another entry.
        for (tenant, mut names) in found {
            names.sort_unstable();
            differences.unmade.extend(self.spaces.index(tenant.as_ref(), &names));
        }
    }

    fn put_shelves(&mut self, before: &TenantShelves, differences: &mut Differences) {
        let tenants: BTreeSet<_> = before.keys().chain(self.overlay.shelves.keys()).cloned().collect();
        for tenant in tenants {
            let before = before.get(&tenant).cloned().unwrap_or_default();
            let after = self.overlay.shelves.get(&tenant).cloned().unwrap_or_default();
            differences.prompts |= after.prompts.differs(&before.prompts);
            differences.resources |=
                after.resources.differs(&before.resources) || after.templates.differs(&before.templates);
            differences.updated.extend(updated(&before, &after, tenant.as_ref()));
            self.spaces.set_shelves(tenant.as_ref(), after);
        }
    }
}

/// The resources of definitions that were changed. The content of what an upstream offers is followed by the upstream
/// itself.
fn updated(before: &Shelves, after: &Shelves, tenant: Option<&Arc<str>>) -> Vec<(Box<str>, EntryKey)> {
    let changed = |resource: &Arc<Resource>| {
        let old = before.resources.find(&resource.key);
        old.is_some_and(|old| !Arc::ptr_eq(resource, old) && resource.document != old.document)
    };
    let made = after.resources.made().filter(|(resource, _)| changed(resource));
    made.map(|(resource, by)| {
        let of = EntryKey { tenant: tenant.cloned(), name: Arc::clone(by) };
        (resource.key.clone(), of)
    })
    .collect()
}

fn winner<'l>(layers: &'l [Layer], key: &EntryKey) -> Option<&'l Arc<Entry>> {
    layers.iter().find_map(|layer| layer.entries.get(key))
}

/// The entry, with a warning if it is from the store and a file that somebody may go on editing has the same name.
fn telling_of_hidden(layers: &[Layer], key: &EntryKey, entry: Arc<Entry>) -> Arc<Entry> {
    let mut files = layers.iter().filter(|layer| layer.id == SourceId::Files);
    let hidden = files.find_map(|layer| layer.entries.get(key)).filter(|_| entry.source == SourceId::Store);
    let Some(hidden) = hidden else {
        return entry;
    };
    let message = format!(
        "this definition, from the store, hides the one of the same name in {}; remove one of them: `tools remove {} --purge` leaves that of the file",
        hidden.origin, entry.name
    );
    let problem = Problem {
        severity: Severity::Warning,
        tool: Some(entry.name.clone()),
        origin: Some(entry.origin.clone()),
        pointer: String::new(),
        message,
        spot: None,
    };
    let mut telling = Entry::clone(&entry);
    telling.problems.push(problem);
    Arc::new(telling)
}

/// Whether it is live and no tool.
fn is_other(entry: &Entry) -> bool {
    !matches!(entry.live(), None | Some(Item::Tool(_)))
}
