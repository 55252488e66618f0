//! Texts into words: identifiers are split, Chinese is segmented, every word keeps its place in the text.

use std::borrow::Cow;
use std::ops::Range;

use crate::lexicon;

/// A longer run of letters is no word: a key, an encoded file.
const LONGEST_WORD: usize = 64;
/// A longer run of Chinese characters is cut here.
const LONGEST_RUN: usize = 400;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A word of an alphabet.
    Word,
    /// Digits.
    Number,
    /// A Chinese word.
    Han,
    /// Two neighbouring Chinese characters that are no word.
    Bigram,
    /// Several words written as one, beside these words: `github` of `GitHub`.
    Joined,
}

/// One word of a text.
#[derive(Clone, Debug)]
pub(crate) struct Token<'t> {
    /// Folded, not stemmed.
    pub(crate) folded: Cow<'t, str>,
    /// Where it stands in the text.
    pub(crate) at: Range<usize>,
    pub(crate) shape: Shape,
}

/// Letters and digits, or Chinese characters, without anything between them.
pub(crate) enum Run {
    /// The place of the run, and that of the one before it if a hyphen joins the two.
    Letters(Range<usize>, Option<Range<usize>>),
    Chinese(Range<usize>),
}

/// Hands out the words of a text in order.
pub(crate) fn tokens<'t>(text: &'t str, each: &mut dyn FnMut(Token<'t>)) {
    runs(text, &mut |run| tokens_of(text, run, each));
}

/// Hands out the words of one run of a text.
pub(crate) fn tokens_of<'t>(text: &'t str, run: Run, each: &mut dyn FnMut(Token<'t>)) {
    match run {
        Run::Chinese(at) => chinese(text, at, each),
        Run::Letters(at, before) => {
            identifier(text, at.clone(), each);
            if let Some(before) = before {
                hyphenated(text, before, at, each);
            }
        }
    }
}

/// Hands out the runs of a text in order.
pub(crate) fn runs(text: &str, each: &mut dyn FnMut(Run)) {
    let mut run: Option<(usize, Class)> = None;
    let mut before: Option<Range<usize>> = None;
    for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
        let class = class_of(character);
        if let Some((from, kind)) = run {
            if kind == class {
                continue;
            }
            let range = from..at;
            match kind {
                Class::Cjk => each(Run::Chinese(range)),
                Class::Alphabet => {
                    let joined = before.filter(|before| text.get(before.end..from) == Some("-"));
                    before = Some(range.clone());
                    each(Run::Letters(range, joined));
                }
                Class::Between => {}
            }
        }
        run = (class != Class::Between).then_some((at, class));
    }
}

/// A name by which a document may be called, whatever its case and the signs between its words.
pub(crate) fn compact(name: &str) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    let add =
        |hash: u64, character: char| (hash ^ u64::from(u32::from(character))).wrapping_mul(0x0100_0000_01b3);
    if name.is_ascii() {
        let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
        return letters.fold(START, |hash, byte| add(hash, char::from(byte.to_ascii_lowercase())));
    }
    lexicon::fold(name).chars().filter(|character| character.is_alphanumeric()).fold(START, add)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Alphabet,
    Cjk,
    Between,
}

fn class_of(character: char) -> Class {
    if character.is_ascii() {
        return if character.is_ascii_alphanumeric() { Class::Alphabet } else { Class::Between };
    }
    match u32::from(character) {
        0x2E80..=0x2FDF
        | 0x3005..=0x3007
        | 0x3040..=0x30FF
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF
        | 0xF900..=0xFAFF
        | 0x20000..=0x3FFFF => Class::Cjk,
        _ if character.is_alphanumeric() => Class::Alphabet,
        _ => Class::Between,
    }
}

/// `e-mail` is `email` too.
fn hyphenated<'t>(text: &'t str, before: Range<usize>, this: Range<usize>, each: &mut dyn FnMut(Token<'t>)) {
    let (Some(one), Some(two)) = (text.get(before.clone()), text.get(this.clone())) else { return };
    if one.len() + two.len() <= LONGEST_WORD && two.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        let folded = lexicon::fold(&format!("{one}{two}")).into_owned().into();
        each(Token { folded, at: before.start..this.end, shape: Shape::Joined });
    }
}

