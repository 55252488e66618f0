//! Everything there is at one revision: definitions, and the tools, prompts and resources that may be used; immutable. A
//! request uses one snapshot from start to end. Each tenant sees its own: what is shared, under what it has itself.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use toolrail_core::{Problem, Revision, UpstreamState};

use crate::entry::{Entry, SourceId};
use crate::item::Item;
use crate::listing::{Cut, Era, List, Page, PageLimits};
use crate::offered::{Prompt, Resource};
use crate::overlaid::Overlaid;
use crate::shelf::{Listed, Shelves};
use crate::space::{Space, Spaces};
use crate::status::{SourceStatus, UpstreamStatus};
use crate::tally::Tally;
use crate::tool::Tool;
use crate::tool_pages::ToolPages;

/// The most bytes of pages that are kept for everybody, and for one tenant, who can have them made again.
const MOST_PAGES: (usize, usize) = (64 * 1024 * 1024, 256 * 1024);
/// The most tenants whose view is kept while nothing changes.
const MOST_VIEWS: usize = 256;

/// All definitions at one moment, as a tenant sees them, or somebody without one.
pub struct Snapshot {
    /// The store's revision.
    pub revision: Revision,
    /// How the sources are.
    pub sources: Vec<SourceStatus>,
    /// How the upstreams are whose tools are seen here.
    pub upstreams: Vec<UpstreamStatus>,
    published: Arc<Published>,
    own: Option<(Arc<str>, Arc<Space>)>,
    tools: OnceLock<Vec<Arc<Tool>>>,
    pages: ToolPages,
    /// Those of a tenant, made when first asked for.
    shelves: OnceLock<Shelves>,
    /// What tenants see; only in the snapshot of those without one.
    views: RwLock<HashMap<Arc<str>, Arc<Snapshot>>>,
}

/// What a snapshot is made of: the same for everybody.
#[derive(Default)]
pub(crate) struct Published {
    pub(crate) revision: Revision,
    pub(crate) sources: Vec<SourceStatus>,
    /// Those of all tenants.
    pub(crate) upstreams: Vec<UpstreamStatus>,
    /// What is wrong with sources and upstreams, rather than with one definition.
    pub(crate) problems: Vec<Problem>,
    pub(crate) spaces: Spaces,
    pub(crate) limits: PageLimits,
}

impl Snapshot {
    /// What somebody without a tenant sees.
    pub(crate) fn shared(published: Arc<Published>) -> Self {
        Self::view(published, None)
    }

    fn view(published: Arc<Published>, own: Option<(Arc<str>, Arc<Space>)>) -> Self {
        let tenant = own.as_ref().map(|(tenant, _)| &**tenant);
        let is_seen =
            |status: &&UpstreamStatus| status.tenant.is_none() || status.tenant.as_deref() == tenant;
        Self {
            revision: published.revision,
            sources: published.sources.clone(),
            upstreams: published.upstreams.iter().filter(is_seen).cloned().collect(),
            tools: OnceLock::new(),
            pages: ToolPages::new(if own.is_some() { MOST_PAGES.1 } else { MOST_PAGES.0 }),
            shelves: OnceLock::new(),
            views: RwLock::default(),
            published,
            own,
        }
    }

    /// What that tenant sees, if it has anything of its own.
    pub(crate) fn of_tenant(&self, tenant: &str) -> Option<Arc<Self>> {
        if let Some(view) = self.views.read().unwrap_or_else(PoisonError::into_inner).get(tenant) {
            return Some(Arc::clone(view));
        }
        let tenants = &self.published.spaces.tenants;
        let (name, space) = tenants.get_key_value(tenant)?;
        let own = (Arc::clone(name), Arc::clone(space));
        let view = Arc::new(Self::view(Arc::clone(&self.published), Some(own)));
        let mut views = self.views.write().unwrap_or_else(PoisonError::into_inner);
        if views.len() >= MOST_VIEWS {
            let any = views.keys().next().cloned();
            any.and_then(|any| views.remove(&any));
        }
        Some(Arc::clone(views.entry(Arc::clone(name)).or_insert(view)))
    }

    /// Whose view this is; that of somebody without a tenant if absent.
    pub fn tenant(&self) -> Option<&Arc<str>> {
        self.own.as_ref().map(|(tenant, _)| tenant)
    }

