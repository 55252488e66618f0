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
    /// How much more the words at the start of a query count, where somebody says what for.
    pub early: f32,
    /// What was learnt from use.
    pub learnt: f32,
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
            further: 0.2,
            clause: 0.2,
            clause_size: 0.75,
            name_covered: 0.1,
            query_covered: 0.1,
            pairs: 0.1,
            exact: 0.5,
            early: 0.0,
            learnt: 0.5,
            prior: 0.03,
            meaning: 0.3,
        }
    }
}

impl Parameters {
    /// Sets a number by its name, `weights.0` for the first field's; `false` if there is none of that name.
    pub fn set(&mut self, name: &str, value: f32) -> bool {
        let place = self.place(name);
        let known = place.is_some();
        if let Some(place) = place {
            *place = value;
        }
        known
    }

    /// The number of that name, as [`set`](Self::set) takes it.
    pub fn get(&self, name: &str) -> Option<f32> {
        self.clone().place(name).copied()
    }

    fn place(&mut self, name: &str) -> Option<&mut f32> {
        if let Some((list, at)) = name.split_once('.') {
            let at: usize = at.parse().ok()?;
            return match list {
                "weights" => self.weights.get_mut(at),
                "lengths" => self.lengths.get_mut(at),
                _ => None,
            };
        }
        Some(match name {
            "saturation" => &mut self.saturation,
            "rarity" => &mut self.rarity,
            "background" => &mut self.background,
            "proper" => &mut self.proper,
            "related" => &mut self.related,
            "gloss" => &mut self.gloss,
            "bigram" => &mut self.bigram,
            "joined" => &mut self.joined,
            "number" => &mut self.number,
            "corrected" => &mut self.corrected,
            "filler" => &mut self.filler,
            "quoted" => &mut self.quoted,
            "literal" => &mut self.literal,
            "further" => &mut self.further,
            "clause" => &mut self.clause,
            "clause_size" => &mut self.clause_size,
            "name_covered" => &mut self.name_covered,
            "query_covered" => &mut self.query_covered,
            "pairs" => &mut self.pairs,
            "exact" => &mut self.exact,
            "early" => &mut self.early,
            "learnt" => &mut self.learnt,
            "prior" => &mut self.prior,
            "meaning" => &mut self.meaning,
            _ => return None,
        })
    }
}

/// The length of each field that counts as usual, in words. Fixed, so that what a word counts in one document never depends
/// on the others.
pub(crate) const USUAL_LENGTHS: [f32; FIELDS] = [3.0, 3.0, 3.0, 2.0, 2.0, 14.0, 5.0, 30.0, 20.0];
