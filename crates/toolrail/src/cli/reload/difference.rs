//! What reading the configuration again did to the definitions, for the log. The tools of upstream servers are left out: they
//! come and go by themselves, and some are not there yet when this is told.

use std::collections::HashMap;

use toolrail_registry::{Entry, Snapshot, SourceId};

/// The most names that are told of each sort.
const MOST_NAMES: usize = 20;

/// The definitions that came, changed and went.
#[derive(Default)]
pub(super) struct Reloaded {
    added: SomeNames,
    changed: SomeNames,
    removed: SomeNames,
}

/// Names as far as they are told, and how many there are.
#[derive(Default)]
struct SomeNames {
    first: Vec<String>,
    count: usize,
}

/// Whose a definition is, and its name.
type Key<'e> = (Option<&'e str>, &'e str);

impl Reloaded {
    /// How `after` differs from `before`.
    pub(super) fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let mut gone: HashMap<Key<'_>, &Entry> = definitions(before).collect();
        let mut told = Self::default();
        for (key, entry) in definitions(after) {
            match gone.remove(&key) {
                None => told.added.add(key),
                Some(old) if !is_same(old, entry) => told.changed.add(key),
                Some(_) => {}
            }
        }
        // In their order, which the map has lost.
        definitions(before)
            .filter(|(key, _)| gone.contains_key(key))
            .for_each(|(key, _)| told.removed.add(key));
        told
    }

    /// Writes it to the log, if there is anything to tell.
    pub(super) fn log(&self) {
        let Self { added, changed, removed } = self;
        if added.count + changed.count + removed.count > 0 {
            let [added, changed, removed] = [added, changed, removed].map(SomeNames::told);
            tracing::info!(
                added,
                changed,
                removed,
                "definitions changed because the configuration was read again"
            );
        }
    }
}

impl SomeNames {
    fn add(&mut self, (tenant, name): Key<'_>) {
        if self.first.len() < MOST_NAMES {
            let of = tenant.map(|tenant| format!(" of {tenant}")).unwrap_or_default();
            self.first.push(format!("{name}{of}"));
        }
        self.count += 1;
    }

    fn told(&self) -> String {
        match self.count - self.first.len() {
            0 if self.count == 0 => "none".to_owned(),
            0 => self.first.join(", "),
            more => format!("{} and {more} more", self.first.join(", ")),
        }
    }
}

fn definitions(snapshot: &Snapshot) -> impl Iterator<Item = (Key<'_>, &Entry)> {
    let written = |entry: &&Entry| match entry.source {
        SourceId::Store | SourceId::Files | SourceId::Demo => true,
        SourceId::Native | SourceId::Upstream => false,
    };
    let entries = snapshot.all_entries().map(|entry| &**entry).filter(written);
    entries.map(|entry| ((entry.tenant.as_deref(), entry.name.as_str()), entry))
}

/// A definition changes with its text, and also if the same text now comes from elsewhere or comes to something else.
fn is_same(old: &Entry, new: &Entry) -> bool {
    let parts = |entry: &Entry| (entry.source, entry.origin.clone(), entry.state(), entry.problems.clone());
    old.document == new.document && parts(old) == parts(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_up_to_a_bound() {
        let mut names = SomeNames::default();
        assert_eq!(names.told(), "none");
        names.add((None, "weather"));
        names.add((Some("acme"), "order"));
        assert_eq!(names.told(), "weather, order of acme");
        (0..30).for_each(|_| names.add((None, "x")));
        assert!(names.told().ends_with("x, x and 12 more"), "{}", names.told());
    }
}
