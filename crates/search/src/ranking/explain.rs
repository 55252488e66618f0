//! Why a document was found, word by word.

use crate::document::text::Shape;
use crate::field::Field;
use crate::lexicon;
use crate::parameters::Parameters;
use crate::query::parsed::ParsedQuery;
use crate::query::probe::Probes;
use crate::ranking::finds::Find;
use crate::ranking::hit::Matched;

/// The most words of an explanation.
const MOST_WORDS: usize = 16;

/// What of the query a document has, the weightiest first.
pub(crate) fn explain(
    query: &str,
    parsed: &ParsedQuery,
    (probes, finds): (&Probes<'_>, &[Find]),
    parameters: &Parameters,
) -> Vec<Matched> {
    let whole: f32 = probes.worth.iter().sum::<f32>().max(0.001);
    let mut matched: Vec<Matched> = Vec::new();
    for (word, find) in parsed.words.iter().zip(finds) {
        if find.value == 0.0 || word.shape == Shape::Bigram {
            continue;
        }
        let way = probes.all.get(usize::from(find.probe)).map_or(0, |probe| probe.way);
        // What has the word itself needs no other, though another may count more.
        let (by, fields) = match find.direct {
            0 => (word.ways.get(way).map(|way| lexicon::spelled_out(&way.term).to_owned()), find.fields),
            direct => (None, direct),
        };
        let field = weightiest(fields, parameters).map_or("description", Field::word);
        let written = query.get(word.at.clone()).filter(|written| !written.is_empty());
        let written = written.unwrap_or(&word.known.folded).to_owned();
        matched.push(Matched { word: written, by, field, weight: find.value / whole });
    }
    matched.sort_by(|one, another| another.weight.total_cmp(&one.weight));
    matched.truncate(MOST_WORDS);
    matched
}

fn weightiest(fields: u16, parameters: &Parameters) -> Option<Field> {
    let present = Field::ALL.into_iter().filter(|field| fields & field.bit() != 0);
    let weight = |field: &Field| parameters.weights.get(*field as usize).copied().unwrap_or_default();
    present.max_by(|one, another| weight(one).total_cmp(&weight(another)))
}
