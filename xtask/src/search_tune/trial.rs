//! How good given numbers are on some of the queries. Analysing tools is dear, so an index is kept as long as its numbers hold.

use std::num::NonZero;
use std::sync::Mutex;
use std::thread;

use toolrail_search::{Extras, Index, Parameters, search_with};

use crate::search_eval::{DEPTH, Form, Quality, Query, Set};

/// What is used when a document is indexed: [`Parameters::weights`], [`Parameters::lengths`], [`Parameters::saturation`].
type Indexed = (Vec<f32>, f32);

/// The sets, and the indexes of the last numbers.
pub(super) struct Trial<'a> {
    sets: &'a [Set],
    last: Mutex<Option<(Indexed, Vec<Index<usize>>)>>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(sets: &'a [Set]) -> Self {
        Self { sets, last: Mutex::new(None) }
    }

    /// The mean nDCG@10 over the sets, of the queries that are chosen.
    pub(super) fn score(&self, parameters: &Parameters, chosen: impl Fn(&Query) -> bool + Sync) -> f64 {
        let indexes = self.indexes(parameters);
        let of_sets: Vec<Quality> = self
            .sets
            .iter()
            .zip(&indexes)
            .map(|(set, index)| {
                let queries: Vec<&Query> = set.queries.iter().filter(|query| chosen(query)).collect();
                answer_all(index, &queries, parameters)
            })
            .collect();
        Quality::mean(&of_sets).ndcg_at_10
    }

    fn indexes(&self, parameters: &Parameters) -> Vec<Index<usize>> {
        let lists = parameters.weights.iter().chain(&parameters.lengths).copied().collect();
        let indexed: Indexed = (lists, parameters.saturation);
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((numbers, indexes)) = &*last
            && *numbers == indexed
        {
            return indexes.clone();
        }
        let indexes: Vec<Index<usize>> =
            self.sets.iter().map(|set| set.index(Form::Whole, parameters)).collect();
        *last = Some((indexed, indexes.clone()));
        indexes
    }
}

/// On all cores.
fn answer_all(index: &Index<usize>, queries: &[&Query], parameters: &Parameters) -> Quality {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share = queries.len().div_ceil(cores).max(1);
    let single: Vec<Quality> = thread::scope(|scope| {
        let workers: Vec<_> = queries
            .chunks(share)
            .map(|some| {
                scope.spawn(|| some.iter().map(|query| answer(index, query, parameters)).collect::<Vec<_>>())
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    Quality::percent(&single)
}

fn answer(index: &Index<usize>, query: &Query, parameters: &Parameters) -> Quality {
    let request = toolrail_search::Query {
        text: &query.text,
        limit: DEPTH,
        accept: &|_| true,
        prior: &|_| 0.0,
        learnt: None,
    };
    let hits = search_with(&[index], &request, &Extras { parameters, meaning: None });
    let ranked: Vec<usize> = hits.iter().map(|hit| hit.value).collect();
    Quality::of(&ranked, &query.relevant)
}
