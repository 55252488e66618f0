//! The second stage: what the candidates have of each word of the query, so that they can be looked at closely.

use crate::postings::Posting;
use crate::probe::Probes;

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
    finds: Vec<Find>,
}

impl Finds {
    pub(crate) fn of(&self, candidate: usize) -> &[Find] {
        self.finds.get(candidate * self.words..(candidate + 1) * self.words).unwrap_or_default()
    }
}

/// Goes through the lists once more, for the candidates alone.
pub(crate) fn find(at: usize, words: usize, probes: &Probes<'_>, candidates: &[u32]) -> Finds {
    let mut finds = vec![Find::default(); words * candidates.len()];
    for list in probes.lists.get(at).map_or(&[][..], Vec::as_slice) {
        let Some(probe) = probes.all.get(list.probe) else { continue };
        let gain = probe.gain / 65535.0;
        let mut rest = candidates;
        for block in list.postings.blocks() {
            let Some(last) = block.last() else { continue };
            let here = rest.partition_point(|slot| *slot <= last.slot);
            let (mine, later) = rest.split_at(here);
            let before = candidates.len() - rest.len();
            meet(mine, block, &mut |number, posting| {
                if let Some(find) = finds.get_mut((before + number) * words + probe.word) {
                    note(find, gain * f32::from(posting.impact), posting.fields, list.probe);
                    find.direct |= if probe.way == 0 { posting.fields } else { 0 };
                }
            });
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
    }
    Finds { words, finds }
}

/// Hands out what both have, both being in rising order: goes through the shorter one and looks into the longer one.
fn meet(candidates: &[u32], postings: &[Posting], each: &mut impl FnMut(usize, &Posting)) {
    if postings.len() < candidates.len() / 4 {
        for posting in postings {
            if let Ok(number) = candidates.binary_search(&posting.slot) {
                each(number, posting);
            }
        }
    } else if candidates.len() < postings.len() / 8 {
        for (number, slot) in candidates.iter().enumerate() {
            if let Ok(found) = postings.binary_search_by_key(slot, |posting| posting.slot) {
                each(number, &postings[found]);
            }
        }
    } else {
        let mut number = 0;
        for posting in postings {
            while candidates.get(number).is_some_and(|slot| *slot < posting.slot) {
                number += 1;
            }
            match candidates.get(number) {
                Some(slot) if *slot == posting.slot => each(number, posting),
                Some(_) => {}
                None => return,
            }
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
