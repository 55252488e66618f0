//! The second stage: the candidates are looked at closely. What a word gains is what its best way gains; then count how much
//! of the query and of the name is covered, and whether neighbours in the query are neighbours in the document.

use crate::field::Field;
use crate::index::{Index, Record};
use crate::learnt::Lesson;
use crate::parameters::Parameters;
use crate::postings::Posting;
use crate::probe::{self, Probes};
use crate::wanted::Wish;

/// What a candidate has of one word.
#[derive(Clone, Copy, Default)]
pub(crate) struct Find {
    pub(crate) value: f32,
    pub(crate) fields: u16,
    /// The number of the probe that found it best.
    pub(crate) probe: u16,
    /// What other ways found.
    further: f32,
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
struct Terms {
    /// A bit for each term, so that most are passed over at once.
    filter: [u64; 64],
    /// Sorted by term: the term, its word, and what it gains at most.
    terms: Vec<(u32, u16, f32)>,
}

impl Terms {
    fn new(at: usize, probes: &Probes<'_>) -> Self {
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

    fn word(&self, term: u32) -> Option<(usize, f32)> {
        let bits = self.filter.get((term as usize >> 6) & 63).copied().unwrap_or_default();
        if bits & (1 << (term & 63)) == 0 {
            return None;
        }
        let at = self.terms.binary_search_by_key(&term, |known| known.0).ok()?;
        self.terms.get(at).map(|(_, word, gain)| (usize::from(*word), *gain))
    }
}

/// What a document has of one word.
#[derive(Default)]
struct Gain {
    clauses: u32,
    value: f32,
    /// What it would be worth in a document that is all about it.
    way: f32,
    /// The same if the name has it.
    named: f32,
}

/// Scores the candidates of one index.
pub(crate) struct Judge<'r, T: Clone> {
    index: &'r Index<T>,
    wish: &'r Wish,
    probes: &'r Probes<'r>,
    parameters: &'r Parameters,
    terms: Terms,
    /// What the words of each clause are worth, never 0, and how much the clause counts.
    clauses: Vec<(f32, f32)>,
    /// What all words are worth; never 0.
    whole: f32,
    /// What the document at hand has of the query's words.
    gains: Vec<Gain>,
}

impl<'r, T: Clone> Judge<'r, T> {
    pub(crate) fn new(
        index: &'r Index<T>,
        at: usize,
        (wish, probes, parameters): (&'r Wish, &'r Probes<'r>, &'r Parameters),
    ) -> Self {
        let worth = |clause: Option<usize>| {
            let words = wish.words.iter().zip(&probes.worth);
            let mine =
                words.filter(|(word, _)| clause.is_none_or(|clause| word.clauses & (1 << clause) != 0));
            mine.map(|(_, worth)| *worth).sum::<f32>().max(0.001)
        };
        let clauses: Vec<f32> = (0..wish.clauses).map(|clause| worth(Some(clause))).collect();
        let longest = clauses.iter().copied().fold(0.001, f32::max);
        let clauses = clauses
            .into_iter()
            .map(|worth| (worth, (worth / longest).powf(parameters.clause_size)))
            .collect();
        Self {
            index,
            wish,
            probes,
            parameters,
            terms: Terms::new(at, probes),
            clauses,
            whole: worth(None),
            gains: Vec::new(),
        }
    }

    /// How well a document fits, with what was learnt about it; 0 is not at all.
    pub(crate) fn score(&mut self, record: &Record<T>, finds: &[Find], lesson: Option<&Lesson>) -> f32 {
        let seen = self.sequence(record);
        self.gather(finds, lesson.map_or(&[], |lesson| &lesson.words));
        let parameters = self.parameters;
        let called = self.wish.names.iter().any(|name| record.called.contains(name));
        let same = lesson.is_some_and(|lesson| lesson.same);
        let exact = if called { parameters.exact } else { 0.0 } + if same { parameters.same } else { 0.0 };
        let whole = exact + self.part(&seen, (u32::MAX, self.whole));
        if self.clauses.len() < 2 {
            return whole;
        }
        let parts = self
            .clauses
            .iter()
            .enumerate()
            .map(|(clause, (worth, share))| self.part(&seen, (1 << clause, *worth)) * share);
        (1.0 - parameters.clause) * whole + parameters.clause * parts.fold(0.0, f32::max)
    }

