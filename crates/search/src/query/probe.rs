//! What is wanted against what the indexes have: the lists of documents to go through, and what a find in each is worth.

use crate::document::text::Shape;
use crate::index::Index;
use crate::index::postings::Postings;
use crate::parameters::Parameters;
use crate::query::known::Way;
use crate::query::parsed::ParsedQuery;
use crate::query::spelling;

/// The most words of one query whose spelling is corrected.
const MOST_CORRECTED: usize = 4;

/// Among fewer documents a word may stand in most by chance.
const FEWEST_TO_COMPARE: usize = 20;

/// What a word is worth that no document has, as part of one that a single document has.
const UNKNOWN: f32 = 0.5;

/// One way of one word, as the indexes together know it.
pub(crate) struct Probe {
    /// The number of the word in the parsed.
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
    pub(crate) all: Vec<Probe>,
    /// The lists of each index.
    pub(crate) lists: Vec<Vec<List<'i>>>,
    /// What each word is worth at most.
    pub(crate) worth: Vec<f32>,
}

/// Adds corrected spellings of words that no index knows in any way.
pub(crate) fn correct<T: Clone>(indexes: &[&Index<T>], parsed: &mut ParsedQuery, parameters: &Parameters) {
    let known =
        |way: &Way| indexes.iter().any(|index| index.vocabulary.find_hashed(&way.term, way.hash).is_some());
    // A word that the language data knows is spelled right, though no document has it.
    let unknown = parsed.words.iter_mut().filter(|word| word.shape == Shape::Word && word.ways.len() == 1);
    for word in unknown.filter(|word| !word.ways.iter().any(known)).take(MOST_CORRECTED) {
        let corrections = spelling::corrections(indexes, &word.known.folded, parameters);
        if !corrections.is_empty() {
            word.ways = word.ways.iter().cloned().chain(corrections).collect();
        }
    }
}

/// Looks every way up in every index.
pub(crate) fn look_up<'i, T: Clone>(
    indexes: &[&'i Index<T>],
    parsed: &ParsedQuery,
    parameters: &Parameters,
) -> Probes<'i> {
    let documents = indexes.iter().map(|index| index.len()).sum();
    let mut found =
        Probes { all: Vec::new(), lists: indexes.iter().map(|_| Vec::new()).collect(), worth: Vec::new() };
    for (number, word) in parsed.words.iter().enumerate() {
        let mut best = 0.0_f32;
        for (way_number, way) in word.ways.iter().enumerate() {
            best = best.max(found.probe(
                indexes,
                (number, way_number, way),
                (documents, word.weight, parameters),
            ));
        }
        let unknown = match word.shape {
            Shape::Word | Shape::Han => UNKNOWN * word.weight * idf(documents, 0, (0.0, parameters)),
            Shape::Number | Shape::Bigram | Shape::Joined => 0.0,
        };
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
        let probe = self.all.len();
        for (lists, index) in self.lists.iter_mut().zip(indexes) {
            if let Some((term, found)) = index.vocabulary.find_hashed(&way.term, way.hash) {
                frequency += found.postings.len();
                common = found.common;
                lists.push(List { probe, term, postings: &found.postings });
            }
        }
        if frequency == 0 {
            return 0.0;
        }
        let worth = weight * way.weight * idf(documents, frequency, (common, parameters));
        self.all.push(Probe { word, way: way_number, gain: worth * distinction(documents, frequency) });
        worth
    }
}

/// The part of its worth that a term keeps which most documents have: it tells none of them from another.
#[expect(clippy::cast_precision_loss, reason = "a few million at most")]
fn distinction(documents: usize, frequency: usize) -> f32 {
    if documents < FEWEST_TO_COMPARE {
        return 1.0;
    }
    (2.0 * (1.0 - frequency as f32 / documents as f32)).clamp(0.1, 1.0)
}

/// How much a term says that so many of the documents have.
#[expect(clippy::cast_precision_loss, reason = "a few million at most")]
pub(crate) fn idf(documents: usize, frequency: usize, (common, parameters): (f32, &Parameters)) -> f32 {
    let (documents, frequency) =
        (documents as f32 + parameters.background, frequency as f32 + parameters.background * common);
    let idf = (1.0 + (documents - frequency.min(documents) + 0.5) / (frequency + 0.5)).ln();
    #[expect(clippy::float_cmp, reason = "the usual value, which needs no power")]
    if parameters.rarity == 1.0 { idf } else { idf.powf(parameters.rarity) }
}
