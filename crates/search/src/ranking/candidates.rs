//! The first stage: from the lists of documents to the few hundred that are looked at closely.

use std::cell::RefCell;

use crate::index::Index;
use crate::query::parsed::ParsedQuery;
use crate::query::probe::{List, Probes};

/// How many documents are looked at closely, of the whole query and of each clause.
const CANDIDATES: usize = 96;
const CLAUSE_CANDIDATES: usize = 24;
/// How many of all clauses together, unless that makes too few of each.
const ALL_CLAUSE_CANDIDATES: usize = 160;
const FEWEST_CLAUSE_CANDIDATES: usize = 8;
/// How many postings are gone through to choose the candidates. Beyond that, the lists of which a find is worth least are left
/// out here: words that nearly every document has. The candidates themselves are scored with all of them.
const MOST_POSTINGS: usize = 40_000;

/// A document with so small a part of the best one's sum is no candidate.
const FAR_BELOW: f32 = 0.25;

/// Sums that are kept for the next search, so that none allocates for each document.
#[derive(Default)]
struct Sums {
    whole: Vec<f32>,
    clause: Vec<f32>,
    touched: Vec<u32>,
    touched_by_clause: Vec<u32>,
    ranked: Vec<(f32, u32)>,
}

thread_local! {
    static SUMS: RefCell<Sums> = RefCell::default();
}

