//! What was learnt from use: which tools were called after which queries. The words of a tool's past queries count like one
//! more field of it, damped, so that a few calls never outweigh what a definition says. A copy costs nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rpds::HashTrieMapSync;

use crate::document::Document;
use crate::document::text;
use crate::field::Field;
use crate::index::Index;
use crate::parameters::Parameters;
use crate::query::parsed::ParsedQuery;
use crate::query::probe;
use crate::ranking::candidates;
use crate::ranking::finds;

/// The longest query that is remembered, in bytes.
const LONGEST_QUERY: usize = 400;
/// How much a tool with many past queries is held against one of their words.
const LENGTH_HELD: f32 = 0.3;

/// Past queries by the key of the tool that was called after them.
#[derive(Clone)]
pub struct Learnt {
    past: HashTrieMapSync<Arc<str>, Arc<Vec<Past>>>,
    /// The past queries of each tool as one document.
    index: Index<Arc<str>>,
}

/// A query, and how often the tool was called after it.
#[derive(Clone)]
struct Past {
    query: Arc<str>,
    /// The query without regard to case and signs.
    called: u64,
    times: u32,
}

/// What was learnt about one tool for one query.
pub(crate) struct Lesson {
    /// How much past queries were about each word of this one, from 0 to 1, and what the word is worth among them.
    pub(crate) words: Vec<(f32, f32)>,
    /// Whether one of them was this one.
    pub(crate) same: bool,
    /// The past query to show.
    pub(crate) query: Arc<str>,
}

impl Default for Learnt {
    fn default() -> Self {
        let mut parameters = Parameters::default();
        if let Some(held) = parameters.lengths.get_mut(Field::Description as usize) {
            *held = LENGTH_HELD;
        }
        Self { past: HashTrieMapSync::new_sync(), index: Index::with_parameters(parameters) }
    }
}

impl std::fmt::Debug for Learnt {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Learnt").field("tools", &self.past.size()).finish_non_exhaustive()
    }
}

impl Learnt {
    /// The most queries that are kept for one tool.
    pub const MOST_QUERIES: usize = 20;

    /// Adds `times` calls of the tool of that key after that query. Of more than [`Self::MOST_QUERIES`] the one that was
    /// called after least, and of these the oldest, is forgotten.
    pub fn note(&mut self, key: &str, query: &str, times: u32) {
        self.note_many([(key, query, times)]);
    }

    /// [`Self::note`] for many, which is much cheaper than one by one.
    pub fn note_many<'n>(&mut self, notes: impl IntoIterator<Item = (&'n str, &'n str, u32)>) {
        let mut changed = HashSet::new();
        for (key, query, times) in notes {
            if self.remember(key, query, times) {
                changed.insert(key);
            }
        }
        let tools: Vec<(Arc<str>, String)> =
            changed.into_iter().map(|key| (Arc::from(key), self.text(key))).collect();
        self.index.apply(tools.iter().map(|(key, text)| {
            let document = Document { description: text, ..Document::default() };
            (Arc::clone(key), Some((document, Arc::clone(key))))
        }));
    }

    /// Forgets what was learnt about a tool.
    pub fn forget(&mut self, key: &str) {
        if self.past.remove_mut(key) {
            self.index.apply([(Arc::from(key), None)]);
        }
    }

    /// The past queries of a tool with how often it was called after each, the one that was noted last at the end.
    pub fn queries(&self, key: &str) -> impl Iterator<Item = (&str, u32)> {
        self.past.get(key).into_iter().flat_map(|past| past.iter().map(|past| (&*past.query, past.times)))
    }

    /// Whether nothing was learnt.
    pub fn is_empty(&self) -> bool {
        self.past.is_empty()
    }

    fn remember(&mut self, key: &str, query: &str, times: u32) -> bool {
        let query = query.trim();
        let query = query.get(..query.floor_char_boundary(LONGEST_QUERY)).unwrap_or_default();
        if query.is_empty() || times == 0 {
            return false;
        }
        let called = text::compact(query);
        let mut past = self.past.get(key).map(|past| past.to_vec()).unwrap_or_default();
        let known = past.iter().position(|past| past.called == called).map(|at| past.remove(at));
        let before = known.as_ref().map_or(0, |past| past.times);
        if past.len() >= Self::MOST_QUERIES {
            let least = past.iter().enumerate().min_by_key(|(_, past)| past.times).map_or(0, |(at, _)| at);
            past.remove(least);
        }
        past.push(Past { query: Arc::from(query), called, times: before.saturating_add(times) });
        self.past.insert_mut(Arc::from(key), Arc::new(past));
        known.is_none()
    }

    /// All past queries of a tool.
    fn text(&self, key: &str) -> String {
        self.queries(key).map(|(query, _)| query).collect::<Vec<_>>().join("\n")
    }

    /// What past queries say about this one, by tool.
    pub(crate) fn lessons(&self, parsed: &ParsedQuery, parameters: &Parameters) -> HashMap<Arc<str>, Lesson> {
        let mut lessons = HashMap::new();
        if self.is_empty() {
            return lessons;
        }
        let probes = probe::look_up(&[&self.index], parsed, parameters);
        let slots = candidates::candidates(&self.index, 0, (parsed, &probes), &|_| true);
        let finds = finds::find(0, parsed.words.len(), &probes, &slots);
        for (number, slot) in slots.iter().enumerate() {
            let Some(record) = self.index.record(*slot) else { continue };
            let parts = finds.of(number).iter().zip(&probes.worth);
            let words = parts
                .map(|(find, most)| if *most > 0.0 { (find.value / most, *most) } else { (0.0, 0.0) })
                .collect();
            if let Some(past) = self.past.get(&record.key).filter(|past| !past.is_empty()) {
                let same = past.iter().find(|past| parsed.names.first() == Some(&past.called));
                let Some(shown) = same.or_else(|| past.iter().max_by_key(|past| past.times)) else {
                    continue;
                };
                let lesson = Lesson { words, same: same.is_some(), query: Arc::clone(&shown.query) };
                lessons.insert(Arc::clone(&record.key), lesson);
            }
        }
        lessons
    }
}
