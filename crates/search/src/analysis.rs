//! Documents into terms: which term occurs how strongly in which fields, and the order of those that phrases are found by.

use std::collections::HashMap;

use crate::document::Document;
use crate::field::{FIELDS, Field};
use crate::lexicon;
use crate::parameters::{Parameters, USUAL_LENGTHS};
use crate::text::{self, Shape};
use crate::vocabulary::Vocabulary;

/// The most words that are read of one field.
const LONGEST_FIELD: usize = 600;
/// The words of a description among which phrases are found.
const LONGEST_SEQUENCE: usize = 48;
/// The most terms of one document.
const MOST_TERMS: usize = 1200;

/// What became of a document.
#[derive(Default)]
pub(crate) struct Analysed {
    /// Each term with its impact and its fields.
    pub(crate) terms: Vec<(u32, u16, u16)>,
    /// The terms of the name, then of the description, in order.
    pub(crate) sequence: Vec<u32>,
    /// How many of the sequence are the name.
    pub(crate) name: usize,
    /// What it is called, with its server and without.
    pub(crate) called: [u64; 2],
}

/// Analyses many documents: remembers words it has seen.
pub(crate) struct Analyst<'v> {
    vocabulary: &'v mut Vocabulary,
    parameters: &'v Parameters,
    /// Terms of folded words, `None` for those that do not count.
    seen: HashMap<String, Option<u32>>,
    counts: HashMap<u32, [u8; FIELDS]>,
}

impl<'v> Analyst<'v> {
    pub(crate) fn new(vocabulary: &'v mut Vocabulary, parameters: &'v Parameters) -> Self {
        Self { vocabulary, parameters, seen: HashMap::new(), counts: HashMap::new() }
    }

    pub(crate) fn analyse(&mut self, document: &Document<'_>) -> Analysed {
        self.counts.clear();
        let mut analysed = Analysed::default();
        let mut lengths = [0_usize; FIELDS];
        let (server, name) = split_name(document);
        let mut read = |this: &mut Self, field: Field, text: &str, sequence: &mut Vec<u32>| {
            lengths[field as usize] += this.field(field, text, sequence);
        };
        analysed.called =
            [text::compact(&format!("{}{name}", server.unwrap_or_default())), text::compact(name)];
        read(self, Field::Name, name, &mut analysed.sequence);
        analysed.name = analysed.sequence.len();
        read(self, Field::Description, document.description, &mut analysed.sequence);
        analysed.sequence.truncate(analysed.name + LONGEST_SEQUENCE);
        let mut none = Vec::new();
        read(self, Field::Title, document.title.unwrap_or_default(), &mut none);
        for tag in &document.tags {
            read(self, Field::Tags, tag, &mut none);
        }
        read(self, Field::Category, document.category.unwrap_or_default(), &mut none);
        read(self, Field::Server, server.unwrap_or_default(), &mut none);
        read(self, Field::ServerText, document.server_description.unwrap_or_default(), &mut none);
        for parameter in &document.parameters {
            read(self, Field::Parameters, parameter.name, &mut none);
            read(self, Field::ParameterTexts, parameter.description.unwrap_or_default(), &mut none);
        }
        analysed.terms = self.impacts(&lengths);
        analysed
    }

    /// Counts the words of a field, adds those that make phrases to the sequence, and says how many there were.
    fn field(&mut self, field: Field, text: &str, sequence: &mut Vec<u32>) -> usize {
        let mut length = 0;
        text::tokens(text, &mut |token| {
            if length >= LONGEST_FIELD {
                return;
            }
            let Some(term) = self.term(&token.folded) else { return };
            if self.counts.len() < MOST_TERMS || self.counts.contains_key(&term) {
                let counts = self.counts.entry(term).or_insert([0; FIELDS]);
                if let Some(count) = counts.get_mut(field as usize) {
                    *count = count.saturating_add(1);
                }
            }
            if matches!(token.shape, Shape::Word | Shape::Han | Shape::Number) {
                length += 1;
                sequence.push(term);
            }
        });
        length
    }

    fn term(&mut self, folded: &str) -> Option<u32> {
        if let Some(known) = self.seen.get(folded) {
            return *known;
        }
        let term = (!lexicon::is_stop_word(folded)).then(|| self.vocabulary.number(&lexicon::stem(folded)));
        self.seen.insert(folded.to_owned(), term);
        term
    }

    fn impacts(&self, lengths: &[usize; FIELDS]) -> Vec<(u32, u16, u16)> {
        let mut terms: Vec<(u32, u16, u16)> = Vec::with_capacity(self.counts.len());
        let scales = self.scales(lengths);
        for (term, counts) in &self.counts {
            let mut strength = 0.0;
            let mut fields = 0;
            for ((count, scale), field) in counts.iter().zip(scales).zip(Field::ALL) {
                if *count > 0 {
                    strength += f32::from(*count) * scale;
                    fields |= field.bit();
                }
            }
            let impact = strength / (strength + self.parameters.saturation);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and 65535"
            )]
            terms.push((*term, (impact * 65535.0).clamp(1.0, 65535.0) as u16, fields));
        }
        terms.sort_unstable_by_key(|term| term.0);
        terms
    }

    /// What one occurrence in each field counts, given how long the field is.
    fn scales(&self, lengths: &[usize; FIELDS]) -> [f32; FIELDS] {
        let mut scales = self.parameters.weights;
        let parameters = lengths.iter().zip(USUAL_LENGTHS).zip(self.parameters.lengths);
        for (scale, ((length, usual), held)) in scales.iter_mut().zip(parameters) {
            #[expect(clippy::cast_precision_loss, reason = "a few hundred at most")]
            let length = *length as f32;
            *scale /= 1.0 - held + held * (length / usual).max(0.25);
        }
        scales
    }
}

/// The server and the name without it: catalogues name tools `server__tool`.
fn split_name<'d>(document: &Document<'d>) -> (Option<&'d str>, &'d str) {
    let name = document.name;
    if let Some((server, tool)) =
        name.split_once("__").filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
    {
        return (document.server.or(Some(server)), tool);
    }
    if let Some(server) = document.server
        && let Some(tool) = name.strip_prefix(server)
    {
        let tool = tool.trim_start_matches(['.', '/', ':', '_', '-']);
        if !tool.is_empty() && tool.len() + server.len() < name.len() {
            return (Some(server), tool);
        }
    }
    (document.server, name)
}
