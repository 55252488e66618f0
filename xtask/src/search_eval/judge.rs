//! Puts the queries of a set to the ranker and judges what comes back.

use std::time::Instant;

use toolrail_search::Learnt;

use super::data::{Query, Set};
use super::metrics::{Quality, percentile, spread};
use super::ranker::{Prepared, Ranker};

/// How one set was answered.
#[derive(Default)]
pub(crate) struct Judged {
    /// The set's name.
    pub(crate) name: String,
    /// The mean over its queries.
    pub(crate) quality: Quality,
    /// The same before anything was learnt, where something was.
    pub(crate) before: Option<Quality>,
    /// Each query in the set's order.
    pub(crate) answers: Vec<Answer>,
}

/// How one query was answered.
#[derive(Clone, Default)]
pub(crate) struct Answer {
    pub(crate) ranked: Vec<usize>,
    pub(crate) quality: Quality,
    pub(crate) microseconds: f64,
}

impl Judged {
    fn new(set: &Set, answers: Vec<Answer>) -> Self {
        Self { name: set.name.clone(), quality: mean(&answers), before: None, answers }
    }

    /// The time that this share of the queries stayed within.
    pub(crate) fn microseconds(&self, percent: usize) -> f64 {
        percentile(self.answers.iter().map(|answer| answer.microseconds), percent)
    }
}

fn mean(answers: &[Answer]) -> Quality {
    Quality::percent(&answers.iter().map(|answer| answer.quality).collect::<Vec<_>>())
}

/// Judges a set with what its tools tell, and nothing else.
pub(crate) fn judge(set: &Set, ranker: &Ranker) -> Judged {
    let prepared = ranker.prepare(set);
    let ask = |query: &Query| answer(&prepared, query, None);
    // The first round loads what is loaded lazily.
    set.queries.iter().take(50).for_each(|query| drop(ask(query)));
    Judged::new(set, set.queries.iter().map(ask).collect())
}

/// Judges each half of the queries after the other half was learnt.
pub(super) fn learning(set: &Set, ranker: &Ranker) -> Judged {
    let prepared = ranker.prepare(set);
    let learnt = [0, 1].map(|half| learnt_from(set, half));
    let with = |query: &Query| answer(&prepared, query, Some(&learnt[1 - half_of(query)]));
    let before = mean(&set.queries.iter().map(|query| answer(&prepared, query, None)).collect::<Vec<_>>());
    let answers = set.queries.iter().map(with).collect();
    Judged { before: Some(before), ..Judged::new(set, answers) }
}

/// What calls after the queries of one half would have taught.
fn learnt_from(set: &Set, half: usize) -> Learnt {
    let mut learnt = Learnt::default();
    for query in set.queries.iter().filter(|query| half_of(query) == half) {
        let mut relevant: Vec<usize> = query.relevant.iter().copied().collect();
        relevant.sort_unstable();
        for place in relevant {
            learnt.note(&set.tools[place].id, &query.text, 1);
        }
    }
    learnt
}

/// 0 or 1: the same on every machine and in every order of the file.
fn half_of(query: &Query) -> usize {
    usize::from(spread(&query.id).is_multiple_of(2))
}

fn answer(prepared: &Prepared<'_>, query: &Query, learnt: Option<&Learnt>) -> Answer {
    let started = Instant::now();
    let ranked = prepared.find(&query.text, learnt);
    let microseconds = started.elapsed().as_secs_f64() * 1e6;
    Answer { quality: Quality::of(&ranked, &query.relevant), ranked, microseconds }
}

#[cfg(test)]
mod tests {
    use super::super::data::{read_all, tests::small_set};
    use super::*;

    #[test]
    fn a_set_is_answered_query_by_query() {
        let folder = small_set();
        let set = &read_all(folder.path(), None, &[]).unwrap()[0];
        let judged = judge(set, &Ranker::default());
        assert_eq!(judged.answers.iter().map(|answer| answer.ranked.clone()).collect::<Vec<_>>(), [[0], [1]]);
        assert!((judged.quality.ndcg_at_10 - 100.0).abs() < 1e-9);
        assert!(judged.microseconds(99) >= judged.microseconds(50) && judged.microseconds(50) > 0.0);
    }

    #[test]
    fn the_halves_are_of_about_the_same_size_and_always_the_same() {
        let query = |number: usize| Query {
            id: format!("query-{number}"),
            text: String::new(),
            relevant: std::iter::once(0).collect(),
        };
        let first = (0..1000).filter(|number| half_of(&query(*number)) == 0).count();
        assert!((430..570).contains(&first), "{first}");
        assert_eq!(half_of(&query(1)), half_of(&query(1)));
    }

    #[test]
    fn what_is_learnt_is_never_from_the_half_that_is_judged() {
        let folder = small_set();
        let set = &read_all(folder.path(), None, &[]).unwrap()[0];
        let judged = learning(set, &Ranker::default());
        assert_eq!(judged.answers.len(), 2);
        assert!(judged.before.is_some());
    }
}
