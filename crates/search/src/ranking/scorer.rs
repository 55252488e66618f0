//! How well a candidate fits: what its words gain, how much of the query and of the name is covered, and whether neighbours
//! in the query are neighbours in the document.

use crate::field::Field;
use crate::index::{Index, Record};
use crate::parameters::Parameters;
use crate::query::parsed::ParsedQuery;
use crate::query::probe::{self, Probes};
use crate::ranking::finds::{Find, Terms};
use crate::ranking::learnt::Lesson;

/// Two words that are neighbours in the query.
struct WordPair {
    clauses: u32,
    /// What finding them together is worth.
    worth: f32,
    /// Both words, a bit each.
    words: u128,
}

/// What a document has of the words of one clause.
#[derive(Clone, Copy, Default)]
struct Sum {
    gained: f32,
    /// What the words would be worth in a document that is all about them.
    covered: f32,
    /// The same of those that the name has.
    named: f32,
    /// What neighbours are worth that are neighbours in the document.
    paired: f32,
}

/// Scores the candidates of one index.
pub(crate) struct Scorer<'r, T: Clone> {
    index: &'r Index<T>,
    parsed: &'r ParsedQuery,
    probes: &'r Probes<'r>,
    parameters: &'r Parameters,
    terms: Terms,
    /// What the words of each clause are worth, never 0, and how much the clause counts. The first is the whole query.
    clauses: Vec<(f32, f32)>,
    pairs: Vec<WordPair>,
    /// What the document at hand has, by clause.
    sums: Vec<Sum>,
    /// The second words of the pairs it has.
    paired: Vec<usize>,
}

impl<'r, T: Clone> Scorer<'r, T> {
    pub(crate) fn new(
        index: &'r Index<T>,
        at: usize,
        (parsed, probes, parameters): (&'r ParsedQuery, &'r Probes<'r>, &'r Parameters),
    ) -> Self {
        let mut scorer = Self {
            index,
            parsed,
            probes,
            parameters,
            terms: Terms::new(at, probes),
            clauses: clauses(parsed, probes, parameters),
            pairs: Vec::new(),
            sums: Vec::new(),
            paired: Vec::new(),
        };
        for (this, two) in parsed.words.iter().enumerate() {
            let before = parsed.words.iter().enumerate().take(this);
            for (before, one) in before.filter(|(_, one)| one.position + 1 == two.position) {
                let words = 1 << before | 1 << this;
                scorer.pairs.push(WordPair {
                    clauses: one.clauses & two.clauses,
                    worth: scorer.worth(before).min(scorer.worth(this)),
                    words,
                });
            }
        }
        scorer
    }

    /// How well a document fits, with what was learnt about it; 0 is not at all. Nothing if that is less than `least`.
    pub(crate) fn score(
        &mut self,
        record: &Record<T>,
        (finds, lesson): (&[Find], Option<&Lesson>),
        least: f32,
    ) -> Option<f32> {
        let found = self.gather(finds, lesson.map_or(&[], |lesson| &lesson.words));
        let parameters = self.parameters;
        let called = self.parsed.names.iter().any(|name| record.called.contains(name));
        let same = lesson.is_some_and(|lesson| lesson.same);
        let exact = if called { parameters.exact } else { 0.0 } + if same { parameters.same } else { 0.0 };
        let mut possible = false;
        for pair in self.pairs.iter().filter(|pair| found & pair.words == pair.words) {
            possible = true;
            add_pair(&mut self.sums, pair.clauses, pair.worth);
        }
        if self.total(1.0, exact) + 0.0001 < least {
            return None;
        }
        for sum in &mut self.sums {
            sum.paired = 0.0;
        }
        let name = self.sequence(record, possible);
        Some(self.total(name, exact))
    }

    /// The score, given how much of the name the query has.
    fn total(&self, name: f32, exact: f32) -> f32 {
        let parameters = self.parameters;
        let part = |sum: &Sum, worth: f32| {
            (sum.gained + parameters.query_covered * sum.covered + parameters.pairs * sum.paired) / worth
                + parameters.name_covered * name * (sum.named / worth).sqrt()
        };
        let mut parts =
            self.sums.iter().zip(&self.clauses).map(|(sum, (worth, share))| part(sum, *worth) * share);
        let whole = exact + parts.next().unwrap_or_default();
        if self.sums.len() < 2 {
            return whole;
        }
        (1.0 - parameters.clause) * whole + parameters.clause * parts.fold(0.0, f32::max)
    }