    /// Gathers what the document has of the query's words.
    fn gather(&mut self, finds: &[Find], learnt: &[(f32, f32)]) {
        self.gains.clear();
        let words = self.wish.words.iter().zip(finds).zip(&self.probes.worth).enumerate();
        for (number, ((word, find), most)) in words {
            let mut gain = Gain { clauses: word.clauses, ..Gain::default() };
            if find.value > 0.0 {
                let way = self.probes.all.get(usize::from(find.probe)).map_or(0.0, |probe| probe.gain);
                gain.value = (find.value + self.parameters.further * find.further).min(*most);
                gain.way = way.min(*most);
                gain.named = if find.fields & Field::Name.bit() == 0 { 0.0 } else { gain.way };
            }
            if let Some((learnt, worth)) = learnt.get(number).filter(|learnt| learnt.0 > 0.0) {
                // A word that many ask with says little, however rare it is in definitions.
                let most = most.min(*worth);
                gain.value += (most - gain.value).max(0.0) * self.parameters.learnt * learnt;
                gain.way += (most - gain.way).max(0.0) * self.parameters.learnt * learnt;
            }
            if gain.value > 0.0 {
                self.gains.push(gain);
            }
        }
    }

    /// The score of the words of some clauses.
    fn part(&self, seen: &Seen, (clauses, worth): (u32, f32)) -> f32 {
        let parameters = self.parameters;
        let (mut gained, mut covered, mut named) = (0.0, 0.0, 0.0);
        for gain in self.gains.iter().filter(|gain| gain.clauses & clauses != 0) {
            gained += gain.value;
            covered += gain.way;
            named += gain.named;
        }
        let paired: f32 = seen.pairs.iter().filter(|pair| pair.0 & clauses != 0).map(|pair| pair.1).sum();
        let name = seen.name * (named / worth).sqrt();
        (gained + parameters.query_covered * covered + parameters.pairs * paired) / worth
            + parameters.name_covered * name
    }

    /// What the name and the order of the words say.
    fn sequence(&self, record: &Record<T>) -> Seen {
        let mut seen = Seen::default();
        let (mut named, mut name) = (0.0, 0.001);
        let mut last: Option<usize> = None;
        for (at, term) in record.sequence.iter().enumerate() {
            let word = self.terms.word(*term);
            if at < record.name {
                let (common, frequency) = self
                    .index
                    .vocabulary
                    .get(*term)
                    .map_or((0.0, 0), |term| (term.common, term.postings.len()));
                let says = probe::rarity(self.index.len(), frequency, (common, self.parameters));
                name += says;
                if let Some((number, gain)) = word {
                    let most = self.probes.worth.get(number).copied().unwrap_or(1.0).max(0.001);
                    named += says * (gain / most).min(1.0);
                }
            }
            if at == record.name {
                last = None;
            }
            if let (Some(before), Some((this, _))) = (last, word) {
                self.pair(before, this, &mut seen);
            }
            last = word.map(|(word, _)| word);
        }
        seen.name = named / name;
        seen
    }

    fn pair(&self, before: usize, this: usize, seen: &mut Seen) {
        let (Some(one), Some(two)) = (self.wish.words.get(before), self.wish.words.get(this)) else { return };
        if two.position != one.position + 1 || seen.pairs.iter().any(|pair| pair.2 == this) {
            return;
        }
        let worth = |word: usize| self.probes.worth.get(word).copied().unwrap_or_default();
        seen.pairs.push((one.clauses & two.clauses, worth(before).min(worth(this)), this));
    }
}

/// What the order of a document's words says.
#[derive(Default)]
struct Seen {
    /// The part of the name that the query has.
    name: f32,
    /// Neighbours of the query that are neighbours here: their clauses, their worth, the second word.
    pairs: Vec<(u32, f32, usize)>,
}
