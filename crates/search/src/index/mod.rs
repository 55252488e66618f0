//! The live index. A copy costs nothing and shares with the original whatever neither changes, so a snapshot keeps its own.
//! What it holds depends only on the documents, never on the order in which they came or what was there before.

pub(crate) mod common;
pub(crate) mod postings;
pub(crate) mod spellings;
pub(crate) mod vocabulary;

use std::collections::HashSet;
use std::sync::Arc;

use crate::containers::buckets::Buckets;
use crate::containers::packed;
use crate::containers::pages::Pages;
use crate::containers::quick::{self, Quick};
use crate::document::Document;
use crate::document::analysis::{Analysed, Part, Reading};
use crate::index::postings::Posting;
use crate::index::vocabulary::Vocabulary;
use crate::parameters::Parameters;
use crate::pattern_outline::{Needs, Outline};

/// How many changes are gathered before the terms are told.
const BATCH: usize = 4096;
/// Keys to a bucket.
const BUCKET: usize = 48;

/// Documents that can be found, each with a value, under unique keys.
#[derive(Clone)]
pub struct Index<T: Clone> {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) records: Pages<Option<Arc<Record<T>>>>,
    /// What the texts of each slot have that patterns may need; beside the records, for all of them are looked through.
    outlines: Pages<Outline>,
    /// The slots of the keys.
    keys: Buckets,
    free: Arc<Vec<u32>>,
    parameters: Arc<Parameters>,
}

/// A key, and the document it stands for from now on.
pub type Change<'d, T> = (Arc<str>, Option<(Document<'d>, T)>);

/// What is kept of a document.
pub(crate) struct Record<T> {
    pub(crate) key: Arc<str>,
    pub(crate) value: T,
    /// What it is called, with its server and without.
    pub(crate) called: [u64; 2],
    /// The terms of the name and of the description, in order, then the other terms, packed.
    terms: Box<[u32]>,
    /// Where the name ends, and where the description does.
    ends: [u32; 2],
}

impl<T> Record<T> {
    /// The terms of the name and those of the description, in order.
    pub(crate) fn sequence(&self) -> (&[u32], &[u32]) {
        let [name, all] = self.ends.map(|end| end as usize);
        self.terms.get(..all).and_then(|all| all.split_at_checked(name)).unwrap_or_default()
    }

    /// How many these are.
    pub(crate) fn length(&self) -> usize {
        self.ends[1] as usize
    }
}

impl<T: Clone> Default for Index<T> {
    fn default() -> Self {
        Self::with_parameters(Parameters::default())
    }
}

/// What a batch does to the terms.
#[derive(Default)]
struct Pending {
    removed: Vec<(u32, u32)>,
    added: Vec<(u32, Posting)>,
    /// For the terms of the document at hand.
    scratch: [Vec<u32>; 3],
}

/// A document that was analysed, and the numbers of its words.
struct AnalysedDocument<'r> {
    part: &'r Part,
    analysed: &'r Analysed,
    /// Where its terms and its sequence begin.
    from: [usize; 2],
    numbers: &'r [u32],
}

impl AnalysedDocument<'_> {
    fn number(&self, word: u32) -> u32 {
        self.numbers.get(word as usize).copied().unwrap_or(u32::MAX)
    }

    /// Each term with its impact and its fields.
    fn terms(&self) -> impl Iterator<Item = (u32, u16, u16)> {
        let terms = self.part.terms.get(self.from[0]..self.analysed.ends[0]).unwrap_or_default();
        terms.iter().map(|(word, impact, fields)| (self.number(*word), *impact, *fields))
    }

    /// What a record keeps of the terms, and where the name and the description end in it.
    fn kept(&self, terms: &[(u32, Posting)], scratch: &mut [Vec<u32>; 3]) -> (Box<[u32]>, [u32; 2]) {
        let [kept, ordered, others] = scratch;
        let sequence = self.part.sequence.get(self.from[1]..self.analysed.ends[1]).unwrap_or_default();
        kept.clear();
        kept.extend(sequence.iter().map(|word| self.number(*word)));
        ordered.clone_from(kept);
        ordered.sort_unstable();
        others.clear();
        others.extend(terms.iter().map(|term| term.0).filter(|term| ordered.binary_search(term).is_err()));
        others.sort_unstable();
        packed::pack(others, kept);
        (kept.as_slice().into(), [self.analysed.name, sequence.len()].map(crate::containers::pages::index))
    }
}

impl<T: Clone> Index<T> {
    /// An empty index with other numbers than the usual ones.
    pub fn with_parameters(parameters: Parameters) -> Self {
        Self {
            vocabulary: Vocabulary::default(),
            records: Pages::default(),
            outlines: Pages::default(),
            keys: Buckets::new(BUCKET),
            free: Arc::default(),
            parameters: Arc::new(parameters),
        }
    }

