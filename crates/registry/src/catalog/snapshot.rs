//! Everything there is at one revision: definitions, and the tools, prompts and resources that may be used; immutable. A
//! request uses one snapshot from start to end. Each tenant sees its own: what is shared, under what it has itself.

use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use toolrail_core::{Problem, Revision, ToolReach, UpstreamState};

use super::built_in::{BuiltIns, Kept};
use super::categories::{Categories, Category};
use super::choice::Choice;
use super::endpoint::{Discovery, Endpoint};
use super::entry::Entry;
use super::item::Item;
use super::listing::PageLimits;
use super::offered::{Prompt, Resource};
use super::overlaid::Overlaid;
use super::shelf::{Listed, Shelves};
use super::shown::Shown;
use super::space::{Space, Spaces};
use super::status::{SourceStatus, UpstreamStatus};
use super::tally::Tally;
use super::tool_pages::ToolPages;
use super::tools::Tool;
use super::views::{Viewer, Views};
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// The most bytes of pages that are kept for everybody, for a group, and for one tenant, who can have them made again.
const MOST_PAGES: [usize; 3] = [64 * 1024 * 1024, 1024 * 1024, 256 * 1024];

/// A tenant, and what it has of its own.
type Own = (Arc<str>, Arc<Space>);

/// All definitions at one moment, as a tenant sees them, or somebody without one.
pub struct Snapshot {
    /// The store's revision.
    pub revision: Revision,
    /// How the sources are.
    pub sources: Vec<SourceStatus>,
    /// How the upstreams are whose tools are seen here.
    pub upstreams: Vec<UpstreamStatus>,
    published: Arc<Published>,
    own: Option<Own>,
    /// Where it is seen; everywhere, if nothing.
    endpoint: Option<Arc<Endpoint>>,
    /// Which tools whoever looks may see, where not all.
    reach: Option<Arc<ToolReach>>,
    /// Whether whoever looks may change definitions.
    may_change: bool,
    tools: OnceLock<Vec<Arc<Tool>>>,
    categories: OnceLock<Categories>,
    pub(crate) pages: ToolPages,
    pub(crate) shown: OnceLock<Shown>,
    pub(crate) tools_mark: OnceLock<u64>,
    /// Those of a tenant, made when first asked for.
    shelves: OnceLock<Shelves>,
    /// The shelves with what is built in, for lists.
    listed_shelves: OnceLock<Shelves>,
    /// What tenants see, and what is seen at endpoints; only in the snapshot of those without either.
    views: Views<Self>,
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
    /// What the gateway has by itself.
    pub(crate) built_ins: Arc<BuiltIns>,
    /// How much of that those have who are at no endpoint: as much as at `/mcp`.
    pub(crate) discovery: Discovery,
}

impl Snapshot {
    /// What somebody without a tenant sees.
    pub(crate) fn shared(published: Arc<Published>) -> Self {
        Self::view(published, None, None, &Viewer::from(None))
    }

    fn view(
        published: Arc<Published>,
        own: Option<Own>,
        endpoint: Option<Arc<Endpoint>>,
        viewer: &Viewer<'_>,
    ) -> Self {
        let tenant = own.as_ref().map(|(tenant, _)| &**tenant);
        let is_seen =
            |status: &&UpstreamStatus| status.tenant.is_none() || status.tenant.as_deref() == tenant;
        let is_reached = |status: &&UpstreamStatus| {
            viewer.reach.as_ref().is_none_or(|reach| reach.has_things_of(&status.name))
        };
        let of_one = tenant.is_some() || viewer.reach.is_some();
        Self {
            revision: published.revision,
            sources: published.sources.clone(),
            upstreams: published.upstreams.iter().filter(is_seen).filter(is_reached).cloned().collect(),
            tools: OnceLock::new(),
            categories: OnceLock::new(),
            pages: ToolPages::new(most_pages(of_one, endpoint.as_deref())),
            shown: OnceLock::new(),
            tools_mark: OnceLock::new(),
            shelves: OnceLock::new(),
            listed_shelves: OnceLock::new(),
            views: Views::default(),
            published,
            own,
            endpoint,
            reach: viewer.reach.clone(),
            may_change: viewer.may_change,
        }
    }

    /// What somebody sees who does not see what everybody does.
    pub(crate) fn seen_by(&self, viewer: Viewer<'_>) -> Option<Arc<Self>> {
        let viewer = self.as_known_here(viewer);
        (!viewer.is_anybody()).then(|| self.view_of(None, &viewer))
    }

    /// What somebody sees at that endpoint.
    pub(crate) fn at(&self, viewer: Viewer<'_>, endpoint: &Arc<Endpoint>) -> Arc<Self> {
        self.view_of(Some(endpoint), &self.as_known_here(viewer))
    }

