//! What lies over the definitions: the tools that natives and upstream servers offer, the prompts and resources there are,
//! and the problems that come of names and URIs used twice. The first to have a name or a URI keeps it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use toolrail_core::{Problem, Severity};

use super::upstreams::{Followed, Offerer, Upstreams, in_short};
use crate::catalog::{Entry, Item, Listed, Prompt, Resource, Shelf, Shelves, UpstreamStatus};
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// What lies over the definitions.
#[derive(Default)]
pub(crate) struct Overlay {
    /// Entries that stand instead of the definitions of their keys, or where there are none.
    pub(crate) patches: HashMap<EntryKey, Arc<Entry>>,
    /// The names that upstreams would like to have, whether or not they got them.
    pub(crate) wanted: HashSet<EntryKey>,
    /// What is listed beside the tools, by tenant.
    pub(crate) shelves: TenantShelves,
    pub(crate) upstreams: Vec<UpstreamStatus>,
    /// What is wrong with natives, which have no definition.
    pub(crate) problems: Vec<Problem>,
}

/// What is listed beside the tools, by tenant.
pub(crate) type TenantShelves = BTreeMap<Option<Arc<str>>, Arc<Shelves>>;

/// The definition that wins under a key.
pub(crate) type Winner<'l> = dyn Fn(&EntryKey) -> Option<Arc<Entry>> + 'l;

impl Overlay {
    /// The overlay of those live definitions that are no tools. Starts upstreams that are new.
    pub(crate) fn new(
        others: &BTreeMap<EntryKey, Arc<Entry>>,
        upstreams: &mut Upstreams,
        winner: &Winner<'_>,
    ) -> Self {
        let mut laying = Laying { overlay: Self::default(), held: BTreeMap::new(), winner };
        let mut offerers = upstreams.natives.clone();
        let mut others: Vec<_> = others.iter().collect();
        others.sort_by_key(|(_, entry)| entry.source);
        for (key, entry) in others {
            match entry.live() {
                Some(Item::Upstream { kind, document, upstream, approval }) => {
                    let offerer = upstreams.offerer(key, entry, (Arc::clone(kind), Arc::clone(upstream)));
                    let (approval, document) = (approval.clone(), Arc::clone(document));
                    offerers.push(Offerer { approval, document, ..offerer });
                }
                _ => laying.add_definition(key, entry),
            }
        }
        for followed in upstreams.follow(offerers) {
            laying.add_upstream(followed);
        }
        laying.finish()
    }

    /// The entry under a key: what lies over the definition, or that.
    pub(crate) fn entry(&self, key: &EntryKey, winner: &Winner<'_>) -> Option<Arc<Entry>> {
        self.patches.get(key).cloned().or_else(|| winner(key))
    }
}

/// An overlay in the making.
struct Laying<'l> {
    overlay: Overlay,
    held: BTreeMap<Option<Arc<str>>, AllHeld>,
    winner: &'l Winner<'l>,
}