/// The slots of the documents of one index that may be among the best, in rising order.
pub(crate) fn candidates<T: Clone>(
    index: &Index<T>,
    at: usize,
    (parsed, probes): (&ParsedQuery, &Probes<'_>),
    accept: &(dyn Fn(&T) -> bool + Sync),
) -> Vec<u32> {
    SUMS.with(|sums| match sums.try_borrow_mut() {
        Ok(mut sums) => gather(index, at, (parsed, probes), (accept, &mut sums)),
        // A filter that searches itself gets sums of its own.
        Err(_) => gather(index, at, (parsed, probes), (accept, &mut Sums::default())),
    })
}

fn gather<T: Clone>(
    index: &Index<T>,
    at: usize,
    (parsed, probes): (&ParsedQuery, &Probes<'_>),
    (accept, sums): (&(dyn Fn(&T) -> bool + Sync), &mut Sums),
) -> Vec<u32> {
    let size = index.records.len();
    if sums.whole.len() < size {
        sums.whole.resize(size, 0.0);
        sums.clause.resize(size, 0.0);
    }
    let lists = worthwhile(at, probes);
    let mut chosen = Vec::with_capacity(CANDIDATES);
    let each =
        (ALL_CLAUSE_CANDIDATES / parsed.clauses.max(1)).clamp(FEWEST_CLAUSE_CANDIDATES, CLAUSE_CANDIDATES);
    for clause in 0..parsed.clauses {
        add_clause(&lists, clause, (parsed, probes), sums);
        if parsed.clauses > 1 {
            let Sums { clause, touched_by_clause, ranked, .. } = sums;
            take(touched_by_clause, clause, ranked);
            DocumentChooser { index, accept }.choose(ranked, each, &mut chosen);
        }
    }
    let Sums { whole, touched, ranked, .. } = sums;
    take(touched, whole, ranked);
    DocumentChooser { index, accept }.choose(ranked, CANDIDATES, &mut chosen);
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// The lists that are worth going through, in the order of the query.
fn worthwhile<'p, 'i>(at: usize, probes: &'p Probes<'i>) -> Vec<&'p List<'i>> {
    let mut lists: Vec<&List<'_>> = probes.lists.get(at).map_or(&[][..], Vec::as_slice).iter().collect();
    let whole: usize = lists.iter().map(|list| list.postings.len()).sum();
    if whole <= MOST_POSTINGS {
        return lists;
    }
    let gain = |list: &List<'_>| probes.all.get(list.probe).map_or(0.0, |probe| probe.gain);
    lists.sort_by(|one, another| gain(another).total_cmp(&gain(one)));
    let mut postings = 0;
    lists.retain(|list| {
        let first = postings == 0;
        postings += list.postings.len();
        first || postings <= MOST_POSTINGS
    });
    lists.sort_unstable_by_key(|list| list.probe);
    lists
}

/// Adds what the words of a clause are worth; a word that stands in several counts for the whole in the first.
fn add_clause(
    lists: &[&List<'_>],
    clause: usize,
    (parsed, probes): (&ParsedQuery, &Probes<'_>),
    sums: &mut Sums,
) {
    for list in lists {
        let Some(probe) = probes.all.get(list.probe) else { continue };
        let clauses = parsed.words.get(probe.word).map_or(0, |word| word.clauses);
        if clauses & (1 << clause) == 0 {
            continue;
        }
        let first = clauses.trailing_zeros() as usize == clause;
        let gain = probe.gain / 65535.0;
        if first {
            add_list(list, gain, (&mut sums.whole, &mut sums.touched));
        }
        if parsed.clauses > 1 {
            add_list(list, gain, (&mut sums.clause, &mut sums.touched_by_clause));
        }
    }
}

/// Adds what the documents of a list gain, and notes those that had nothing yet.
fn add_list(list: &List<'_>, gain: f32, (sums, touched): (&mut [f32], &mut Vec<u32>)) {
    touched.reserve(list.postings.len());
    for block in list.postings.blocks() {
        for posting in block.iter() {
            let Some(sum) = sums.get_mut(posting.slot as usize) else { continue };
            if *sum == 0.0 {
                touched.push(posting.slot);
            }
            *sum += gain * f32::from(posting.impact);
        }
    }
}

/// Takes the sums of the documents that were touched, and leaves none behind. Those far below the best are left out.
fn take(touched: &mut Vec<u32>, sums: &mut [f32], ranked: &mut Vec<(f32, u32)>) {
    let sum = |slot: &u32| sums.get(*slot as usize).copied().unwrap_or_default();
    let least = touched.iter().map(sum).fold(0.0, f32::max) * FAR_BELOW;
    ranked.clear();
    ranked.extend(touched.drain(..).filter_map(|slot| {
        let sum = sums.get_mut(slot as usize)?;
        Some((std::mem::take(sum), slot)).filter(|taken| taken.0 >= least)
    }));
}

/// Chooses the best documents.
struct DocumentChooser<'s, T: Clone> {
    index: &'s Index<T>,
    accept: &'s (dyn Fn(&T) -> bool + Sync),
}

impl<T: Clone> DocumentChooser<'_, T> {
    /// Chooses the best that are accepted. Looks further where many are not.
    fn choose(&self, ranked: &mut [(f32, u32)], most: usize, chosen: &mut Vec<u32>) {
        let most = chosen.len() + most;
        let mut round = most - chosen.len();
        let mut rest = ranked;
        while !rest.is_empty() && chosen.len() < most {
            let take = round.min(rest.len());
            if take < rest.len() {
                rest.select_nth_unstable_by(take - 1, |one, another| self.order(*one, *another));
            }
            let (now, later) = rest.split_at_mut(take);
            let missing = most - chosen.len();
            if take > missing {
                now.sort_unstable_by(|one, another| self.order(*one, *another));
            }
            let accepted = now
                .iter()
                .map(|(_, slot)| *slot)
                .filter(|slot| self.index.record(*slot).is_some_and(|record| (self.accept)(&record.value)));
            chosen.extend(accepted.take(missing));
            rest = later;
            round = round.saturating_mul(4);
        }
    }

    /// The better first; equals by key, so that slots never matter.
    fn order(&self, one: (f32, u32), another: (f32, u32)) -> std::cmp::Ordering {
        let key = |slot: u32| self.index.record(slot).map(|record| &record.key);
        another.0.total_cmp(&one.0).then_with(|| key(one.1).cmp(&key(another.1)))
    }
}
