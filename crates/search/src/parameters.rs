//! The numbers of the ranking, in one place for whoever tunes them. They are global: none is about a word or a tool.

use crate::field::FIELDS;

/// The numbers of the ranking. Fields come in this order: name, title, tags, category, server, description, names of
/// parameters, descriptions of parameters, description of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// How much a word in a field counts. Used when a document is indexed.
    pub weights: [f32; FIELDS],
    /// How much a long field is held against a word in it: 0 not at all, 1 in proportion. Used when a document is indexed.
    pub lengths: [f32; FIELDS],
    /// How soon more occurrences stop to matter. Used when a document is indexed.
    pub saturation: f32,
    /// How much rarer words outweigh commoner ones: 1 as in BM25.
    pub rarity: f32,
    /// How many documents are added in thought when it is reckoned how rare a word is that is common elsewhere.
    pub background: f32,
    /// How much a capitalised word counts that does not begin a sentence: a name, mostly a value.
    pub proper: f32,
    /// How much a synonym counts.
    pub related: f32,
    /// How much a translation counts.
    pub gloss: f32,
    /// How much a pair of Chinese characters counts that is no word.
    pub bigram: f32,
    /// How much words written as one count beside these words.
    pub joined: f32,
    /// How much a number counts.
    pub number: f32,
    /// How much a corrected spelling counts.
    pub corrected: f32,
    /// How much words that ask rather than say what for count: please, help, want.
    pub filler: f32,
    /// How much a quoted word counts.
    pub quoted: f32,
    /// How much a word of an address or a path counts.
    pub literal: f32,
    /// How much it counts what an address or a path is: a file, a page.
    pub kind: f32,
    /// How much further ways a word was found add to the best one.
    pub further: f32,
    /// The part of the score that the best clause of a long query has.
    pub clause: f32,
    /// How much less a short clause counts than the longest.
    pub clause_size: f32,
    /// For the part of a document's name that the query covers.
    pub name_covered: f32,
    /// For the part of the query that the document covers.
    pub query_covered: f32,
    /// For words that are neighbours in the query and in the document.
    pub pairs: f32,
    /// For the exact name.
    pub exact: f32,
    /// How much words count that past queries had.
    pub learnt: f32,
    /// For a tool that was called after the very same query.
    pub same: f32,
    /// The prior.
    pub prior: f32,
    /// The score by meaning.
    pub meaning: f32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            weights: [3.0, 2.0, 1.5, 0.8, 1.2, 1.6, 0.9, 0.5, 0.4],
            lengths: [0.5, 0.4, 0.4, 0.3, 0.2, 0.4, 0.5, 0.5, 0.5],
            saturation: 1.6,
            rarity: 1.0,
            background: 300.0,
            proper: 0.9,
            related: 0.7,
            gloss: 1.0,
            bigram: 0.2,
            joined: 0.6,
            number: 0.3,
            corrected: 0.6,
            filler: 0.2,
            quoted: 0.6,
            literal: 0.3,
            kind: 0.4,
            further: 0.2,
            clause: 0.2,
            clause_size: 0.75,
            name_covered: 0.1,
            query_covered: 0.1,
            pairs: 0.1,
            exact: 0.5,
            learnt: 0.7,
            same: 0.3,
            prior: 0.03,
            meaning: 0.3,
        }
    }
}

/// One of the numbers, for whoever tunes them.
#[derive(Clone, Copy, Debug)]
pub struct ParameterField {
    /// Its name.
    pub name: &'static str,
    /// The least that makes sense.
    pub low: f32,
    /// The most that makes sense.
    pub high: f32,
    /// Reads it.
    pub get: fn(&Parameters) -> f32,
    /// Sets it.
    pub set: fn(&mut Parameters, f32),
}

macro_rules! number {
    ($name:literal, $($place:tt)*) => { number!(@ $name, [] $($place)*) };
    (@ $name:literal, [$($place:tt)*] , $low:literal, $high:literal) => {
        ParameterField {
            name: $name,
            low: $low,
            high: $high,
            get: |parameters| parameters.$($place)*,
            set: |parameters, value| parameters.$($place)* = value,
        }
    };
    (@ $name:literal, [$($place:tt)*] $next:tt $($rest:tt)*) => { number!(@ $name, [$($place)* $next] $($rest)*) };
}

impl Parameters {
    /// All of them, fields one by one.
    pub const FIELDS: &'static [ParameterField] = &[
        number!("weights.0", weights[0], 0.0, 6.0),
        number!("weights.1", weights[1], 0.0, 6.0),
        number!("weights.2", weights[2], 0.0, 6.0),
        number!("weights.3", weights[3], 0.0, 6.0),
        number!("weights.4", weights[4], 0.0, 6.0),
        number!("weights.5", weights[5], 0.0, 6.0),
        number!("weights.6", weights[6], 0.0, 6.0),
        number!("weights.7", weights[7], 0.0, 6.0),
        number!("weights.8", weights[8], 0.0, 6.0),
        number!("lengths.0", lengths[0], 0.0, 1.0),
        number!("lengths.1", lengths[1], 0.0, 1.0),
        number!("lengths.2", lengths[2], 0.0, 1.0),
        number!("lengths.3", lengths[3], 0.0, 1.0),
        number!("lengths.4", lengths[4], 0.0, 1.0),
        number!("lengths.5", lengths[5], 0.0, 1.0),
        number!("lengths.6", lengths[6], 0.0, 1.0),
        number!("lengths.7", lengths[7], 0.0, 1.0),
        number!("lengths.8", lengths[8], 0.0, 1.0),
        number!("saturation", saturation, 0.4, 4.0),
        number!("rarity", rarity, 0.5, 1.6),
        number!("background", background, 1.0, 3000.0),
        number!("proper", proper, 0.3, 1.0),
        number!("related", related, 0.0, 1.2),
        number!("gloss", gloss, 0.2, 1.5),
        number!("bigram", bigram, 0.0, 1.0),
        number!("joined", joined, 0.0, 1.2),
        number!("number", number, 0.0, 1.0),
        number!("corrected", corrected, 0.0, 1.0),
        number!("filler", filler, 0.0, 1.0),
        number!("quoted", quoted, 0.1, 1.0),
        number!("literal", literal, 0.0, 1.0),
        number!("kind", kind, 0.0, 1.0),
        number!("further", further, 0.0, 0.8),
        number!("clause", clause, 0.0, 0.7),
        number!("clause_size", clause_size, 0.0, 1.5),
        number!("name_covered", name_covered, 0.0, 0.6),
        number!("query_covered", query_covered, 0.0, 0.8),
        number!("pairs", pairs, 0.0, 0.6),
        number!("exact", exact, 0.0, 1.0),
        number!("learnt", learnt, 0.0, 2.0),
        number!("same", same, 0.0, 1.0),
        number!("prior", prior, 0.0, 0.2),
        number!("meaning", meaning, 0.0, 1.0),
    ];

    /// Sets a number by its name, `weights.0` for the first field's; `false` if there is none of that name.
    pub fn set(&mut self, name: &str, value: f32) -> bool {
        let field = Self::FIELDS.iter().find(|field| field.name == name);
        if let Some(field) = field {
            (field.set)(self, value);
        }
        field.is_some()
    }
}

/// The length of each field that counts as usual, in words. Fixed, so that what a word counts in one document never depends
/// on the others.
pub(crate) const USUAL_LENGTHS: [f32; FIELDS] = [3.0, 3.0, 3.0, 2.0, 2.0, 14.0, 5.0, 30.0, 20.0];