    /// Whoever is of a tenant that has nothing of its own sees what those without one do.
    fn as_known_here<'v>(&self, viewer: Viewer<'v>) -> Viewer<'v> {
        let has_some = |tenant: &&str| self.published.spaces.tenants.contains_key(*tenant);
        Viewer { tenant: viewer.tenant.filter(has_some), ..viewer }
    }

    fn view_of(&self, endpoint: Option<&Arc<Endpoint>>, viewer: &Viewer<'_>) -> Arc<Self> {
        self.views.find(endpoint, viewer).unwrap_or_else(|| {
            let own = viewer.tenant.and_then(|tenant| self.own_of(tenant));
            let view = Self::view(Arc::clone(&self.published), own, endpoint.cloned(), viewer);
            self.views.keep(endpoint, viewer, view)
        })
    }

    fn own_of(&self, tenant: &str) -> Option<Own> {
        let (name, space) = self.published.spaces.tenants.get_key_value(tenant)?;
        Some((Arc::clone(name), Arc::clone(space)))
    }

    /// The endpoint at which this is seen; none for those who see everything, such as administrators.
    pub fn endpoint(&self) -> Option<&Arc<Endpoint>> {
        self.endpoint.as_ref()
    }

    /// Whose view this is; that of somebody without a tenant if absent.
    pub fn tenant(&self) -> Option<&Arc<str>> {
        self.own.as_ref().map(|(tenant, _)| tenant)
    }

    /// The tool that may be called under that name, in any case. Names are unique by folded case, so a folded match is
    /// the exact one whenever there is an exact one. What is built in has to make way for any definition.
    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        match self.entry(name) {
            Some(entry) => live_tool(entry),
            None => self.built_in().find(name),
        }
    }

    /// The tools that the gateway has by itself, in the order in which they are listed, but for those whose names
    /// definitions have.
    pub fn built_ins(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.built_in().tools().iter().filter(|tool| self.entry(tool.name.as_str()).is_none())
    }

    /// What is built in, as far as it is served here.
    fn built_in(&self) -> &Kept {
        let here = self.endpoint.as_ref().map(|endpoint| endpoint.discovery);
        let served = here.unwrap_or(self.published.discovery);
        self.published.built_ins.at(if self.may_change { served } else { served.without_changes() })
    }

    /// Whether that tool, which the index of a space seen here has, is seen itself.
    pub(crate) fn shows(&self, tool: &Arc<Tool>) -> bool {
        self.sees_all() || self.find(tool.name.as_str()).is_some_and(|found| Arc::ptr_eq(found, tool))
    }

    /// Whether everything is seen that is shared, and nothing else.
    fn sees_all(&self) -> bool {
        self.own.is_none() && !self.is_part()
    }

    /// Whether tools are left out, because of where this is seen or by whom.
    pub(crate) fn is_part(&self) -> bool {
        self.choice().is_some() || self.reach.is_some()
    }

    /// The definition under that key, whoever sees it.
    pub(crate) fn definition(&self, key: &EntryKey) -> Option<&Arc<Entry>> {
        self.published.spaces.get(key)
    }

    /// The definition of that name, live or not.
    pub fn entry(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entry_anywhere(name).filter(|entry| self.has(entry))
    }

    /// The same, whether or not the endpoint has it and whoever looks may see it.
    pub(crate) fn entry_anywhere(&self, name: &str) -> Option<&Arc<Entry>> {
        let folded = Tool::folded(name);
        let shared = &self.published.spaces.shared;
        match &self.own {
            None => shared.named(&folded),
            Some((_, own)) => {
                own.named(&folded).or_else(|| shared.named(&folded).filter(|entry| !hides(own, entry)))
            }
        }
    }

    /// Which tools whoever looks may see, where not all.
    pub(crate) fn reach(&self) -> Option<&ToolReach> {
        self.reach.as_deref()
    }

    /// Whether a definition is a server, which has what it likes; so is one of which nobody knows better.
    pub(crate) fn is_server(&self, definition: &str) -> bool {
        let item = self.entry_anywhere(definition).and_then(|entry| entry.item.as_ref());
        !matches!(item, Some(Item::Tool(_) | Item::Prompt(_) | Item::Resource(_) | Item::Template(_)))
    }

    /// Whether whoever looks may see what the definition makes.
    fn may_be_seen(&self, entry: &Entry) -> bool {
        self.reach.as_ref().is_none_or(|reach| match &entry.item {
            Some(Item::Tool(tool)) => reach.sees(&tool.traits()),
            _ => reach.has(&entry.name),
        })
    }

    /// Whether the endpoint has what the definition makes.
    fn has(&self, entry: &Entry) -> bool {
        self.choice().is_none_or(|choice| choice.fits_entry(entry)) && self.may_be_seen(entry)
    }

    fn choice(&self) -> Option<&Choice> {
        self.endpoint.as_ref()?.choice.as_ref()
    }

    /// The definition of exactly that tenant, or of exactly the shared ones: for administrators.
    pub fn entry_of(&self, tenant: Option<&str>, name: &str) -> Option<&Arc<Entry>> {
        self.published.spaces.of(tenant)?.named(&Tool::folded(name))
    }

    /// The tools that may be called, in order of their folded names. Gathered when first asked for: see
    /// [`Snapshot::tool_count`].
    pub fn tools(&self) -> &[Arc<Tool>] {
        self.tools.get_or_init(|| self.entries().filter_map(live_tool).cloned().collect())
    }

    /// The tools by category. Gathered when first asked for.
    fn by_category(&self) -> &Categories {
        self.categories.get_or_init(|| Categories::of(self.tools()))
    }

    /// The categories there are, sorted without regard to case.
    pub fn categories(&self) -> Vec<&str> {
        self.by_category().names(self.tools())
    }

    /// How many categories there are.
    pub fn category_count(&self) -> usize {
        self.by_category().count()
    }

    /// The category of that name, in any case, with at most so many of its tools.
    pub fn tools_in_category(&self, name: &str, most: usize) -> Option<Category<'_>> {
        self.by_category().find(name, most, self.tools())
    }

    /// How many tools may be called.
    pub fn tool_count(&self) -> usize {
        if self.sees_all() { self.published.spaces.shared.tally.tools } else { self.tools().len() }
    }

    /// How many tools there are of each sort.
    pub(crate) fn tool_tally(&self) -> Tally {
        if self.sees_all() { self.published.spaces.shared.tally } else { Tally::of_tools(self.tools()) }
    }

    /// The tools that may be called from there on, in order.
    pub(crate) fn tools_from<'s>(&'s self, start: Bound<&'s str>) -> impl Iterator<Item = &'s Arc<Tool>> {
        self.entries_from(start).filter_map(live_tool)
    }

    /// All definitions that are seen here, in order of their folded names.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries_from(Bound::Unbounded)
    }

    fn entries_from<'s>(&'s self, start: Bound<&'s str>) -> impl Iterator<Item = &'s Arc<Entry>> {
        let own = self.own.as_ref().map(|(_, own)| &**own);
        Overlaid::new(own, &self.published.spaces.shared, start)
            .filter(move |entry| own.is_none_or(|own| entry.tenant.is_some() || !hides(own, entry)))
            .filter(|entry| self.has(entry))
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
        let shelves = [self.shelves(), &self.built_in().shelves];
        shelves.into_iter().find_map(|shelves| shelves.resource(uri)).map(|(resource, _)| resource)
    }

    /// The resource template written like that.
    pub fn template(&self, uri_template: &str) -> Option<&Arc<Resource>> {
        let built_in = || self.built_in().shelves.templates.find(uri_template);
        self.shelves().templates.find(uri_template).or_else(built_in)
    }

    pub(crate) fn limits(&self) -> PageLimits {
        self.published.limits
    }

    /// Whether any tool may be listed otherwise for legacy clients.
    pub(crate) fn any_legacy(&self) -> bool {
        self.spaces_seen().any(|space| space.tally.legacy > 0)
    }

    pub(crate) fn spaces_seen(&self) -> impl Iterator<Item = &Space> {
        let own = self.own.as_ref().map(|(_, own)| &**own);
        own.into_iter().chain([&self.published.spaces.shared])
    }

    pub(crate) fn shelves(&self) -> &Shelves {
        let shared = &self.published.spaces.shared.shelves;
        if self.own.is_none() && self.reach.is_none() {
            return shared;
        }
        self.shelves.get_or_init(|| {
            let own = self.own.as_ref().map(|(_, own)| &**own);
            let hides = |by: &str| own.is_some_and(|own| own.get(by).is_some());
            let nothing = Shelves::default();
            let seen = own.map_or(&nothing, |own| &own.shelves).over(shared, &hides);
            match &self.reach {
                Some(reach) => seen.within(reach, &|by| self.is_server(by)),
                None => seen,
            }
        })
    }

    /// The shelves as they are listed.
    pub(crate) fn listed_shelves(&self) -> &Shelves {
        let built_in = &self.built_in().shelves;
        if built_in.is_empty() {
            return self.shelves();
        }
        self.listed_shelves.get_or_init(|| self.shelves().over(built_in, &|_| false))
    }
}

fn most_pages(of_one: bool, endpoint: Option<&Endpoint>) -> usize {
    let [of_all, of_group, of_tenant] = MOST_PAGES;
    match (of_one, endpoint.and_then(|endpoint| endpoint.group.as_ref())) {
        (true, _) => of_tenant,
        (false, Some(_)) => of_group,
        (false, None) => of_all,
    }
}

/// Whether a tenant's definition of the name hides the upstream that offers a shared tool, hence its tools.
fn hides(own: &Space, shared: &Entry) -> bool {
    shared.source == SourceId::Upstream && own.get(&Tool::folded(&shared.origin)).is_some()
}

/// The tool it has become, if it may be used.
pub(crate) fn live_tool(entry: &Arc<Entry>) -> Option<&Arc<Tool>> {
    match entry.live() {
        Some(Item::Tool(tool)) => Some(tool),
        _ => None,
    }
}
