//! Documents into terms: which term occurs how strongly in which fields, and the order of those that phrases are found by.

use std::collections::HashMap;
use std::ops::Range;
use std::thread;

use crate::document::Document;
use crate::field::{FIELDS, Field};
use crate::lexicon;
use crate::parameters::{Parameters, USUAL_LENGTHS};
use crate::quick::Quick;
use crate::text::{self, Run, Shape};

/// The most words that are read of one field.
const LONGEST_FIELD: usize = 600;
/// The words of a description among which phrases are found.
const LONGEST_SEQUENCE: usize = 48;
/// The most words that are read of one document, with those that are read in several ways.
const MOST_READ: usize = 3000;
/// Fewer documents are not worth another thread, and more threads are not worth their memory.
const FEWEST_FOR_A_THREAD: usize = 256;
const MOST_THREADS: usize = 4;

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

impl Analysed {
    /// The same with the numbers of a vocabulary instead of those of a part.
    pub(crate) fn numbered(mut self, numbers: &[u32]) -> Self {
        let number = |word: u32| numbers.get(word as usize).copied().unwrap_or(u32::MAX);
        for term in &mut self.terms {
            term.0 = number(term.0);
        }
        for term in &mut self.sequence {
            *term = number(*term);
        }
        self
    }
}

/// Documents that were analysed together. Their terms are numbers of words.
pub(crate) struct Part {
    /// Words, and whether any document has them.
    pub(crate) words: Vec<(String, bool)>,
    pub(crate) documents: Vec<Analysed>,
}

/// Analyses documents, many of them on several processors.
pub(crate) fn analyse(documents: &[&Document<'_>], parameters: &Parameters) -> Vec<Part> {
    let processors = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let threads = (documents.len() / FEWEST_FOR_A_THREAD).clamp(1, processors);
    let size = documents.len().div_ceil(threads).max(1);
    let mut parts = documents.chunks(size);
    let Some(mine) = parts.next() else { return Vec::new() };
    thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|part| {
                let started =
                    thread::Builder::new().spawn_scoped(scope, move || Analyst::new(parameters).all(part));
                (part, started)
            })
            .collect();
        let mut read = vec![Analyst::new(parameters).all(mine)];
        for (part, started) in others {
            // Where no thread could be had, or one ended badly, the part is read here.
            let theirs = started.ok().and_then(|thread| thread.join().ok());
            read.push(theirs.unwrap_or_else(|| Analyst::new(parameters).all(part)));
        }
        read
    })
}

/// A word that was read: its number, and whether it is one that phrases are made of.
type Read = (u32, bool);

/// Analyses many documents: remembers words it has seen.
struct Analyst<'d> {
    parameters: &'d Parameters,
    /// Stems, and whether any document has them.
    words: Vec<(String, bool)>,
    /// The numbers of folded words, and whether they are stop words.
    known: HashMap<String, (u32, bool), Quick>,
    stems: HashMap<String, u32, Quick>,
    /// Where the words of a run of letters stand among all that were read.
    runs: HashMap<&'d str, Range<usize>, Quick>,
    read: Vec<(Read, bool)>,
    /// The words of the document at hand, each with its field.
    occurrences: Vec<(u32, u8)>,
}

impl<'d> Analyst<'d> {
    fn new(parameters: &'d Parameters) -> Self {
        Self {
            parameters,
            words: Vec::new(),
            known: HashMap::default(),
            stems: HashMap::default(),
            runs: HashMap::default(),
            read: Vec::new(),
            occurrences: Vec::new(),
        }
    }

    fn all(mut self, documents: &[&'d Document<'_>]) -> Part {
        let documents = documents.iter().map(|document| self.one(document)).collect();
        Part { words: self.words, documents }
    }

    fn one(&mut self, document: &'d Document<'_>) -> Analysed {
        self.occurrences.clear();
        let mut analysed = Analysed::default();
        let mut lengths = [0_usize; FIELDS];
        let (server, name) = split_name(document);
        let mut read = |this: &mut Self, field: Field, text: &'d str, sequence: &mut Vec<u32>| {
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

    /// Notes the words of a field, adds those that make phrases to the sequence, and says how many there were.
    fn field(&mut self, field: Field, text: &'d str, sequence: &mut Vec<u32>) -> usize {
        let mut length = 0;
        text::runs(text, &mut |run| {
            if length >= LONGEST_FIELD || self.occurrences.len() >= MOST_READ {
                return;
            }
            let before = self.read.len();
            let passing = !matches!(run, Run::Letters(_, None));
            for at in self.words_of(text, run) {
                let Some(((word, plain), stop)) = self.read.get(at).copied() else { continue };
                // Of stop words only those of names are kept: for whoever asks for a tool by such a name.
                if stop && field != Field::Name {
                    continue;
                }
                self.occurrences.push((word, field as u8));
                if let Some(word) = self.words.get_mut(word as usize) {
                    word.1 = true;
                }
                if plain && !stop {
                    length += 1;
                    sequence.push(word);
                }
            }
            if passing {
                self.read.truncate(before);
            }
        });
        length
    }

    /// Where the words of a run stand among all that were read.
    fn words_of(&mut self, text: &'d str, run: Run) -> Range<usize> {
        let whole = match &run {
            Run::Letters(at, None) => text.get(at.clone()),
            Run::Letters(_, Some(_)) | Run::Chinese(_) => None,
        };
        if let Some(known) = whole.and_then(|whole| self.runs.get(whole)) {
            return known.clone();
        }
        let from = self.read.len();
        text::tokens_of(text, run, &mut |token| {
            let (word, stop) = self.word(&token.folded);
            let plain = matches!(token.shape, Shape::Word | Shape::Han | Shape::Number);
            self.read.push(((word, plain), stop));
        });
        let words = from..self.read.len();
        if let Some(whole) = whole {
            self.runs.insert(whole, words.clone());
        }
        words
    }

    fn word(&mut self, folded: &str) -> (u32, bool) {
        if let Some(known) = self.known.get(folded) {
            return *known;
        }
        let stem = lexicon::stem(folded);
        let number = self.stems.get(&*stem).copied().unwrap_or_else(|| {
            let number = crate::pages::index(self.words.len());
            self.words.push((stem.to_string(), false));
            self.stems.insert(stem.into_owned(), number);
            number
        });
        let known = (number, lexicon::is_stop_word(folded));
        self.known.insert(folded.to_owned(), known);
        known
    }

    fn impacts(&mut self, lengths: &[usize; FIELDS]) -> Vec<(u32, u16, u16)> {
        let scales = self.scales(lengths);
        self.occurrences.sort_unstable();
        let same = self.occurrences.chunk_by(|one, another| one.0 == another.0);
        let terms = same.map(|same| {
            let (mut strength, mut fields) = (0.0, 0);
            for (_, field) in same {
                strength += scales.get(usize::from(*field)).copied().unwrap_or_default();
                fields |= 1 << field;
            }
            let impact = strength / (strength + self.parameters.saturation);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and 65535"
            )]
            let impact = (impact * 65535.0).clamp(1.0, 65535.0) as u16;
            (same.first().map_or(0, |first| first.0), impact, fields)
        });
        terms.collect()
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