    /// The tool that may be called under that name, in any case. Names are unique by folded case, so a folded match is
    /// the exact one whenever there is an exact one.
    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.entry(name).and_then(live_tool)
    }

    /// The definition of that name, live or not.
    pub fn entry(&self, name: &str) -> Option<&Arc<Entry>> {
        let folded = Tool::folded(name);
        let shared = &self.published.spaces.shared;
        let Some((_, own)) = &self.own else {
            return shared.get(&folded);
        };
        own.get(&folded).or_else(|| shared.get(&folded).filter(|entry| !hides(own, entry)))
    }

    /// The definition of exactly that tenant, or of exactly the shared ones: for administrators.
    pub fn entry_of(&self, tenant: Option<&str>, name: &str) -> Option<&Arc<Entry>> {
        self.published.spaces.of(tenant)?.get(&Tool::folded(name))
    }

    /// The tools that may be called, in order of their folded names. Gathered when first asked for: see
    /// [`Snapshot::tool_count`].
    pub fn tools(&self) -> &[Arc<Tool>] {
        self.tools.get_or_init(|| self.entries().filter_map(live_tool).cloned().collect())
    }

    /// How many tools may be called.
    pub fn tool_count(&self) -> usize {
        match &self.own {
            None => self.published.spaces.shared.tally.tools,
            Some(_) => self.tools().len(),
        }
    }

    /// All definitions that are seen here, in order of their folded names.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries_from(Bound::Unbounded)
    }

    fn entries_from<'s>(&'s self, start: Bound<&'s str>) -> impl Iterator<Item = &'s Arc<Entry>> {
        let own = self.own.as_ref().map(|(_, own)| &**own);
        Overlaid::new(own, &self.published.spaces.shared, start)
            .filter(move |entry| own.is_none_or(|own| entry.tenant.is_some() || !hides(own, entry)))
    }

    /// The definitions of everybody, for administrators: the shared ones, then those of each tenant, in order of their
    /// folded names.
    pub fn all_entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.spaces().flat_map(|space| space.from(Bound::Unbounded).map(|(_, entry)| entry))
    }

    /// The tenants that have definitions, in order.
    pub fn tenants(&self) -> impl Iterator<Item = &Arc<str>> {
        self.published.spaces.tenants.keys()
    }

    /// How many entries and problems there are, of everybody.
    pub fn tally(&self) -> &Tally {
        &self.published.spaces.total
    }

    /// Everything that is wrong: with sources, then with the definitions that are seen here.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        let own = self.own.as_ref().map(|(_, own)| &**own);
        let shared = self.published.spaces.shared.problems();
        self.published.problems.iter().chain(own.into_iter().flat_map(Space::problems)).chain(shared)
    }

    /// Everything that is wrong: with sources, then with the definitions of everybody.
    pub fn all_problems(&self) -> impl Iterator<Item = &Problem> {
        self.published.problems.iter().chain(self.spaces().flat_map(Space::problems))
    }

    /// How many problems there are, of everybody.
    pub fn problem_count(&self) -> usize {
        let tally = self.tally();
        self.published.problems.len() + tally.errors + tally.warnings
    }

    pub(crate) fn source_problems(&self) -> impl Iterator<Item = &Problem> {
        self.published.problems.iter()
    }

    fn spaces(&self) -> impl Iterator<Item = &Space> {
        let spaces = &self.published.spaces;
        std::iter::once(&spaces.shared).chain(spaces.tenants.values().map(|space| &**space))
    }

    /// How the upstreams of everybody are.
    pub fn all_upstreams(&self) -> &[UpstreamStatus] {
        &self.published.upstreams
    }

    /// How many upstreams, of everybody, are in that state.
    pub fn upstreams_that_are(&self, state: UpstreamState) -> usize {
        self.all_upstreams().iter().filter(|upstream| upstream.state == state).count()
    }

    /// The prompt of that name.
    pub fn prompt(&self, name: &str) -> Option<&Arc<Prompt>> {
        self.shelves().prompts.find(name)
    }

    /// The resource of that URI, or the template that stands for it; of several templates the first in the list.
    pub fn resource(&self, uri: &str) -> Option<&Arc<Resource>> {
        let Shelves { resources, templates, .. } = self.shelves();
        let template = || templates.things().find(|template| template.stands_for(uri));
        resources.find(uri).or_else(template)
    }

    /// The resource template written like that.
    pub fn template(&self, uri_template: &str) -> Option<&Arc<Resource>> {
        self.shelves().templates.find(uri_template)
    }

    /// The first page of a list, or the one after a key; serialised when first asked for.
    pub fn page(&self, list: List, era: Era, after: Option<&str>) -> Page {
        let limits = self.published.limits;
        if list != List::Tools {
            return self.shelves().page(list, after, limits);
        }
        let legacy = self.spaces_seen().any(|space| space.tally.legacy > 0);
        let era = if legacy { era } else { Era::Modern };
        self.pages.page(era, after, || {
            let folded = after.map(Tool::folded);
            let start = folded.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let tools = self.entries_from(start).filter_map(live_tool);
            Cut::new(limits).page(tools.map(|tool| (tool.key(), tool.entry_for(era))))
        })
    }

    pub(crate) fn spaces_seen(&self) -> impl Iterator<Item = &Space> {
        let own = self.own.as_ref().map(|(_, own)| &**own);
        own.into_iter().chain([&self.published.spaces.shared])
    }

    fn shelves(&self) -> &Shelves {
        let shared = &self.published.spaces.shared.shelves;
        match &self.own {
            None => shared,
            Some((_, own)) => {
                self.shelves.get_or_init(|| own.shelves.over(shared, &|by: &str| own.get(by).is_some()))
            }
        }
    }
}

/// Whether a tenant's definition of the name hides the upstream that offers a shared tool, hence its tools.
fn hides(own: &Space, shared: &Entry) -> bool {
    shared.source == SourceId::Upstream && own.get(&Tool::folded(&shared.origin)).is_some()
}

fn live_tool(entry: &Arc<Entry>) -> Option<&Arc<Tool>> {
    match entry.live() {
        Some(Item::Tool(tool)) => Some(tool),
        _ => None,
    }
}
