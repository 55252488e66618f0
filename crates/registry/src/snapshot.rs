//! All compiled tools at one revision; immutable. A request uses one snapshot from start to end.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Serialize;
use toolrail_core::{Problem, Revision, ToolName};

use crate::entry::{Entry, SourceId};
use crate::listing::{self, Era, List, Page};
use crate::offered::{Prompt, Resource};
use crate::tool::Tool;

/// All definitions at one moment.
pub struct Snapshot {
    /// The store's revision.
    pub revision: Revision,
    /// How the sources are.
    pub sources: Vec<SourceStatus>,
    entries: BTreeMap<Arc<str>, Arc<Entry>>,
    live: HashMap<Arc<str>, Arc<Tool>>,
    ordered: Vec<Arc<Tool>>,
    prompts: BTreeMap<Box<str>, Arc<Prompt>>,
    resources: BTreeMap<Box<str>, Arc<Resource>>,
    templates: BTreeMap<Box<str>, Arc<Resource>>,
    source_problems: Vec<Problem>,
    page_limits: (usize, usize),
    modern: OnceLock<Vec<Page>>,
    legacy: OnceLock<Vec<Page>>,
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

impl Snapshot {
    /// A snapshot of those entries, keyed by folded name.
    pub(crate) fn new(
        revision: Revision,
        entries: BTreeMap<Arc<str>, Arc<Entry>>,
        sources: Vec<SourceStatus>,
        source_problems: Vec<Problem>,
        page_limits: (usize, usize),
    ) -> Self {
        let mut live = HashMap::with_capacity(entries.len());
        let mut ordered = Vec::with_capacity(entries.len());
        for (key, entry) in &entries {
            if let Some(tool) = entry.live() {
                live.insert(key.clone(), Arc::clone(tool));
                ordered.push(Arc::clone(tool));
            }
        }
        let (modern, legacy) = (OnceLock::new(), OnceLock::new());
        let (prompts, resources, templates) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self {
            revision,
            sources,
            entries,
            live,
            ordered,
            prompts,
            resources,
            templates,
            source_problems,
            page_limits,
            modern,
            legacy,
        }
    }

    /// The tool that may be called under that name, in any case. Names are unique by folded case, so a folded match is
    /// the exact one whenever there is an exact one.
    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.live.get(&*folded(name))
    }

    /// The definition of that name, live or not.
    pub fn entry(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entries.get(&*folded(name))
    }

    /// The tools that may be called, in order of their folded names.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.ordered
    }

    /// All definitions, in order of their folded names.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    /// Everything that is wrong: with sources, then with definitions.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.source_problems.iter().chain(self.entries.values().flat_map(|entry| &entry.problems))
    }

    /// The prompt of that name.
    pub fn prompt(&self, name: &str) -> Option<&Arc<Prompt>> {
        self.prompts.get(name)
    }

    /// The resource of that URI, or the template that stands for it.
    pub fn resource(&self, uri: &str) -> Option<&Arc<Resource>> {
        self.resources.get(uri)
    }

    /// The resource template written like that.
    pub fn template(&self, uri_template: &str) -> Option<&Arc<Resource>> {
        self.templates.get(uri_template)
    }

    /// The first page of a list, or the one after a key; serialised once per snapshot.
    pub fn page(&self, list: List, era: Era, after: Option<&str>) -> Page {
        if list != List::Tools {
            return Page { entries: Bytes::from_static(b"[]"), next_after: None };
        }
        let pages = self.pages(era);
        let Some(after) = after else {
            return pages[0].clone();
        };
        let boundary = pages.iter().position(|page| page.next_after.as_deref() == Some(after));
        match boundary.and_then(|index| pages.get(index + 1)) {
            Some(page) => page.clone(),
            // The cursor comes from an older snapshot: continue after that name all the same.
            None => self.page_after(era, &ToolName::fold(after)),
        }
    }

    fn pages(&self, era: Era) -> &[Page] {
        let all_modern = self.ordered.iter().all(|tool| tool.legacy_entry.is_none());
        match era {
            Era::Legacy if !all_modern => self.legacy.get_or_init(|| self.make_pages(&self.ordered, era)),
            Era::Modern | Era::Legacy => {
                self.modern.get_or_init(|| self.make_pages(&self.ordered, Era::Modern))
            }
        }
    }

    fn page_after(&self, era: Era, after: &str) -> Page {
        let start = self.ordered.partition_point(|tool| tool.name.folded().as_str() <= after);
        self.make_pages(&self.ordered[start..], era).swap_remove(0)
    }

    fn make_pages(&self, tools: &[Arc<Tool>], era: Era) -> Vec<Page> {
        let (most_tools, most_bytes) = self.page_limits;
        let entries: Vec<_> = tools.iter().map(|tool| (tool.name.as_str(), entry_for(tool, era))).collect();
        listing::pages(&entries, most_tools, most_bytes)
    }
}

fn entry_for(tool: &Tool, era: Era) -> &Bytes {
    match era {
        Era::Legacy => tool.legacy_entry.as_ref().unwrap_or(&tool.entry),
        Era::Modern => &tool.entry,
    }
}

fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(ToolName::fold(name))
    } else {
        Cow::Borrowed(name)
    }
}
