//! Lists beside the tools: things in order, found by key, and their pages as bytes, serialised when first asked for.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use toolrail_core::{ToolName, ToolReach, ToolTraits};
use toolrail_protocol::Era;

use super::listing::{Cut, List, Page, PageLimits};
use super::offered::{Prompt, Resource};
use super::tools::Tool;

/// Something that stands in a list.
pub(crate) trait Listed {
    /// What it is asked for by.
    fn key(&self) -> &str;

    /// Its entry in the list.
    fn entry(&self) -> &Bytes;

    /// Its entry for legacy clients, where that differs.
    fn legacy_entry(&self) -> Option<&Bytes> {
        None
    }

    /// Its entry for those clients.
    fn entry_for(&self, era: Era) -> &Bytes {
        match era {
            Era::Legacy => self.legacy_entry().unwrap_or(self.entry()),
            Era::Modern => self.entry(),
        }
    }

    /// A key in the form by which the list is ordered.
    fn folded(key: &str) -> Cow<'_, str> {
        Cow::Borrowed(key)
    }
}

/// A thing, and the folded name of the definition it comes from.
pub(crate) type Made<T> = (Arc<T>, Arc<str>);

/// Things in the order of their keys.
pub(crate) struct Shelf<T> {
    things: Vec<Made<T>>,
    pages: OnceLock<Vec<Page>>,
    mark: OnceLock<u64>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { things: Vec::new(), pages: OnceLock::new(), mark: OnceLock::new() }
    }
}

impl<T: Listed> Shelf<T> {
    /// Those things, which must be in order and have different keys.
    pub(crate) fn new(things: Vec<Made<T>>) -> Self {
        Self { things, pages: OnceLock::new(), mark: OnceLock::new() }
    }

    /// A tenant's own things, and the shared ones whose keys it does not use and whose definitions it does not hide.
    fn over(&self, shared: &Self, hides: &dyn Fn(&str) -> bool) -> Self {
        let seen = shared.things.iter().filter(|(thing, by)| !hides(by) && self.find(thing.key()).is_none());
        let mut things: Vec<_> = self.things.iter().chain(seen).cloned().collect();
        things.sort_by(|(one, _), (another, _)| one.key().cmp(another.key()));
        Self::new(things)
    }

    fn keeping(&self, is_kept: impl Fn(&Made<T>) -> bool) -> Self {
        Self::new(self.things.iter().filter(|made| is_kept(made)).cloned().collect())
    }

    pub(crate) fn things(&self) -> impl Iterator<Item = &Arc<T>> {
        self.things.iter().map(|(thing, _)| thing)
    }

    /// The things, each with the folded name of the definition it comes from.
    pub(crate) fn made(&self) -> impl Iterator<Item = &Made<T>> {
        self.things.iter()
    }

    /// The same, but for chance, as long as a client would see the same list.
    pub(crate) fn mark(&self) -> u64 {
        *self.mark.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            self.things().for_each(|thing| thing.entry().hash(&mut hasher));
            hasher.finish()
        })
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Arc<T>> {
        self.find_made(key).map(|(thing, _)| thing)
    }

    fn find_made(&self, key: &str) -> Option<&Made<T>> {
        let found = self.things.binary_search_by(|(thing, _)| thing.key().cmp(key));
        found.ok().and_then(|index| self.things.get(index))
    }

    /// The first page, or the one after a key.
    fn page(&self, after: Option<&str>, limits: PageLimits) -> Page {
        let pages = self.pages.get_or_init(|| self.make_pages(limits));
        let Some(after) = after else {
            return pages.first().cloned().unwrap_or_else(Page::empty);
        };
        let boundary = pages.iter().position(|page| page.next_after.as_deref() == Some(after));
        if let Some(page) = boundary.and_then(|index| pages.get(index + 1)) {
            return page.clone();
        }
        // The cursor comes from an older snapshot: continue after that key all the same.
        self.cut(self.things.partition_point(|(thing, _)| thing.key() <= after), limits)
    }

    /// Whether a client would see another list.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        let same =
            |(one, another): (&Arc<T>, &Arc<T>)| Arc::ptr_eq(one, another) || one.entry() == another.entry();
        self.things.len() != other.things.len() || !self.things().zip(other.things()).all(same)
    }

    fn make_pages(&self, limits: PageLimits) -> Vec<Page> {
        let mut pages = vec![self.cut(0, limits)];
        while let Some(after) = pages.last().and_then(|page| page.next_after.as_deref()) {
            let start = self.things.partition_point(|(thing, _)| thing.key() <= after);
            pages.push(self.cut(start, limits));
        }
        pages
    }

    fn cut(&self, start: usize, limits: PageLimits) -> Page {
        let things = self.things.get(start..).unwrap_or_default().iter();
        Cut::new(limits).page(things.map(|(thing, _)| (Cow::Borrowed(thing.key()), thing.entry())))
    }
}

