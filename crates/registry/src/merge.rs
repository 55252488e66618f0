//! What all sources gave and all upstreams offer becomes the contents of one snapshot: the first to have a name or a URI
//! keeps it.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolrail_core::{Problem, Severity, ToolName};

use crate::entry::{Entry, SourceId};
use crate::item::Item;
use crate::offered::{Prompt, Resource};
use crate::shelf::Listed;
use crate::snapshot::{Contents, Entries};
use crate::tracked::Tracked;
use crate::upstreams::{Followed, Offerer, Upstreams};

/// The most things left out that are told one by one, for each upstream.
const MOST_TOLD: usize = 20;

/// The contents of the next snapshot. Starts upstreams that are new.
pub(crate) fn merge(sources: &[Tracked], upstreams: &mut Upstreams) -> Contents {
    let mut contents = definitions(sources);
    let mut shelves = Shelves::default();
    let mut offerers = upstreams.natives.clone();
    for entry in &others(&contents.entries) {
        let name = entry.name.clone();
        if let Some(Item::Upstream { kind, upstream, .. }) = entry.live() {
            let (kind, upstream) = (Arc::clone(kind), Arc::clone(upstream));
            let origin = entry.origin.clone();
            offerers.push(Offerer { name, kind, source: SourceId::Upstream, origin, upstream });
        } else if let Some(problem) = shelves.add_definition(entry) {
            attach(&mut contents.entries, entry, vec![problem]);
        }
    }
    for followed in upstreams.follow(offerers) {
        contents.upstreams.extend(followed.status());
        let problems = add_offer(followed, &mut contents.entries, &mut shelves);
        followed.tell(&problems);
        if followed.by.source == SourceId::Native {
            contents.problems.extend(problems);
        } else if let Some(entry) = contents.entries.get(&*key_of(&followed.by.name)).cloned() {
            attach(&mut contents.entries, &entry, problems);
        }
    }
    let Shelves { prompts, resources, templates } = shelves;
    contents.prompts = prompts.into_things();
    contents.resources = resources.into_things();
    contents.templates = templates.into_things();
    contents
}

/// What the sources gave; they are sorted, the winner first.
fn definitions(sources: &[Tracked]) -> Contents {
    let mut contents = Contents::default();
    for tracked in sources {
        if tracked.source.id() == SourceId::Store {
            contents.revision = tracked.revision.unwrap_or(0);
        }
        contents.problems.extend(tracked.problems.iter().cloned());
        contents.sources.push(tracked.status());
        if contents.entries.is_empty() {
            contents.entries.clone_from(&tracked.entries);
            continue;
        }
        for (key, entry) in &tracked.entries {
            contents.entries.entry(key.clone()).or_insert_with(|| Arc::clone(entry));
        }
    }
    contents
}

/// The live definitions that are no tools, the winner first.
fn others(entries: &Entries) -> Vec<Arc<Entry>> {
    let mut others: Vec<Arc<Entry>> = entries
        .values()
        .filter(|entry| !matches!(entry.live(), None | Some(Item::Tool(_))))
        .map(Arc::clone)
        .collect();
    others.sort_by_key(|entry| entry.source);
    others
}

/// Puts the entry's problems of this moment beside those of its definition.
fn attach(entries: &mut Entries, entry: &Arc<Entry>, problems: Vec<Problem>) {
    if problems.is_empty() {
        return;
    }
    let mut entry = Entry::clone(entry);
    entry.problems.extend(problems);
    entries.insert(key_of(&entry.name), Arc::new(entry));
}

fn key_of(name: &str) -> Arc<str> {
    ToolName::fold(name).into()
}

