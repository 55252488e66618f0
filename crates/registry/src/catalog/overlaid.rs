//! The entries a tenant sees, in order: its own, and the shared ones whose names it does not use.

use std::iter::Peekable;
use std::ops::Bound;
use std::sync::Arc;

use super::entry::Entry;
use super::space::Space;

type Entries<'s> = Peekable<Box<dyn Iterator<Item = (&'s Arc<str>, &'s Arc<Entry>)> + 's>>;

/// Walks through two spaces at once.
pub(crate) struct Overlaid<'s> {
    own: Option<Entries<'s>>,
    shared: Entries<'s>,
}

impl<'s> Overlaid<'s> {
    pub(crate) fn new(own: Option<&'s Space>, shared: &'s Space, start: Bound<&'s str>) -> Self {
        let entries = |space: &'s Space| -> Entries<'s> {
            let entries: Box<dyn Iterator<Item = _>> = Box::new(space.from(start));
            entries.peekable()
        };
        Self { own: own.map(entries), shared: entries(shared) }
    }
}

impl<'s> Iterator for Overlaid<'s> {
    type Item = &'s Arc<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = |pair: Option<(&'s Arc<str>, &'s Arc<Entry>)>| pair.map(|(_, entry)| entry);
        let Some(own) = &mut self.own else {
            return entry(self.shared.next());
        };
        let (Some((mine, _)), Some((theirs, _))) = (own.peek(), self.shared.peek()) else {
            return entry(own.next().or_else(|| self.shared.next()));
        };
        match mine.cmp(theirs) {
            std::cmp::Ordering::Less => entry(own.next()),
            std::cmp::Ordering::Greater => entry(self.shared.next()),
            std::cmp::Ordering::Equal => {
                self.shared.next();
                entry(own.next())
            }
        }
    }
}