    /// Gathers what the document has of the query's words, and says which they are, a bit each.
    fn gather(&mut self, finds: &[Find], learnt: &[(f32, f32)]) -> u128 {
        self.sums.clear();
        self.sums.resize(self.clauses.len(), Sum::default());
        let mut found = 0;
        for (number, find) in finds.iter().enumerate() {
            let learnt = learnt.get(number).filter(|learnt| learnt.0 > 0.0);
            if find.value == 0.0 && learnt.is_none() {
                continue;
            }
            let most = &self.worth(number);
            let mut gain = Sum::default();
            if find.value > 0.0 {
                let way = self.probes.all.get(usize::from(find.probe)).map_or(0.0, |probe| probe.gain);
                gain.gained = (find.value + self.parameters.further * find.further).min(*most);
                gain.covered = way.min(*most);
                gain.named = if find.fields & Field::Name.bit() == 0 { 0.0 } else { gain.covered };
                found |= 1 << number;
            }
            if let Some((learnt, worth)) = learnt {
                // A word that many ask with says little, however rare it is in definitions.
                let most = most.min(*worth);
                gain.gained += (most - gain.gained).max(0.0) * self.parameters.learnt * learnt;
                gain.covered += (most - gain.covered).max(0.0) * self.parameters.learnt * learnt;
            }
            if gain.gained > 0.0 {
                let clauses = self.parsed.words.get(number).map_or(0, |word| word.clauses);
                add_gain(&mut self.sums, clauses, gain);
            }
        }
        found
    }

    /// Notes neighbours if there may be any, and says how much of the name the query has.
    fn sequence(&mut self, record: &Record<T>, pairs_possible: bool) -> f32 {
        let (name, description) = record.sequence();
        self.paired.clear();
        if pairs_possible {
            self.find_pairs(name);
            self.find_pairs(description);
        }
        if self.sums.first().is_some_and(|sum| sum.named > 0.0) { self.named(name) } else { 0.0 }
    }

    /// How much of a name the query has.
    fn named(&self, name: &[u32]) -> f32 {
        let (mut named, mut whole) = (0.0, 0.001);
        for term in name {
            let known = self.index.vocabulary.get(*term);
            let (common, frequency) = known.map_or((0.0, 0), |term| (term.common, term.postings.len()));
            let says = probe::idf(self.index.len(), frequency, (common, self.parameters));
            whole += says;
            if let Some((number, gain)) = self.terms.word(*term) {
                named += says * (gain / self.worth(number).max(0.001)).min(1.0);
            }
        }
        named / whole
    }

    fn find_pairs(&mut self, terms: &[u32]) {
        let mut last: Option<usize> = None;
        for term in terms {
            let word = self.terms.word(*term).map(|(word, _)| word);
            if let (Some(before), Some(this)) = (last, word) {
                self.pair(before, this);
            }
            last = word;
        }
    }

    fn pair(&mut self, before: usize, this: usize) {
        let (Some(one), Some(two)) = (self.parsed.words.get(before), self.parsed.words.get(this)) else {
            return;
        };
        if two.position != one.position + 1 || self.paired.contains(&this) {
            return;
        }
        self.paired.push(this);
        let worth = self.worth(before).min(self.worth(this));
        add_pair(&mut self.sums, one.clauses & two.clauses, worth);
    }

    fn worth(&self, word: usize) -> f32 {
        self.probes.worth.get(word).copied().unwrap_or_default()
    }
}

/// What the whole query and each of its clauses is worth, if there are several, and how much each counts.
fn clauses(parsed: &ParsedQuery, probes: &Probes<'_>, parameters: &Parameters) -> Vec<(f32, f32)> {
    let count = if parsed.clauses < 2 { 0 } else { parsed.clauses };
    let mut worth = vec![0.0_f32; count + 1];
    for (word, most) in parsed.words.iter().zip(&probes.worth) {
        for clause in places(word.clauses) {
            if let Some(worth) = worth.get_mut(clause) {
                *worth += most;
            }
        }
    }
    let longest = worth.iter().skip(1).copied().fold(0.001, f32::max);
    let share = |at: usize, worth: f32| {
        if at == 0 { 1.0 } else { (worth / longest).powf(parameters.clause_size) }
    };
    worth
        .into_iter()
        .map(|worth| worth.max(0.001))
        .enumerate()
        .map(|(at, worth)| (worth, share(at, worth)))
        .collect()
}

/// Where the sums stand that clauses belong to: the whole query first.
fn places(clauses: u32) -> impl Iterator<Item = usize> {
    let mut rest = clauses;
    let mut whole = true;
    std::iter::from_fn(move || {
        if std::mem::take(&mut whole) {
            return Some(0);
        }
        let clause = (rest != 0).then(|| rest.trailing_zeros() as usize + 1)?;
        rest &= rest - 1;
        Some(clause)
    })
}

fn add_gain(sums: &mut [Sum], clauses: u32, gain: Sum) {
    for place in places(clauses) {
        let Some(sum) = sums.get_mut(place) else { return };
        sum.gained += gain.gained;
        sum.covered += gain.covered;
        sum.named += gain.named;
    }
}

fn add_pair(sums: &mut [Sum], clauses: u32, worth: f32) {
    for place in places(clauses) {
        let Some(sum) = sums.get_mut(place) else { return };
        sum.paired += worth;
    }
}