/// What is listed beside the tools.
#[derive(Default)]
pub(crate) struct Shelves {
    pub(crate) prompts: Shelf<Prompt>,
    pub(crate) resources: Shelf<Resource>,
    pub(crate) templates: Shelf<Resource>,
}

impl Shelves {
    /// What a tenant sees: its own over the shared ones, without those whose definitions it hides.
    pub(crate) fn over(&self, shared: &Self, hides: &dyn Fn(&str) -> bool) -> Self {
        Self {
            prompts: self.prompts.over(&shared.prompts, hides),
            resources: self.resources.over(&shared.resources, hides),
            templates: self.templates.over(&shared.templates, hides),
        }
    }

    /// What somebody sees who does not see every tool: prompts by their names, resources by their definitions. Whoever sees
    /// all tools of a server sees its resources.
    pub(crate) fn within(&self, reach: &ToolReach, is_server: &dyn Fn(&str) -> bool) -> Self {
        let has_prompt = |name: &str, by: &str| {
            let kind = if is_server(by) { "mcp" } else { "" };
            reach.sees(&ToolTraits { kind, ..ToolTraits::named(name) })
        };
        let has_resource = |by: &str| if is_server(by) { reach.has_things_of(by) } else { reach.has(by) };
        Self {
            prompts: self.prompts.keeping(|(prompt, by)| has_prompt(prompt.key(), by)),
            resources: self.resources.keeping(|(_, by)| has_resource(by)),
            templates: self.templates.keeping(|(_, by)| has_resource(by)),
        }
    }

    /// The resource of that URI, or the first template that stands for it, with the definition it comes from.
    pub(crate) fn resource(&self, uri: &str) -> Option<&Made<Resource>> {
        let template = || self.templates.made().find(|(template, _)| template.stands_for(uri));
        self.resources.find_made(uri).or_else(template)
    }

    /// Whether nothing is on them.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { prompts, resources, templates } = self;
        prompts.things.is_empty() && resources.things.is_empty() && templates.things.is_empty()
    }

    /// The first page of a list, or the one after a key; none of tools, which are listed from the entries.
    pub(crate) fn page(&self, list: List, after: Option<&str>, limits: PageLimits) -> Page {
        match list {
            List::Tools => Page::empty(),
            List::Prompts => self.prompts.page(after, limits),
            List::Resources => self.resources.page(after, limits),
            List::Templates => self.templates.page(after, limits),
        }
    }
}

impl Listed for Tool {
    fn key(&self) -> &str {
        self.name.as_str()
    }

    fn entry(&self) -> &Bytes {
        &self.entry
    }

    fn legacy_entry(&self) -> Option<&Bytes> {
        self.legacy_entry.as_ref()
    }

    fn folded(key: &str) -> Cow<'_, str> {
        if key.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(ToolName::fold(key))
        } else {
            Cow::Borrowed(key)
        }
    }
}

impl Listed for Prompt {
    fn key(&self) -> &str {
        &self.name
    }

    fn entry(&self) -> &Bytes {
        &self.entry
    }
}

impl Listed for Resource {
    fn key(&self) -> &str {
        &self.key
    }

    fn entry(&self) -> &Bytes {
        &self.entry
    }
}