/// Adds what an upstream offers; its failure and what is left out come back as problems.
fn add_offer(followed: &Followed, entries: &mut Entries, shelves: &mut Shelves) -> Vec<Problem> {
    let by = &followed.by;
    let (holder, rename) = (holder_of(by), rename_advice(by));
    let mut left_out: Vec<String> = Vec::new();
    let mut same_uris: Vec<String> = Vec::new();
    for (key, entry) in &followed.tools {
        let taken = add_tool(entries, key, entry);
        left_out.extend(
            taken.map(|by| format!("the tool {:?} is left out: {by} has that name; {rename}", entry.name)),
        );
    }
    for prompt in &followed.prompts {
        let taken = shelves.prompts.add(prompt, &holder);
        left_out.extend(
            taken.map(|by| format!("the prompt {:?} is left out: {by} has that name; {rename}", prompt.name)),
        );
    }
    for resource in &followed.resources {
        same_uris.extend(shelves.resources.add(resource, &holder).map(|by| served_by(resource, &by)));
    }
    for template in &followed.templates {
        same_uris.extend(shelves.templates.add(template, &holder).map(|by| served_by(template, &by)));
    }
    let left_out = in_short(left_out).into_iter().map(|message| by.problem(Severity::Error, message));
    // Nobody here can give the resources of a server other URIs.
    let severity = if by.source == SourceId::Native { Severity::Error } else { Severity::Warning };
    let same_uris = in_short(same_uris).into_iter().map(|message| by.problem(severity, message));
    followed.failing().into_iter().chain(left_out).chain(same_uris).collect()
}

/// The first few, and how many more there are.
fn in_short(mut left_out: Vec<String>) -> Vec<String> {
    if let Some(more) = left_out.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
        left_out.truncate(MOST_TOLD);
        left_out.push(format!("{more} more are left out for the same reason"));
    }
    left_out
}

/// Adds the entry of a tool that is offered, or says who has its name.
fn add_tool(entries: &mut Entries, key: &Arc<str>, entry: &Arc<Entry>) -> Option<String> {
    if let Some(first) = entries.get(key).filter(|first| first.source <= entry.source) {
        return Some(match first.source {
            SourceId::Upstream => format!("the upstream {:?}", first.origin),
            SourceId::Native => format!("the native tool of {:?}", first.origin),
            SourceId::Store | SourceId::Files | SourceId::Demo => definition_words(first),
        });
    }
    entries.insert(Arc::clone(key), Arc::clone(entry));
    None
}

fn holder_of(by: &Offerer) -> Arc<str> {
    match by.source {
        SourceId::Native => format!("the native {:?}", by.name).into(),
        _ => format!("the upstream {:?}", by.name).into(),
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

/// Things by key, each with who has it.
struct Held<T>(BTreeMap<Box<str>, (Arc<T>, Arc<str>)>);

impl<T: Listed> Held<T> {
    /// Adds a thing, or says who has its key.
    fn add(&mut self, thing: &Arc<T>, holder: &Arc<str>) -> Option<String> {
        if let Some((_, first)) = self.0.get(thing.key()) {
            return Some(first.to_string());
        }
        self.0.insert(thing.key().into(), (Arc::clone(thing), Arc::clone(holder)));
        None
    }

    fn into_things(self) -> Vec<Arc<T>> {
        self.0.into_values().map(|(thing, _)| thing).collect()
    }
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// What is listed beside the tools.
#[derive(Default)]
struct Shelves {
    prompts: Held<Prompt>,
    resources: Held<Resource>,
    templates: Held<Resource>,
}

impl Shelves {
    /// Adds what a definition has become, unless another has its URI: then that is the problem.
    fn add_definition(&mut self, entry: &Entry) -> Option<Problem> {
        let holder: Arc<str> = definition_words(entry).into();
        let message = match entry.live()? {
            Item::Tool(_) | Item::Upstream { .. } => None,
            Item::Prompt(prompt) => self.prompts.add(prompt, &holder).map(|by| {
                format!("the prompt {:?} is left out: {by} has that name; rename one", prompt.name)
            }),
            Item::Resource(resource) => {
                self.resources.add(resource, &holder).map(|by| same_uri(resource, &by))
            }
            Item::Template(template) => {
                self.templates.add(template, &holder).map(|by| same_uri(template, &by))
            }
        };
        message.map(|message| Problem {
            severity: Severity::Error,
            tool: Some(entry.name.clone()),
            origin: Some(entry.origin.clone()),
            pointer: String::new(),
            message,
            spot: None,
        })
    }
}
