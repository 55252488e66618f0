//! Documents into terms: which term occurs how strongly in which fields, and the order of those that phrases are found by.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use crate::containers::quick::Quick;
use crate::document::Document;
use crate::document::text::{self, Run, Shape};
use crate::field::{FIELDS, Field};
use crate::lexicon;
use crate::parameters::{Parameters, USUAL_LENGTHS};
use crate::pattern_outline::Outline;

/// The most words that are read of one field.
const LONGEST_FIELD: usize = 600;
/// The words of a description among which phrases are found.
const LONGEST_SEQUENCE: usize = 48;
/// The most words that are read of one document, with those that are read in several ways.
const MOST_READ: usize = 3000;
/// Fewer documents are not worth another thread, and more threads are not worth their memory.
const FEWEST_FOR_A_THREAD: usize = 256;
const MOST_THREADS: usize = 4;
/// The longest run whose words are remembered, in bytes, and how many runs are kept from one batch to the next.
const LONGEST_REMEMBERED: usize = 48;
const MOST_REMEMBERED: usize = 30_000;

/// What became of a document.
pub(crate) struct Analysed {
    /// Where its terms and its sequence end among those of the part.
    pub(crate) ends: [usize; 2],
    /// How many of the sequence are the name.
    pub(crate) name: usize,
    /// What it is called, with its server and without.
    pub(crate) called: [u64; 2],
    /// That of the texts in which patterns are looked for.
    pub(crate) outline: Outline,
}

/// Documents that were analysed together. Their terms are numbers of words.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) documents: Vec<Analysed>,
    /// Each term of each document with its impact and its fields.
    pub(crate) terms: Vec<(u32, u16, u16)>,
    /// The terms of the name, then of the description, in order, of each document.
    pub(crate) sequence: Vec<u32>,
}

/// Words that were looked up for earlier documents, so that the next batch need not. For whoever indexes many batches: it may
/// take some megabytes, and is best dropped when they are done.
#[derive(Default)]
pub struct Reading {
    /// One for each processor.
    memories: Vec<AnalysisMemory>,
}

/// What one processor has seen.
#[derive(Default)]
pub(crate) struct AnalysisMemory {
    /// Stems, and whether any document of this batch has them.
    pub(crate) words: Vec<(Arc<str>, bool)>,
    stems: HashMap<Arc<str>, u32, Quick>,
    /// The numbers of folded words, and whether they are stop words.
    known: HashMap<Box<str>, (u32, bool), Quick>,
    /// Where the words of a run stand among all that were read.
    runs: HashMap<Box<str>, Range<usize>, Quick>,
    read: Vec<(ReadWord, bool)>,
}

impl Reading {
    /// Analyses documents, many of them on several processors. What was remembered comes with each part, for
    /// [`Self::keep`].
    pub(crate) fn analyse(
        &mut self,
        documents: &[&Document<'_>],
        parameters: &Parameters,
    ) -> Vec<(AnalysisMemory, Part)> {
        let processors = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let threads = (documents.len() / FEWEST_FOR_A_THREAD).clamp(1, processors);
        let size = documents.len().div_ceil(threads).max(1);
        let mut parts = documents.chunks(size);
        let Some(mine) = parts.next() else { return Vec::new() };
        thread::scope(|scope| {
            let memory = self.memories.pop().unwrap_or_default();
            let others: Vec<_> = parts
                .map(|part| {
                    let memory = self.memories.pop().unwrap_or_default();
                    let work = move || Analyst::new(memory, parameters).all(part);
                    (part, thread::Builder::new().spawn_scoped(scope, work))
                })
                .collect();
            let mut read = vec![Analyst::new(memory, parameters).all(mine)];
            for (part, started) in others {
                // Where no thread could be had, or one ended badly, the part is read here.
                let theirs = started.ok().and_then(|thread| thread.join().ok());
                read.push(
                    theirs.unwrap_or_else(|| Analyst::new(AnalysisMemory::default(), parameters).all(part)),
                );
            }
            read
        })
    }

    /// Keeps what was remembered for the next batch, unless it is too much.
    pub(crate) fn keep(&mut self, mut memory: AnalysisMemory) {
        if memory.runs.len() <= MOST_REMEMBERED {
            for word in &mut memory.words {
                word.1 = false;
            }
            self.memories.push(memory);
        }
    }
}

/// A word that was read: its number, and whether it is one that phrases are made of.
type ReadWord = (u32, bool);

/// Analyses many documents: remembers words it has seen.
struct Analyst<'p> {
    parameters: &'p Parameters,
    memory: AnalysisMemory,
    part: Part,
    /// The words of the document at hand, each with its field.
    occurrences: Vec<(u32, u8)>,
}

