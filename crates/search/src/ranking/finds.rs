//! The second stage: what the candidates have of each word of the query, so that they can be looked at closely.

use std::cell::RefCell;

use crate::index::postings::{Posting, Postings};
use crate::query::probe::Probes;

/// What a candidate has of one word.
#[derive(Clone, Copy, Default)]
pub(crate) struct Find {
    pub(crate) value: f32,
    pub(crate) fields: u16,
    /// The fields that have the word itself.
    pub(crate) direct: u16,
    /// The number of the probe that found it best.
    pub(crate) probe: u16,
    /// What other ways found.
    pub(crate) further: f32,
}

/// What every candidate has of every word.
pub(crate) struct Finds {
    words: usize,
    candidates: usize,
    all: Vec<Find>,
}

impl Finds {
    pub(crate) fn of(&self, candidate: usize) -> &[Find] {
        self.all.get(candidate * self.words..(candidate + 1) * self.words).unwrap_or_default()
    }
}

impl Finds {
    /// The numbers of all candidates, so many of those before the others that will probably be the best: they show what the
    /// others would have to reach.
    pub(crate) fn likeliest_first(&self, many: usize) -> impl Iterator<Item = usize> + use<> {
        let value = |finds: &[Find]| finds.iter().map(|find| find.value).sum::<f32>();
        let mut numbers: Vec<(f32, usize)> =
            (0..self.candidates).map(|number| (value(self.of(number)), number)).collect();
        if many > 0 && many < numbers.len() {
            numbers.select_nth_unstable_by(many - 1, |one, another| another.0.total_cmp(&one.0));
        }
        numbers.into_iter().map(|(_, number)| number)
    }
}

impl Drop for Finds {
    fn drop(&mut self) {
        let finds = std::mem::take(&mut self.all);
        if finds.capacity() <= MOST_KEPT {
            // Nothing is lost where a thread ends.
            let _ = SCRATCH.try_with(|scratch| scratch.borrow_mut().finds = finds);
        }
    }
}

/// The most finds that are kept for the next search.
const MOST_KEPT: usize = 16_384;

/// What the next search need not allocate.
#[derive(Default)]
struct Scratch {
    finds: Vec<Find>,
    /// The number of the candidate in each slot, counted from 1.
    places: Vec<u16>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Goes through the lists once more, for the candidates alone, which come in rising order.
pub(crate) fn find(at: usize, words: usize, probes: &Probes<'_>, candidates: &[u32]) -> Finds {
    SCRATCH.with_borrow_mut(|scratch| {
        let mut finds = std::mem::take(&mut scratch.finds);
        finds.clear();
        finds.resize(words * candidates.len(), Find::default());
        let places = &mut scratch.places;
        mark(places, candidates);
        for list in probes.lists.get(at).map_or(&[][..], Vec::as_slice) {
            let Some(probe) = probes.all.get(list.probe) else { continue };
            let gain = probe.gain / 65535.0;
            meet((candidates, places), list.postings, &mut |number, posting| {
                if let Some(find) = finds.get_mut(number * words + probe.word) {
                    note(find, gain * f32::from(posting.impact), posting.fields, list.probe);
                    find.direct |= if probe.way == 0 { posting.fields } else { 0 };
                }
            });
        }
        unmark(places, candidates);
        Finds { words, candidates: candidates.len(), all: finds }
    })
}

/// Notes where the candidates are, as far as their numbers fit.
fn mark(places: &mut Vec<u16>, candidates: &[u32]) {
    let size = candidates.last().map_or(0, |last| *last as usize + 1);
    if places.len() < size {
        places.resize(size, 0);
    }
    for (slot, number) in candidates.iter().zip(1..=u16::MAX) {
        if let Some(place) = places.get_mut(*slot as usize) {
            *place = number;
        }
    }
}

fn unmark(places: &mut [u16], candidates: &[u32]) {
    for slot in candidates {
        if let Some(place) = places.get_mut(*slot as usize) {
            *place = 0;
        }
    }
}

/// Hands out what both have: goes through the postings, or looks into them where they are many more than the candidates.
fn meet((candidates, places): (&[u32], &[u16]), postings: &Postings, each: &mut impl FnMut(usize, &Posting)) {
    if postings.len() < candidates.len() * 8 && candidates.len() < usize::from(u16::MAX) {
        for posting in postings.blocks().iter().flat_map(|block| block.iter()) {
            if let Some(place) = places.get(posting.slot as usize).filter(|place| **place > 0) {
                each(usize::from(*place) - 1, posting);
            }
        }
        return;
    }
    let mut rest = candidates;
    for block in postings.blocks() {
        let Some(last) = block.last() else { continue };
        let here = rest.partition_point(|slot| *slot <= last.slot);
        let (mine, later) = rest.split_at(here);
        let before = candidates.len() - rest.len();
        for (number, slot) in mine.iter().enumerate() {
            if let Ok(found) = block.binary_search_by_key(slot, |posting| posting.slot) {
                each(before + number, &block[found]);
            }
        }
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
}

fn note(find: &mut Find, value: f32, fields: u16, probe: usize) {
    if value > find.value {
        find.further += find.value;
        find.value = value;
        find.probe = u16::try_from(probe).unwrap_or(u16::MAX);
    } else {
        find.further += value;
    }
    find.fields |= fields;
}

/// Whether a term is one of the query's, and which word it stands for.
pub(crate) struct Terms {
    /// A bit for each term, so that most are passed over at once.
    filter: [u64; 64],
    /// Sorted by term: the term, its word, and what it gains at most.
    terms: Vec<(u32, u16, f32)>,
}

impl Terms {
    pub(crate) fn new(at: usize, probes: &Probes<'_>) -> Self {
        let mut filter = [0; 64];
        let mut terms = Vec::new();
        for list in probes.lists.get(at).map_or(&[][..], Vec::as_slice) {
            let Some(probe) = probes.all.get(list.probe) else { continue };
            if let Some(bits) = filter.get_mut((list.term as usize >> 6) & 63) {
                *bits |= 1 << (list.term & 63);
            }
            terms.push((list.term, u16::try_from(probe.word).unwrap_or(u16::MAX), probe.gain));
        }
        terms.sort_unstable_by(|one, another| one.0.cmp(&another.0).then(another.2.total_cmp(&one.2)));
        terms.dedup_by_key(|term| term.0);
        Self { filter, terms }
    }

    pub(crate) fn word(&self, term: u32) -> Option<(usize, f32)> {
        let bits = self.filter.get((term as usize >> 6) & 63).copied().unwrap_or_default();
        if bits & (1 << (term & 63)) == 0 {
            return None;
        }
        let at = self.terms.binary_search_by_key(&term, |known| known.0).ok()?;
        self.terms.get(at).map(|(_, word, gain)| (usize::from(*word), *gain))
    }
}
