//! One search over one or several indexes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::index::{Index, Record};
use crate::parameters::Parameters;
use crate::query::parsed::{self, ParsedQuery};
use crate::query::probe::{self, Probes};
use crate::ranking::candidates;
use crate::ranking::explain;
use crate::ranking::finds::{self, Finds};
use crate::ranking::hit::{Hit, Matched};
use crate::ranking::learnt::{Learnt, Lesson};
use crate::ranking::scorer::Scorer;

/// What to look for.
pub struct Query<'a, T> {
    /// What somebody wants to do, in words.
    pub text: &'a str,
    /// The most hits.
    pub limit: usize,
    /// Whether a document may be found at all.
    pub accept: &'a (dyn Fn(&T) -> bool + Sync),
    /// How much more likely than others a document is what is wanted, whatever the words: 0 for one that was never used, 1 at
    /// most.
    pub prior: &'a (dyn Fn(&T) -> f32 + Sync),
    /// What was learnt from use, if anything.
    pub learnt: Option<&'a Learnt>,
}

/// What a search takes beside the query.
pub struct Extras<'a, T> {
    /// The numbers of the ranking; the indexes have their own for what is decided when a document is indexed.
    pub parameters: &'a Parameters,
    /// What is known of the meaning, if anything.
    pub meaning: Option<Meaning<'a, T>>,
}

/// How near documents are to the query by meaning.
pub struct Meaning<'a, T> {
    /// From 0 to 1 for a document; asked only of documents that may be among the hits.
    pub score: &'a (dyn Fn(&T) -> f32 + Sync),
    /// Keys of documents to look at, whatever words they have.
    pub candidates: &'a [Arc<str>],
}

/// The best hits of all those indexes taken together, the best first; never one without a score.
pub fn search<T: Clone>(indexes: &[&Index<T>], query: &Query<'_, T>) -> Vec<Hit<T>> {
    search_with(indexes, query, &Extras { parameters: &Parameters::default(), meaning: None })
}

/// [`search`] with other numbers, or with what is known of the meaning.
pub fn search_with<T: Clone>(
    indexes: &[&Index<T>],
    query: &Query<'_, T>,
    extras: &Extras<'_, T>,
) -> Vec<Hit<T>> {
    let search = Search::new(indexes, query, extras);
    let found = search.run();
    found.best.iter().map(|best| search.hit(best, &found)).collect()
}

struct Search<'s, 'i, T: Clone> {
    indexes: &'s [&'i Index<T>],
    query: &'s Query<'s, T>,
    extras: &'s Extras<'s, T>,
    parsed: ParsedQuery,
    probes: Probes<'i>,
    lessons: HashMap<Arc<str>, Lesson>,
}

/// A document that is among the best.
struct RankedDocument<'i, T> {
    score: f32,
    record: &'i Arc<Record<T>>,
    /// Its index, and its number among the candidates of that index.
    place: (usize, usize),
    learnt: f32,
    meaning: f32,
}

struct RankedDocuments<'i, T> {
    best: Vec<RankedDocument<'i, T>>,
    /// What was found in the candidates of each index.
    finds: Vec<Finds>,
}

/// A hit that has so small a part of the best one's score only fills the list.
const NOTHING_TO_IT: f32 = 0.08;

/// The best scores so far, as many as hits are wanted, the best first.
struct Reached {
    best: Vec<f32>,
    most: usize,
}

impl Reached {
    fn note(&mut self, score: f32) {
        let at = self.best.partition_point(|best| *best >= score);
        if at < self.most {
            self.best.truncate(self.most - 1);
            self.best.insert(at, score);
        }
    }

    /// What is less than this is not among the best.
    fn least(&self) -> f32 {
        if self.best.len() < self.most { f32::MIN } else { self.best.last().copied().unwrap_or(f32::MIN) }
    }
}

