//! Everything there is at one revision: definitions, and the tools, prompts and resources that may be used; immutable. A
//! request uses one snapshot from start to end.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Serialize;
use toolrail_core::{Problem, Revision, UpstreamState};

use crate::entry::{Entry, SourceId};
use crate::feed::Feed;
use crate::item::Item;
use crate::listing::{Era, List, Page};
use crate::offered::{Prompt, Resource};
use crate::shelf::{Listed, PageLimits, Shelf};
use crate::tool::Tool;

/// All definitions at one moment.
pub struct Snapshot {
    /// The store's revision.
    pub revision: Revision,
    /// How the sources are.
    pub sources: Vec<SourceStatus>,
    /// How the upstreams are.
    pub upstreams: Vec<UpstreamStatus>,
    entries: Entries,
    live: HashMap<Arc<str>, Arc<Tool>>,
    tools: Shelf<Tool>,
    prompts: Shelf<Prompt>,
    resources: Shelf<Resource>,
    templates: Shelf<Resource>,
    source_problems: Vec<Problem>,
}

/// Entries by folded name.
pub(crate) type Entries = BTreeMap<Arc<str>, Arc<Entry>>;

/// What a snapshot is made of.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) revision: Revision,
    pub(crate) sources: Vec<SourceStatus>,
    pub(crate) upstreams: Vec<UpstreamStatus>,
    /// What is wrong with sources and upstreams, rather than with one definition.
    pub(crate) problems: Vec<Problem>,
    /// Every definition, and the tools of upstreams.
    pub(crate) entries: Entries,
    /// In order of their names.
    pub(crate) prompts: Vec<Arc<Prompt>>,
    /// In order of their URIs.
    pub(crate) resources: Vec<Arc<Resource>>,
    /// In order of their URI templates.
    pub(crate) templates: Vec<Arc<Resource>>,
}

/// How a source is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceStatus {
    /// Which source.
    pub source: SourceId,
    /// What it is, for people.
    pub description: String,
    /// How many definitions it gave.
    pub definitions: usize,
    /// Why it could not be read the last time; its last good definitions are still in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// How an upstream is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UpstreamStatus {
    /// The name of its definition, or of the native tools.
    pub name: String,
    /// How it is.
    pub state: UpstreamState,
    /// How many tools it offers.
    pub tools: usize,
    /// How many prompts it offers.
    pub prompts: usize,
    /// How many resources it offers.
    pub resources: usize,
    /// How many resource templates it offers.
    pub templates: usize,
    /// Why it offers nothing, or not everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Snapshot {
    pub(crate) fn new(contents: Contents, limits: PageLimits) -> Self {
        let Contents { revision, sources, upstreams, problems, entries, prompts, resources, templates } =
            contents;
        let mut live = HashMap::with_capacity(entries.len());
        let mut ordered = Vec::with_capacity(entries.len());
        for (key, entry) in &entries {
            if let Some(Item::Tool(tool)) = entry.live() {
                live.insert(key.clone(), Arc::clone(tool));
                ordered.push(Arc::clone(tool));
            }
        }
        Self {
            revision,
            sources,
            upstreams,
            entries,
            live,
            tools: Shelf::new(ordered, limits),
            prompts: Shelf::new(prompts, limits),
            resources: Shelf::new(resources, limits),
            templates: Shelf::new(templates, limits),
            source_problems: problems,
        }
    }

    /// The tool that may be called under that name, in any case. Names are unique by folded case, so a folded match is
    /// the exact one whenever there is an exact one.
    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.live.get(&*Tool::folded(name))
    }

    /// The definition of that name, live or not.
    pub fn entry(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entries.get(&*Tool::folded(name))
    }

    /// The tools that may be called, in order of their folded names.
    pub fn tools(&self) -> &[Arc<Tool>] {
        self.tools.things()
    }

    /// All definitions, in order of their folded names.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    /// Everything that is wrong: with sources, then with definitions.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.source_problems.iter().chain(self.entries.values().flat_map(|entry| &entry.problems))
    }

    /// How many upstreams are in that state.
    pub fn upstreams_that_are(&self, state: UpstreamState) -> usize {
        self.upstreams.iter().filter(|upstream| upstream.state == state).count()
    }

    /// The prompt of that name.
    pub fn prompt(&self, name: &str) -> Option<&Arc<Prompt>> {
        self.prompts.find(name)
    }

    /// The resource of that URI, or the template that stands for it; of several templates the first in the list.
    pub fn resource(&self, uri: &str) -> Option<&Arc<Resource>> {
        let template = || self.templates.things().iter().find(|template| template.stands_for(uri));
        self.resources.find(uri).or_else(template)
    }

    /// The resource template written like that.
    pub fn template(&self, uri_template: &str) -> Option<&Arc<Resource>> {
        self.templates.find(uri_template)
    }

    /// The first page of a list, or the one after a key; serialised once per snapshot.
    pub fn page(&self, list: List, era: Era, after: Option<&str>) -> Page {
        match list {
            List::Tools => self.tools.page(era, after),
            List::Prompts => self.prompts.page(era, after),
            List::Resources => self.resources.page(era, after),
            List::Templates => self.templates.page(era, after),
        }
    }

    /// Tells `feed` what clients will see otherwise than in `before`.
    pub(crate) fn tell_changes(&self, before: &Self, feed: &Feed) {
        let resources =
            self.resources.differs(&before.resources) || self.templates.differs(&before.templates);
        feed.lists_changed(
            self.tools.differs(&before.tools),
            self.prompts.differs(&before.prompts),
            resources,
        );
        for resource in self.resources.things() {
            let Some(old) = before.resources.find(&resource.key) else {
                continue;
            };
            // The content of what an upstream offers is followed by the upstream itself.
            if !Arc::ptr_eq(resource, old) && resource.document != old.document {
                feed.resource_changed(&resource.key);
            }
        }
    }
}
