//! One list of a snapshot: things in order, found by key, and their pages as bytes, serialised when first asked for.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use toolrail_core::ToolName;

use crate::listing::{self, Era, Page};
use crate::offered::{Prompt, Resource};
use crate::tool::Tool;

/// The most entries and about the most bytes on one page.
pub(crate) type PageLimits = (usize, usize);

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

    /// A key in the form by which the list is ordered.
    fn folded(key: &str) -> Cow<'_, str> {
        Cow::Borrowed(key)
    }
}

/// Things in the order of their folded keys.
pub(crate) struct Shelf<T> {
    things: Vec<Arc<T>>,
    limits: PageLimits,
    any_legacy: bool,
    modern: OnceLock<Vec<Page>>,
    legacy: OnceLock<Vec<Page>>,
}

impl<T: Listed> Shelf<T> {
    /// Those things, which must be in order and have different keys.
    pub(crate) fn new(things: Vec<Arc<T>>, limits: PageLimits) -> Self {
        let any_legacy = things.iter().any(|thing| thing.legacy_entry().is_some());
        Self { things, limits, any_legacy, modern: OnceLock::new(), legacy: OnceLock::new() }
    }

    pub(crate) fn things(&self) -> &[Arc<T>] {
        &self.things
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Arc<T>> {
        let wanted = T::folded(key);
        let found = self.things.binary_search_by(|thing| T::folded(thing.key()).cmp(&wanted));
        found.ok().and_then(|index| self.things.get(index))
    }

    /// The first page, or the one after a key.
    pub(crate) fn page(&self, era: Era, after: Option<&str>) -> Page {
        let pages = self.pages(era);
        let Some(after) = after else {
            return pages.first().cloned().unwrap_or_else(Page::empty);
        };
        let boundary = pages.iter().position(|page| page.next_after.as_deref() == Some(after));
        match boundary.and_then(|index| pages.get(index + 1)) {
            Some(page) => page.clone(),
            // The cursor comes from an older snapshot: continue after that key all the same.
            None => self.page_after(era, &T::folded(after)),
        }
    }

    /// Whether a client would see another list.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        let same =
            |(one, another): (&Arc<T>, &Arc<T>)| Arc::ptr_eq(one, another) || one.entry() == another.entry();
        self.things.len() != other.things.len() || !self.things.iter().zip(&other.things).all(same)
    }

    fn pages(&self, era: Era) -> &[Page] {
        match era {
            Era::Legacy if self.any_legacy => self.legacy.get_or_init(|| self.make_pages(&self.things, era)),
            Era::Modern | Era::Legacy => {
                self.modern.get_or_init(|| self.make_pages(&self.things, Era::Modern))
            }
        }
    }

    fn page_after(&self, era: Era, after: &str) -> Page {
        let start = self.things.partition_point(|thing| *T::folded(thing.key()) <= *after);
        self.make_pages(&self.things[start..], era).into_iter().next().unwrap_or_else(Page::empty)
    }

    fn make_pages(&self, things: &[Arc<T>], era: Era) -> Vec<Page> {
        let (most_entries, most_bytes) = self.limits;
        let entry = |thing: &'_ Arc<T>| match era {
            Era::Legacy => thing.legacy_entry().unwrap_or(thing.entry()).clone(),
            Era::Modern => thing.entry().clone(),
        };
        let entries: Vec<_> = things.iter().map(|thing| (thing.key(), entry(thing))).collect();
        listing::pages(&entries, most_entries, most_bytes)
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
