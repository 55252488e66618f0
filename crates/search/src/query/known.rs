//! What the language data says of a word of a query: looked up once and remembered by the thread that asked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::containers::quick::{self, Quick};
use crate::document::text::Shape;
use crate::lexicon;
use crate::parameters::Parameters;

/// How many words each thread remembers, and how many pairs of characters: about a kilobyte each.
const REMEMBERED: usize = 1024;

/// A word of a query, whatever the query.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) folded: Box<str>,
    pub(crate) stop: bool,
    /// Whether it only asks: please, help, want.
    pub(crate) filler: bool,
    /// Whether something new may begin behind it: and, then.
    pub(crate) joint: bool,
    /// What it may be called, the word itself first.
    pub(crate) ways: Rc<[Way]>,
}

/// A term that may stand for a word.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) term: Rc<str>,
    pub(crate) hash: u64,
    pub(crate) weight: f32,
}

impl Way {
    pub(crate) fn new(term: &str, weight: f32) -> Self {
        Self { term: Rc::from(term), hash: quick::hash(term), weight }
    }
}

/// What a thread remembers, and the weights it goes by.
#[derive(Default)]
struct QueryMemory {
    weights: (f32, f32),
    words: HashMap<Box<str>, Rc<Known>, Quick>,
    bigrams: HashMap<Box<str>, Rc<Known>, Quick>,
}

thread_local! {
    static MEMORY: RefCell<QueryMemory> = RefCell::default();
}

/// Looks a folded word up, or remembers it.
pub(crate) fn known(folded: &str, shape: Shape, parameters: &Parameters) -> Rc<Known> {
    MEMORY.with_borrow_mut(|memory| {
        let weights = (parameters.related, parameters.gloss);
        if memory.weights != weights {
            *memory = QueryMemory { weights, ..QueryMemory::default() };
        }
        let words = if shape == Shape::Bigram { &mut memory.bigrams } else { &mut memory.words };
        if let Some(known) = words.get(folded) {
            return Rc::clone(known);
        }
        if words.len() >= REMEMBERED {
            words.clear();
        }
        let known = Rc::new(study(folded, shape, parameters));
        words.insert(folded.into(), Rc::clone(&known));
        known
    })
}

fn study(folded: &str, shape: Shape, parameters: &Parameters) -> Known {
    let stem = lexicon::stem(folded);
    let mut ways = vec![Way::new(&stem, 1.0)];
    if matches!(shape, Shape::Word | Shape::Joined | Shape::Han) {
        for (term, weight) in lexicon::related(&stem) {
            add(&mut ways, term, weight * parameters.related);
        }
    }
    match shape {
        Shape::Han => {
            for (word, weight) in lexicon::english_of(folded) {
                add(&mut ways, &lexicon::stem(word), weight * parameters.gloss);
            }
        }
        Shape::Word | Shape::Joined => {
            for (word, weight) in lexicon::chinese_of(&stem) {
                add(&mut ways, word, weight * parameters.gloss);
            }
        }
        Shape::Number | Shape::Bigram => {}
    }
    Known {
        folded: folded.into(),
        stop: lexicon::is_stop_word(folded),
        filler: FILLERS.contains(&folded),
        joint: JOINTS.contains(&folded),
        ways: ways.into(),
    }
}

fn add(ways: &mut Vec<Way>, term: &str, weight: f32) {
    match ways.iter_mut().find(|way| &*way.term == term) {
        Some(way) => way.weight = way.weight.max(weight),
        None => ways.push(Way::new(term, weight)),
    }
}

/// Words behind which something new may begin.
const JOINTS: &[&str] = &["and", "then", "also", "并", "并且", "然后", "还", "再"];

/// Words by which people ask, whatever they ask for.
const FILLERS: &[&str] = &[
    "please",
    "help",
    "want",
    "need",
    "like",
    "would",
    "could",
    "tell",
    "know",
    "let",
    "looking",
    "look",
    "give",
    "thanks",
    "thank",
    "hi",
    "hello",
    "hey",
    "im",
    "ive",
    "id",
    "going",
    "wondering",
    "wonder",
    "interested",
    "trying",
    "try",
    "able",
    "use",
    "using",
    "make",
    "sure",
    "provide",
    "assist",
    "帮",
    "帮我",
    "帮忙",
    "请",
    "想",
    "需要",
    "我想",
    "希望",
    "可以",
    "能",
    "告诉",
    "想要",
    "知道",
    "麻烦",
];