    /// Adds or replaces the document of each key that comes with one, and removes the others. Many at once are much
    /// cheaper than one by one.
    pub fn apply<'d>(&mut self, changes: impl IntoIterator<Item = Change<'d, T>>) {
        self.apply_with(changes, &mut Reading::default());
    }

    /// [`Self::apply`] for whoever has more than can be held at once: words that were looked up are remembered for the rest.
    pub fn apply_with<'d>(
        &mut self,
        changes: impl IntoIterator<Item = Change<'d, T>>,
        reading: &mut Reading,
    ) {
        let mut batch = Vec::new();
        let mut touched: HashSet<Arc<str>, Quick> = HashSet::default();
        for change in changes {
            if batch.len() >= BATCH || !touched.insert(Arc::clone(&change.0)) {
                self.apply_batch(std::mem::take(&mut batch), reading);
                touched.clear();
                touched.insert(Arc::clone(&change.0));
            }
            batch.push(change);
        }
        self.apply_batch(batch, reading);
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of all documents.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.records.iter().flatten().map(|record| &record.value)
    }

    pub(crate) fn slot(&self, key: &str) -> Option<u32> {
        let known = |slot: &u32| self.record(*slot).is_some_and(|record| &*record.key == key);
        self.keys.find(quick::hash(key)).find(known)
    }

    pub(crate) fn record(&self, slot: u32) -> Option<&Arc<Record<T>>> {
        self.records.get(slot).and_then(Option::as_ref)
    }

    /// The next slot from `slot` on whose texts may have what a pattern needs.
    pub(crate) fn next_with(&self, slot: u32, needs: &Needs) -> Option<u32> {
        self.outlines.find_from(slot, |outline| needs.may_be_in(outline))
    }

    fn apply_batch(&mut self, batch: Vec<Change<'_, T>>, reading: &mut Reading) {
        let documents: Vec<&Document<'_>> =
            batch.iter().filter_map(|change| change.1.as_ref().map(|(document, _)| document)).collect();
        let parts = reading.analyse(&documents, &self.parameters);
        let mut changes = batch.into_iter();
        let mut pending = Pending::default();
        for (memory, part) in parts {
            let number =
                |(word, had): &(Arc<str>, bool)| if *had { self.vocabulary.number(word) } else { u32::MAX };
            let numbers: Vec<u32> = memory.words.iter().map(number).collect();
            reading.keep(memory);
            let mut from = [0; 2];
            for analysed in &part.documents {
                let Some((key, value)) = self.next_document(&mut changes, &mut pending) else { break };
                let slot = self.place(&key, &mut pending);
                let read = AnalysedDocument { part: &part, analysed, from, numbers: &numbers };
                self.put(slot, &read, (key, value), &mut pending);
                from = analysed.ends;
            }
        }
        while self.next_document(&mut changes, &mut pending).is_some() {}
        self.tell(pending);
    }

    /// The next change that comes with a document; those before it are taken out.
    fn next_document(
        &mut self,
        changes: &mut std::vec::IntoIter<Change<'_, T>>,
        pending: &mut Pending,
    ) -> Option<(Arc<str>, T)> {
        for (key, change) in changes {
            match change {
                Some((_, value)) => return Some((key, value)),
                None => self.take_out(&key, pending),
            }
        }
        None
    }

    /// The slot of a key; what was there before leaves its terms.
    fn place(&mut self, key: &Arc<str>, pending: &mut Pending) -> u32 {
        if let Some(slot) = self.slot(key) {
            self.clear(slot, pending);
            return slot;
        }
        let free = if self.free.is_empty() { None } else { Arc::make_mut(&mut self.free).pop() };
        let slot = free.unwrap_or_else(|| {
            self.outlines.push(Outline::default());
            self.records.push(None)
        });
        let records = &self.records;
        let hash_of =
            |slot| records.get(slot).and_then(Option::as_ref).map_or(0, |record| quick::hash(&record.key));
        self.keys.add(quick::hash(key), slot, hash_of);
        slot
    }

    fn put(
        &mut self,
        slot: u32,
        read: &AnalysedDocument<'_>,
        (key, value): (Arc<str>, T),
        pending: &mut Pending,
    ) {
        let before = pending.added.len();
        pending
            .added
            .extend(read.terms().map(|(term, impact, fields)| (term, Posting { slot, impact, fields })));
        let (kept, ends) = read.kept(pending.added.get(before..).unwrap_or_default(), &mut pending.scratch);
        if let Some(outline) = self.outlines.get_mut(slot) {
            *outline = read.analysed.outline;
        }
        if let Some(place) = self.records.get_mut(slot) {
            let called = read.analysed.called;
            *place = Some(Arc::new(Record { key, value, called, terms: kept, ends }));
        }
    }

    fn take_out(&mut self, key: &str, pending: &mut Pending) {
        let Some(slot) = self.slot(key) else { return };
        self.keys.remove(quick::hash(key), slot);
        self.clear(slot, pending);
        Arc::make_mut(&mut self.free).push(slot);
    }

    fn clear(&mut self, slot: u32, pending: &mut Pending) {
        let Some(record) = self.records.get_mut(slot).and_then(Option::take) else { return };
        let (sequence, others) = record.terms.split_at(record.length().min(record.terms.len()));
        let terms: HashSet<u32> = sequence.iter().copied().chain(packed::unpack(others)).collect();
        pending.removed.extend(terms.into_iter().map(|term| (term, slot)));
    }

    /// Tells the terms which documents left and which came.
    fn tell(&mut self, mut pending: Pending) {
        pending.removed.sort_unstable();
        for same in pending.removed.chunk_by(|one, another| one.0 == another.0) {
            let slots: Vec<u32> = same.iter().map(|(_, slot)| *slot).collect();
            if let Some(term) = same.first().and_then(|(term, _)| self.vocabulary.get_mut(*term)) {
                term.postings.remove(&slots);
            }
        }
        let mut postings: Vec<Posting> = Vec::new();
        pending.added.sort_unstable_by_key(|(term, posting)| (*term, posting.slot));
        for same in pending.added.chunk_by(|one, another| one.0 == another.0) {
            postings.clear();
            postings.extend(same.iter().map(|(_, posting)| *posting));
            if let Some(term) = same.first().and_then(|(term, _)| self.vocabulary.get_mut(*term)) {
                term.postings.add(&postings);
            }
        }
        pending.removed.dedup_by_key(|removed| removed.0);
        for (term, _) in pending.removed {
            if self.vocabulary.get(term).is_some_and(|term| term.postings.len() == 0) {
                self.vocabulary.drop_term(term);
            }
        }
    }
}