impl Laying<'_> {
    /// Adds what a definition has become, unless another has its name or URI: then that is the problem.
    fn add_definition(&mut self, key: &EntryKey, entry: &Arc<Entry>) {
        let holder = Holder { words: definition_words(entry).into(), by: Arc::clone(&key.name) };
        let message = self.held.entry(key.tenant.clone()).or_default().add_definition(entry, &holder);
        let problem = message.map(|message| Problem {
            severity: Severity::Error,
            tool: Some(entry.name.clone()),
            origin: Some(entry.origin.clone()),
            pointer: String::new(),
            message,
            spot: None,
        });
        self.attach(key, problem.into_iter().collect());
    }

    /// Puts the entry's problems of this moment beside those of its definition.
    fn attach(&mut self, key: &EntryKey, problems: Vec<Problem>) {
        if problems.is_empty() {
            return;
        }
        if let Some(entry) = self.overlay.entry(key, self.winner) {
            let mut entry = Entry::clone(&entry);
            entry.problems.extend(problems);
            self.overlay.patches.insert(key.clone(), Arc::new(entry));
        }
    }

    fn add_upstream(&mut self, followed: &mut Followed) {
        self.overlay.upstreams.extend(followed.status());
        let problems = self.add_offer(followed);
        followed.tell(&problems);
        if followed.by.source == SourceId::Native {
            self.overlay.problems.extend(problems);
        } else {
            let key = followed.by.key.clone();
            self.attach(&key, problems);
        }
    }

    /// Adds what an upstream offers; its failure and what is left out come back as problems.
    fn add_offer(&mut self, followed: &Followed) -> Vec<Problem> {
        let by = &followed.by;
        let (holder, rename) = (Holder::of(by), rename_advice(by));
        let mut left_out: Vec<String> = Vec::new();
        for (key, entry) in &followed.tools {
            left_out
                .extend(self.add_tool(key, entry).map(|by| {
                    format!("the tool {:?} is left out: {by} has that name; {rename}", entry.name)
                }));
        }
        let held = self.held.entry(by.key.tenant.clone()).or_default();
        for prompt in &followed.prompts {
            left_out.extend(
                held.prompts.add(prompt, &holder).map(|by| {
                    format!("the prompt {:?} is left out: {by} has that name; {rename}", prompt.name)
                }),
            );
        }
        let mut same_uris: Vec<String> = Vec::new();
        for resource in &followed.resources {
            same_uris.extend(held.resources.add(resource, &holder).map(|by| served_by(resource, &by)));
        }
        for template in &followed.templates {
            same_uris.extend(held.templates.add(template, &holder).map(|by| served_by(template, &by)));
        }
        let left_out = in_short(left_out).into_iter().map(|message| by.problem(Severity::Error, message));
        // Nobody here can give the resources of a server other URIs.
        let severity = if by.source == SourceId::Native { Severity::Error } else { Severity::Warning };
        let same_uris = in_short(same_uris).into_iter().map(|message| by.problem(severity, message));
        let problems = followed.failing().into_iter().chain(followed.faults());
        problems.chain(left_out).chain(same_uris).collect()
    }

    /// Adds the entry of a tool that is offered, or says who has its name.
    fn add_tool(&mut self, key: &EntryKey, entry: &Arc<Entry>) -> Option<String> {
        self.overlay.wanted.insert(key.clone());
        let first = self.overlay.entry(key, self.winner);
        if let Some(first) = first.filter(|first| first.source <= entry.source) {
            return Some(match first.source {
                SourceId::Upstream => format!("the upstream {:?}", first.origin),
                SourceId::Native => format!("the native tool of {:?}", first.origin),
                SourceId::Store | SourceId::Files | SourceId::Demo => definition_words(&first),
            });
        }
        self.overlay.patches.insert(key.clone(), Arc::clone(entry));
        None
    }

    fn finish(self) -> Overlay {
        let shelves = self.held.into_iter().map(|(tenant, held)| (tenant, Arc::new(held.into_shelves())));
        Overlay { shelves: shelves.collect(), ..self.overlay }
    }
}

fn definition_words(entry: &Entry) -> String {
    format!("the definition {:?} ({})", entry.name, entry.origin)
}

fn rename_advice(by: &Offerer) -> String {
    match by.source {
        SourceId::Native => "rename one of them".to_owned(),
        _ => format!("set {}.prefix in {:?}", by.kind, by.name),
    }
}

fn served_by(resource: &Resource, holder: &str) -> String {
    format!("{:?} is served by {holder}, which has that URI too; this one is left out", resource.key)
}

fn same_uri(resource: &Resource, holder: &str) -> String {
    format!("{:?} is left out: {holder} has that URI; give one of them another", resource.key)
}

/// Who has something: in words, and by the folded name of its definition.
#[derive(Clone)]
struct Holder {
    words: Arc<str>,
    by: Arc<str>,
}

impl Holder {
    fn of(by: &Offerer) -> Self {
        let words = match by.source {
            SourceId::Native => format!("the native {:?}", by.name),
            _ => format!("the upstream {:?}", by.name),
        };
        Self { words: words.into(), by: Arc::clone(&by.key.name) }
    }
}

/// Things by key, each with who has it.
struct Held<T>(BTreeMap<Box<str>, (Arc<T>, Holder)>);

impl<T: Listed> Held<T> {
    /// Adds a thing, or says who has its key.
    fn add(&mut self, thing: &Arc<T>, holder: &Holder) -> Option<String> {
        if let Some((_, first)) = self.0.get(thing.key()) {
            return Some(first.words.to_string());
        }
        self.0.insert(thing.key().into(), (Arc::clone(thing), holder.clone()));
        None
    }

    fn into_shelf(self) -> Shelf<T> {
        Shelf::new(self.0.into_values().map(|(thing, holder)| (thing, holder.by)).collect())
    }
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// What one tenant has beside its tools, or what is shared of that.
#[derive(Default)]
struct AllHeld {
    prompts: Held<Prompt>,
    resources: Held<Resource>,
    templates: Held<Resource>,
}

impl AllHeld {
    /// Adds what a definition has become, or says why it is left out.
    fn add_definition(&mut self, entry: &Entry, holder: &Holder) -> Option<String> {
        match entry.live()? {
            Item::Tool(_) | Item::Upstream { .. } => None,
            Item::Prompt(prompt) => self.prompts.add(prompt, holder).map(|by| {
                format!("the prompt {:?} is left out: {by} has that name; rename one", prompt.name)
            }),
            Item::Resource(resource) => {
                self.resources.add(resource, holder).map(|by| same_uri(resource, &by))
            }
            Item::Template(template) => {
                self.templates.add(template, holder).map(|by| same_uri(template, &by))
            }
        }
    }

    fn into_shelves(self) -> Shelves {
        Shelves {
            prompts: self.prompts.into_shelf(),
            resources: self.resources.into_shelf(),
            templates: self.templates.into_shelf(),
        }
    }
}