/// The words of a run of letters and digits: `getHTTPServer2` has three, and is one more.
fn identifier<'t>(text: &'t str, run: Range<usize>, each: &mut dyn FnMut(Token<'t>)) {
    let Some(whole) = text.get(run.clone()).filter(|whole| whole.len() <= LONGEST_WORD * 2) else { return };
    let mut from = 0;
    let mut pieces = 0;
    let mut characters = whole.char_indices().peekable();
    let mut last: Option<char> = None;
    while let Some((at, character)) = characters.next() {
        let lower_next = characters.peek().is_some_and(|(_, next)| next.is_lowercase());
        let boundary = last.is_some_and(|last| {
            character.is_uppercase() && (!last.is_uppercase() || lower_next) && at > from
        });
        // `IDs` and `URLs` are plurals, not `I` and `Ds`.
        let plural = lower_next && whole.get(at + character.len_utf8()..).is_some_and(|rest| rest == "s");
        if boundary && !(plural && last.is_some_and(char::is_uppercase)) {
            piece(text, run.start + from..run.start + at, each);
            pieces += 1;
            from = at;
        }
        last = Some(character);
    }
    piece(text, run.start + from..run.end, each);
    if pieces > 0 && pieces < 4 && whole.len() <= LONGEST_WORD {
        each(Token { folded: lexicon::fold(whole), at: run, shape: Shape::Joined });
    }
}

/// One word; `sha256` is found by `sha` too.
fn piece<'t>(text: &'t str, at: Range<usize>, each: &mut dyn FnMut(Token<'t>)) {
    let Some(word) = text.get(at.clone()).filter(|word| !word.is_empty() && word.len() <= LONGEST_WORD)
    else {
        return;
    };
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if digits == word.len() {
        each(Token { folded: Cow::Borrowed(word), at, shape: Shape::Number });
        return;
    }
    let plain = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let folded = if plain { Cow::Borrowed(word) } else { lexicon::fold(word) };
    each(Token { folded, at: at.clone(), shape: Shape::Word });
    if digits > 0 {
        for part in word.split(|character: char| character.is_ascii_digit()).filter(|part| part.len() > 1) {
            each(Token { folded: lexicon::fold(part), at: at.clone(), shape: Shape::Joined });
        }
    }
}

/// The words of a run of Chinese characters, and the neighbouring pairs that are not words.
fn chinese<'t>(text: &'t str, run: Range<usize>, each: &mut dyn FnMut(Token<'t>)) {
    let Some(whole) = text.get(run.clone()) else { return };
    let mut rest = whole;
    let mut start = run.start;
    while !rest.is_empty() {
        let cut = rest.char_indices().nth(LONGEST_RUN).map_or(rest.len(), |(at, _)| at);
        let (part, after) = rest.split_at(cut);
        chinese_part(part, start, each);
        start += cut;
        rest = after;
    }
}

fn chinese_part<'t>(part: &'t str, start: usize, each: &mut dyn FnMut(Token<'t>)) {
    let folded = lexicon::fold(part);
    // Folding a character keeps its length nearly always; where it does not, the whole run is the place.
    let place = |from: usize, to: usize| {
        let (from, to) = if folded.len() == part.len() { (from, to) } else { (0, part.len()) };
        start + from..start + to
    };
    let words = lexicon::segment(&folded);
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for word in words {
        let from = (word.as_ptr() as usize).saturating_sub(folded.as_ptr() as usize);
        let to = from + word.len();
        if word.chars().count() == 2 {
            pairs.push((from, to));
        }
        each(Token { folded: Cow::Owned(word.to_owned()), at: place(from, to), shape: Shape::Han });
    }
    let places: Vec<usize> = folded.char_indices().map(|(at, _)| at).chain([folded.len()]).collect();
    for window in places.windows(3) {
        let [from, _, to] = *window else { continue };
        if !pairs.contains(&(from, to)) {
            let bigram = folded.get(from..to).unwrap_or_default().to_owned();
            each(Token { folded: Cow::Owned(bigram), at: place(from, to), shape: Shape::Bigram });
        }
    }
}