impl<'s, 'i, T: Clone> Search<'s, 'i, T> {
    fn new(indexes: &'s [&'i Index<T>], query: &'s Query<'s, T>, extras: &'s Extras<'s, T>) -> Self {
        let mut parsed = parsed::read(query.text, extras.parameters);
        probe::correct(indexes, &mut parsed, extras.parameters);
        let probes = probe::look_up(indexes, &parsed, extras.parameters);
        let lessons =
            query.learnt.map(|learnt| learnt.lessons(&parsed, extras.parameters)).unwrap_or_default();
        Self { indexes, query, extras, parsed, probes, lessons }
    }

    fn run(&self) -> RankedDocuments<'i, T> {
        let mut found = RankedDocuments { best: Vec::new(), finds: Vec::new() };
        let mut reached = Reached { best: Vec::new(), most: self.query.limit };
        // What may come to the words of a document.
        let parameters = self.extras.parameters;
        let meaning = if self.extras.meaning.is_some() { parameters.meaning } else { 0.0 };
        let other = parameters.prior + meaning;
        for (at, index) in self.indexes.iter().enumerate() {
            let mut candidates =
                candidates::candidates(index, at, (&self.parsed, &self.probes), self.query.accept);
            self.add_others(index, &mut candidates);
            let finds = finds::find(at, self.parsed.words.len(), &self.probes, &candidates);
            let mut scorer = Scorer::new(index, at, (&self.parsed, &self.probes, self.extras.parameters));
            found.best.reserve(candidates.len());
            for number in finds.likeliest_first(self.query.limit) {
                let Some(record) = candidates.get(number).and_then(|slot| index.record(*slot)) else {
                    continue;
                };
                let finds = finds.of(number);
                let lesson = self.lessons.get(&record.key);
                let Some(words) = scorer.score(record, (finds, lesson), reached.least() - other) else {
                    continue;
                };
                let mut untaught = || scorer.score(record, (finds, None), f32::MIN).unwrap_or_default();
                let taught = if lesson.is_some() { words - untaught() } else { 0.0 };
                let best = self.weigh(record, (words, taught), (at, number));
                if best.score > 0.0 {
                    reached.note(best.score);
                    found.best.push(best);
                }
            }
            found.finds.push(finds);
        }
        self.order(&mut found);
        found
    }

    /// The best first; of equals that which has more of the query's words, then the shorter one.
    fn order(&self, found: &mut RankedDocuments<'i, T>) {
        let RankedDocuments { best, finds } = found;
        let words = |best: &RankedDocument<'_, T>| {
            let finds = finds.get(best.place.0).map_or(&[][..], |finds| finds.of(best.place.1));
            finds.iter().filter(|find| find.value > 0.0).count()
        };
        let length = |best: &RankedDocument<'_, T>| best.record.length();
        best.sort_unstable_by(|one, another| {
            let by_score = another.score.total_cmp(&one.score);
            let by_words = || words(another).cmp(&words(one)).then_with(|| length(one).cmp(&length(another)));
            by_score.then_with(by_words).then_with(|| one.record.key.cmp(&another.record.key))
        });
        best.truncate(self.query.limit);
        let least = best.first().map_or(0.0, |best| best.score * NOTHING_TO_IT);
        best.retain(|best| best.score >= least);
    }

    /// Adds the documents that were learnt, or that mean what is wanted, whatever their words.
    fn add_others(&self, index: &Index<T>, candidates: &mut Vec<u32>) {
        let near = self.extras.meaning.as_ref().map_or(&[][..], |meaning| meaning.candidates);
        let others = self.lessons.keys().chain(near).filter_map(|key| index.slot(key));
        let before = candidates.len();
        candidates.extend(
            others
                .filter(|slot| index.record(*slot).is_some_and(|record| (self.query.accept)(&record.value))),
        );
        if candidates.len() > before {
            candidates.sort_unstable();
            candidates.dedup();
        }
    }

    /// Adds to the words what else speaks for a document.
    fn weigh(
        &self,
        record: &'i Arc<Record<T>>,
        (words, learnt): (f32, f32),
        place: (usize, usize),
    ) -> RankedDocument<'i, T> {
        let parameters = self.extras.parameters;
        let meaning = self
            .extras
            .meaning
            .as_ref()
            .map_or(0.0, |meaning| (meaning.score)(&record.value).clamp(0.0, 1.0));
        let meaning = parameters.meaning * meaning;
        let said = words + meaning;
        // What is often used comes first among equals, but nothing is found for that alone.
        let prior = if said > 0.0 {
            parameters.prior * (self.query.prior)(&record.value).clamp(0.0, 1.0)
        } else {
            0.0
        };
        RankedDocument { score: said + prior, record, place, learnt, meaning }
    }

    fn hit(&self, best: &RankedDocument<'_, T>, found: &RankedDocuments<'_, T>) -> Hit<T> {
        let finds = found.finds.get(best.place.0).map_or(&[][..], |finds| finds.of(best.place.1));
        let mut matched =
            explain::explain(self.query.text, &self.parsed, (&self.probes, finds), self.extras.parameters);
        let whole = || self.query.text.trim().chars().take(200).collect::<String>();
        if best.learnt > 0.0 {
            let by = self.lessons.get(&best.record.key).map(|lesson| lesson.query.to_string());
            matched.push(Matched { word: whole(), by, field: "learnt", weight: best.learnt });
        }
        if best.meaning > 0.0 {
            matched.push(Matched { word: whole(), by: None, field: "meaning", weight: best.meaning });
        }
        matched.sort_by(|one, another| another.weight.total_cmp(&one.weight));
        Hit { value: best.record.value.clone(), score: scale(best.score), matched }
    }
}

/// Brings a sum that has no upper bound between 0 and 1, in the same order.
fn scale(score: f32) -> f32 {
    (1.0 - (-2.0 * score).exp()).clamp(f32::MIN_POSITIVE, 1.0)
}
