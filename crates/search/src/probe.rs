//! What is wanted against what the indexes have: the lists of documents to go through, and what a find in each is worth.

use crate::index::Index;
use crate::parameters::Parameters;
use crate::postings::Postings;
use crate::spelling;
use crate::text::Shape;
use crate::wanted::{Way, Wish};

/// The most words of one query whose spelling is corrected.
const MOST_CORRECTED: usize = 4;

/// One way of one word, as the indexes together know it.
pub(crate) struct Probe {
    /// The number of the word in the wish.
    pub(crate) word: usize,
    /// The number of the way.
    pub(crate) way: usize,
    /// What a document that is all about the term gains.
    pub(crate) gain: f32,
}

/// The documents of one index that one probe finds.
pub(crate) struct List<'i> {
    pub(crate) probe: usize,
    pub(crate) term: u32,
    pub(crate) postings: &'i Postings,
}

/// A query that is ready to be run.
pub(crate) struct Probes<'i> {
    pub(crate) probes: Vec<Probe>,
    /// The lists of each index.
    pub(crate) lists: Vec<Vec<List<'i>>>,
    /// What each word is worth at most.
    pub(crate) worth: Vec<f32>,
}

/// Looks every way up in every index. Words that no index knows get corrected spellings.
pub(crate) fn look_up<'i, T: Clone>(indexes: &[&'i Index<T>], wish: &mut Wish, parameters: &Parameters) -> Probes<'i> {
    let documents = indexes.iter().map(|index| index.len()).sum();
    let mut found = Probes { probes: Vec::new(), lists: indexes.iter().map(|_| Vec::new()).collect(), worth: Vec::new() };
    let mut corrected = 0;
    for number in 0..wish.words.len() {
        let Some(word) = wish.words.get_mut(number) else { continue };
        let before = found.probes.len();
        let mut best = 0.0_f32;
        for (way_number, way) in word.ways.iter().enumerate() {
            best = best.max(found.probe(indexes, (number, way_number, way), (documents, word.weight, parameters)));
        }
        // A word that the language data knows is spelled right, though no document has it.
        let misspelled = word.shape == Shape::Word && word.ways.len() == 1;
        if found.probes.len() == before && misspelled && corrected < MOST_CORRECTED {
            corrected += 1;
            let from = word.ways.len();
            word.ways.extend(spelling::corrections(indexes, &word.folded, parameters));
            for (way_number, way) in word.ways.iter().enumerate().skip(from) {
                best = best.max(found.probe(indexes, (number, way_number, way), (documents, word.weight, parameters)));
            }
        }
        let unknown = if word.shape == Shape::Word { word.weight * 0.5 * rarity(documents, 0, (0.0, parameters)) } else { 0.0 };
        found.worth.push(if best > 0.0 { best } else { unknown });
    }
    found
}

impl<'i> Probes<'i> {
    /// Adds a probe if any index knows the term, and says what it is worth.
    fn probe<T: Clone>(
        &mut self,
        indexes: &[&'i Index<T>],
        (word, way_number, way): (usize, usize, &Way),
        (documents, weight, parameters): (usize, f32, &Parameters),
    ) -> f32 {
        let (mut frequency, mut common) = (0, 0.0);
        let probe = self.probes.len();
        for (lists, index) in self.lists.iter_mut().zip(indexes) {
            if let Some((term, found)) = index.vocabulary.find(&way.term) {
                frequency += found.postings.len();
                common = found.common;
                lists.push(List { probe, term, postings: &found.postings });
            }
        }
        if frequency == 0 {
            return 0.0;
        }
        let gain = weight * way.weight * rarity(documents, frequency, (common, parameters));
        self.probes.push(Probe { word, way: way_number, gain });
        gain
    }
}

/// How much a term says that so many of the documents have.
#[expect(clippy::cast_precision_loss, reason = "a few million at most")]
pub(crate) fn rarity(documents: usize, frequency: usize, (common, parameters): (f32, &Parameters)) -> f32 {
    let (documents, frequency) =
        (documents as f32 + parameters.background, frequency as f32 + parameters.background * common);
    let rarity = (1.0 + (documents - frequency.min(documents) + 0.5) / (frequency + 0.5)).ln();
    #[expect(clippy::float_cmp, reason = "the usual value, which needs no power")]
    if parameters.rarity == 1.0 { rarity } else { rarity.powf(parameters.rarity) }
}
