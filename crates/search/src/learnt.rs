//! What was learnt from use: which tools were called after which queries. Damped, so that a few calls never outweigh what a
//! definition says. A copy costs nothing.

use std::collections::HashMap;
use std::sync::Arc;

use rpds::HashTrieMapSync;

use crate::document::Document;
use crate::field::Field;
use crate::index::Index;
use crate::parameters::Parameters;
use crate::query::{self, Extras, Query};

/// The longest query that is remembered, in bytes.
const LONGEST_QUERY: usize = 400;
/// How much a long past query is held against its words: it was about several things.
const LENGTH_HELD: f32 = 0.75;
/// How many past queries are looked at.
const NEAREST: usize = 48;

/// Past queries by the key of the tool that was called after them.
#[derive(Clone)]
pub struct Learnt {
    past: HashTrieMapSync<Arc<str>, Arc<Vec<Past>>>,
    /// Every past query as a document of its own.
    index: Index<Taught>,
}

/// A query, and how often the tool was called after it.
#[derive(Clone)]
struct Past {
    query: Arc<str>,
    times: u32,
}

/// What a past query says.
#[derive(Clone)]
struct Taught {
    tool: Arc<str>,
    query: Arc<str>,
    times: u32,
}

/// What was learnt about one tool for one query.
pub(crate) struct Lesson {
    /// From 0 to 1.
    pub(crate) score: f32,
    /// The past query that is nearest.
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
        out.debug_struct("Learnt").field("tools", &self.past.size()).field("queries", &self.index.len()).finish()
    }
}

impl Learnt {
    /// The most queries that are kept for one tool.
    pub const MOST_QUERIES: usize = 20;

    /// Adds `times` calls of the tool of that key after that query. Of more than [`Self::MOST_QUERIES`] the one that was
    /// called after least, and of these the oldest, is forgotten.
    pub fn note(&mut self, key: &str, query: &str, times: u32) {
        let query = query.trim();
        let query = query.get(..query.floor_char_boundary(LONGEST_QUERY)).unwrap_or_default();
        if query.is_empty() || times == 0 {
            return;
        }
        let mut past = self.past.get(key).map(|past| past.to_vec()).unwrap_or_default();
        let known = past.iter().position(|past| &*past.query == query).map(|at| past.remove(at));
        let (query, before) = known.map_or_else(|| (Arc::from(query), 0), |past| (past.query, past.times));
        let times = before.saturating_add(times);
        let mut changes = Vec::new();
        if past.len() >= Self::MOST_QUERIES {
            let least = past.iter().enumerate().min_by_key(|(_, past)| past.times).map_or(0, |(at, _)| at);
            changes.push((name(key, &past.remove(least).query), None));
        }
        let tool: Arc<str> = Arc::from(key);
        past.push(Past { query: Arc::clone(&query), times });
        self.past.insert_mut(Arc::clone(&tool), Arc::new(past));
        let document = Document { description: &query, ..Document::default() };
        let taught = Taught { tool, query: Arc::clone(&query), times };
        changes.push((name(key, &query), Some((document, taught))));
        self.index.apply(changes);
    }

    /// Forgets what was learnt about a tool.
    pub fn forget(&mut self, key: &str) {
        let Some(past) = self.past.get(key).cloned() else { return };
        self.past.remove_mut(key);
        self.index.apply(past.iter().map(|past| (name(key, &past.query), None)));
    }

    /// The past queries of a tool with how often it was called after each, the last one that was noted last.
    pub fn queries(&self, key: &str) -> impl Iterator<Item = (&str, u32)> {
        self.past.get(key).into_iter().flat_map(|past| past.iter().map(|past| (&*past.query, past.times)))
    }

    /// What past queries near to this one say, by tool.
    pub(crate) fn lessons(&self, text: &str, parameters: &Parameters) -> HashMap<Arc<str>, Lesson> {
        let mut lessons: HashMap<Arc<str>, Lesson> = HashMap::new();
        if self.index.is_empty() {
            return lessons;
        }
        let query = Query { text, limit: NEAREST, accept: &|_| true, prior: &|_| 0.0, learnt: None };
        let extras = Extras { parameters, meaning: None };
        for (score, record) in query::ranked(&[&self.index], &query, &extras) {
            let Taught { tool, query, times } = &record.value;
            // A second call says less than the first, and a hundredth hardly anything.
            #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
            let trust = 1.0 - 0.5 / (1.0 + *times as f32);
            let score = trust * score.min(1.0).powf(parameters.nearness);
            // The nearest comes first; further ones raise their voice, too, but never to more than one that is the same.
            match lessons.get_mut(tool) {
                Some(lesson) => lesson.score += (1.0 - lesson.score) * parameters.voices * score,
                None => {
                    lessons.insert(Arc::clone(tool), Lesson { score, query: Arc::clone(query) });
                }
            }
        }
        lessons
    }
}

fn name(tool: &str, query: &str) -> Arc<str> {
    Arc::from(format!("{tool}\n{query}"))
}
