//! The pages of `tools/list` of one snapshot, each serialised when first asked for and kept as far as there is room.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use toolrail_protocol::Era;

use super::listing::Page;

/// Pages by the generation of clients and the key after which they start.
pub(crate) struct ToolPages {
    kept: Mutex<KeptPages>,
    most_bytes: usize,
}

#[derive(Default)]
struct KeptPages {
    pages: HashMap<(Era, Option<Box<str>>), Page>,
    bytes: usize,
}

impl ToolPages {
    /// Keeps pages of at most so many bytes altogether.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), most_bytes }
    }

    /// The page after that key, which `make` makes if it is not kept.
    pub(crate) fn page(&self, era: Era, after: Option<&str>, make: impl FnOnce() -> Page) -> Page {
        let key = (era, after.map(Into::into));
        if let Some(page) = self.kept().pages.get(&key) {
            return page.clone();
        }
        let page = make();
        let mut kept = self.kept();
        // Whoever makes up cursors must not push out what everybody asks for: only pages that follow one another are kept.
        let follows = |page: &Page| page.next_after.as_deref() == after;
        let in_line = after.is_none() || kept.pages.values().any(follows);
        if in_line && kept.bytes + page.entries.len() <= self.most_bytes {
            kept.bytes += page.entries.len();
            kept.pages.insert(key, page.clone());
        }
        page
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, KeptPages> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