impl<'p> Analyst<'p> {
    fn new(memory: AnalysisMemory, parameters: &'p Parameters) -> Self {
        Self { parameters, memory, part: Part::default(), occurrences: Vec::new() }
    }

    fn all(mut self, documents: &[&Document<'_>]) -> (AnalysisMemory, Part) {
        for document in documents {
            self.one(document);
        }
        (self.memory, self.part)
    }

    fn one(&mut self, document: &Document<'_>) {
        self.occurrences.clear();
        let mut lengths = [0_usize; FIELDS];
        let (server, name) = split_name(document);
        let mut read = |this: &mut Self, field: Field, text: &str| {
            lengths[field as usize] += this.field(field, text);
        };
        let alone = text::compact(name);
        let called = [server.map_or(alone, |server| text::compact(&format!("{server}{name}"))), alone];
        let from = self.part.sequence.len();
        read(self, Field::Name, name);
        let name = self.part.sequence.len() - from;
        read(self, Field::Description, document.description);
        self.part.sequence.truncate(from + name + LONGEST_SEQUENCE);
        let sequence_end = self.part.sequence.len();
        read(self, Field::Title, document.title.unwrap_or_default());
        for tag in &document.tags {
            read(self, Field::Tags, tag);
        }
        read(self, Field::Category, document.category.unwrap_or_default());
        read(self, Field::Server, server.unwrap_or_default());
        read(self, Field::ServerText, document.server_description.unwrap_or_default());
        for parameter in &document.parameters {
            read(self, Field::Parameters, parameter.name);
            read(self, Field::ParameterTexts, parameter.description.unwrap_or_default());
        }
        self.part.sequence.truncate(sequence_end);
        self.impacts(&lengths);
        let ends = [self.part.terms.len(), sequence_end];
        let searched = [document.name, document.description].into_iter().chain(document.tags.iter().copied());
        let outline = Outline::of(searched);
        self.part.documents.push(Analysed { ends, name, called, outline });
    }

    /// Notes the words of a field, adds those that make phrases to the sequence, and says how many there were.
    fn field(&mut self, field: Field, text: &str) -> usize {
        let mut length = 0;
        text::runs(text, &mut |run| {
            if length >= LONGEST_FIELD || self.occurrences.len() >= MOST_READ {
                return;
            }
            let (words, remembered) = self.memory.words_of(text, run);
            let before = words.start;
            for at in words {
                let Some(((word, plain), stop)) = self.memory.read.get(at).copied() else { continue };
                // Of stop words only those of names are kept: for whoever asks for a tool by such a name.
                if stop && field != Field::Name {
                    continue;
                }
                self.occurrences.push((word, field as u8));
                if let Some(word) = self.memory.words.get_mut(word as usize) {
                    word.1 = true;
                }
                if plain && !stop {
                    length += 1;
                    self.part.sequence.push(word);
                }
            }
            if !remembered {
                self.memory.read.truncate(before);
            }
        });
        length
    }

    /// Adds the terms of the document at hand.
    fn impacts(&mut self, lengths: &[usize; FIELDS]) {
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
        self.part.terms.extend(terms);
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

impl AnalysisMemory {
    /// Where the words of a run stand among all that were read, and whether they stay there.
    fn words_of(&mut self, text: &str, run: Run) -> (Range<usize>, bool) {
        let at = match &run {
            Run::Letters(at, before) => before.as_ref().map_or(at.start, |before| before.start)..at.end,
            Run::Chinese(at) => at.clone(),
        };
        let whole = text.get(at).filter(|whole| whole.len() <= LONGEST_REMEMBERED);
        if let Some(known) = whole.and_then(|whole| self.runs.get(whole)) {
            return (known.clone(), true);
        }
        let from = self.read.len();
        text::tokens_of(text, run, &mut |token| {
            let (word, stop) = self.word(&token.folded);
            let plain = matches!(token.shape, Shape::Word | Shape::Han | Shape::Number);
            self.read.push(((word, plain), stop));
        });
        let words = from..self.read.len();
        if let Some(whole) = whole {
            self.runs.insert(whole.into(), words.clone());
        }
        (words, whole.is_some())
    }

    fn word(&mut self, folded: &str) -> (u32, bool) {
        if let Some(known) = self.known.get(folded) {
            return *known;
        }
        let stem = lexicon::stem(folded);
        let number = self.stems.get(&*stem).copied().unwrap_or_else(|| {
            let number = crate::containers::pages::index(self.words.len());
            let stem: Arc<str> = Arc::from(stem);
            self.words.push((Arc::clone(&stem), false));
            self.stems.insert(stem, number);
            number
        });
        let known = (number, lexicon::is_stop_word(folded));
        self.known.insert(folded.into(), known);
        known
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
