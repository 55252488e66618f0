//! A list in pages. A copy shares every page with the original until one of them changes it.

use std::sync::Arc;

/// Entries to a page: a change copies one page and the list of pages.
const PAGE: usize = 64;

#[derive(Clone)]
pub(crate) struct Pages<E: Clone> {
    pages: Arc<Vec<Arc<Vec<E>>>>,
}

impl<E: Clone> Default for Pages<E> {
    fn default() -> Self {
        Self { pages: Arc::default() }
    }
}

impl<E: Clone> Pages<E> {
    pub(crate) fn get(&self, at: u32) -> Option<&E> {
        let at = at as usize;
        self.pages.get(at / PAGE)?.get(at % PAGE)
    }

    pub(crate) fn get_mut(&mut self, at: u32) -> Option<&mut E> {
        let at = at as usize;
        let page = Arc::make_mut(&mut self.pages).get_mut(at / PAGE)?;
        Arc::make_mut(page).get_mut(at % PAGE)
    }

    /// Adds an entry and says where it is.
    pub(crate) fn push(&mut self, entry: E) -> u32 {
        let pages = Arc::make_mut(&mut self.pages);
        if pages.last().is_none_or(|page| page.len() == PAGE) {
            pages.push(Arc::new(Vec::with_capacity(PAGE)));
        }
        let before = (pages.len() - 1) * PAGE;
        let Some(page) = pages.last_mut() else { return 0 };
        let page = Arc::make_mut(page);
        page.push(entry);
        index(before + page.len() - 1)
    }

    /// The first place from there on whose entry is wanted.
    pub(crate) fn find_from(&self, from: u32, wanted: impl Fn(&E) -> bool) -> Option<u32> {
        let (first, mut skipped) = (from as usize / PAGE, from as usize % PAGE);
        for (number, page) in self.pages.iter().enumerate().skip(first) {
            let entries = page.get(std::mem::take(&mut skipped).min(page.len())..).unwrap_or_default();
            if let Some(at) = entries.iter().position(&wanted) {
                return Some(index(number * PAGE + page.len() - entries.len() + at));
            }
        }
        None
    }

    pub(crate) fn len(&self) -> usize {
        self.pages.last().map_or(0, |last| (self.pages.len() - 1) * PAGE + last.len())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        self.pages.iter().flat_map(|page| page.iter())
    }
}

/// A place as it is stored: four bytes are enough for four thousand million.
pub(crate) fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
