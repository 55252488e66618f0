//! Cuts a text into the pieces that a table has vectors for, as `tokenizer.json` says: byte-pair encoding as SentencePiece
//! models have it (spaces become a mark, characters that are not known become bytes). The crate `tokenizers` knows every
//! other sort too, but would be the costliest dependency here; other sorts are refused.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use serde::Deserialize;
use serde_json::Value;

use super::TableProblem;

/// Cuts texts into pieces.
pub(crate) struct Tokenizer {
    pieces: HashMap<Box<str>, u32>,
    /// What two pieces side by side become, and how early.
    merges: HashMap<(u32, u32), Merge>,
    normal: Vec<Step>,
    /// The pieces of single bytes, if characters that are not known become those.
    bytes: Option<Box<[u32; 256]>>,
    unknown: Option<u32>,
}

#[derive(Clone, Copy)]
struct Merge {
    rank: u32,
    piece: u32,
}

/// What is done to a text before it is cut.
enum Step {
    Prepend(String),
    Replace(String, String),
    LowerCase,
}

#[derive(Deserialize)]
struct File {
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type")]
    kind: Option<String>,
    vocab: Value,
    #[serde(default)]
    merges: Vec<MergedPair>,
    unk_token: Option<String>,
    #[serde(default)]
    byte_fallback: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum MergedPair {
    Spaced(String),
    Split(String, String),
}

impl Tokenizer {
    /// Reads `tokenizer.json`.
    pub(crate) fn read(json: &[u8]) -> Result<Self, TableProblem> {
        let file: File = serde_json::from_slice(json)
            .map_err(|error| TableProblem(format!("it is no tokenizer.json: {error}")))?;
        let kind = file.model.kind.as_deref().unwrap_or("BPE");
        if kind != "BPE" {
            return Err(TableProblem(format!("its model is of the type {kind:?}; only \"BPE\" can be read")));
        }
        let mut normal = Vec::new();
        read_steps(file.normalizer.as_ref(), &mut normal)?;
        read_marks(file.pre_tokenizer.as_ref(), &mut normal)?;
        let pieces: HashMap<Box<str>, u32> = HashMap::deserialize(file.model.vocab)
            .map_err(|error| TableProblem(format!("its vocabulary cannot be read: {error}")))?;
        let merges = merges_of(&file.model.merges, &pieces)?;
        let bytes = if file.model.byte_fallback { bytes_of(&pieces) } else { None };
        let unknown = file.model.unk_token.and_then(|token| pieces.get(token.as_str()).copied());
        Ok(Self { pieces, merges, normal, bytes, unknown })
    }

    /// The pieces of a text.
    pub(crate) fn pieces_of(&self, text: &str) -> Vec<u32> {
        let mut text = text.to_owned();
        for step in &self.normal {
            match step {
                Step::Prepend(_) if text.is_empty() => {}
                Step::Prepend(mark) => text.insert_str(0, mark),
                Step::Replace(this, that) => text = text.replace(this.as_str(), that),
                Step::LowerCase => text = text.to_lowercase(),
            }
        }
        self.merged(self.letters_of(&text))
    }

    fn letters_of(&self, text: &str) -> Vec<u32> {
        let mut letters = Vec::with_capacity(text.len());
        let mut buffer = [0; 4];
        let mut after_unknown = false;
        for letter in text.chars() {
            let letter = &*letter.encode_utf8(&mut buffer);
            let known = self.pieces.get(letter).copied();
            match (known, &self.bytes) {
                (Some(piece), _) => letters.push(piece),
                (None, Some(bytes)) => letters.extend(letter.bytes().map(|byte| bytes[usize::from(byte)])),
                // Several in a row count as one.
                (None, None) if after_unknown => {}
                (None, None) => letters.extend(self.unknown),
            }
            after_unknown = known.is_none();
        }
        letters
    }

    /// Puts pieces together, the earliest merge first and of the same ones the leftmost.
    fn merged(&self, pieces: Vec<u32>) -> Vec<u32> {
        let mut line = Line::new(pieces);
        let mut waiting = BinaryHeap::new();
        for left in 0..line.pieces.len() {
            self.offer(&line, left, &mut waiting);
        }
        while let Some(Reverse((_, left, piece))) = waiting.pop() {
            // Either side may have become part of something else since.
            if self.merge_at(&line, left).is_none_or(|merge| merge.piece != piece) {
                continue;
            }
            line.join(left, piece);
            self.offer(&line, left, &mut waiting);
            if let Some(before) = line.before(left) {
                self.offer(&line, before, &mut waiting);
            }
        }
        line.rest()
    }

    fn offer(&self, line: &Line, left: usize, waiting: &mut BinaryHeap<Reverse<(u32, usize, u32)>>) {
        waiting.extend(self.merge_at(line, left).map(|merge| Reverse((merge.rank, left, merge.piece))));
    }

    fn merge_at(&self, line: &Line, left: usize) -> Option<Merge> {
        let right = line.after(left)?;
        self.merges.get(&(line.pieces[left]?, line.pieces[right]?)).copied()
    }
}

/// Pieces in a row, of which neighbours can be joined.
struct Line {
    /// Nothing where a piece was joined to the one before it.
    pieces: Vec<Option<u32>>,
    next: Vec<usize>,
    previous: Vec<usize>,
}

impl Line {
    fn new(pieces: Vec<u32>) -> Self {
        let count = pieces.len();
        let next = (1..=count).collect();
        let previous = (0..count).map(|place| place.wrapping_sub(1)).collect();
        Self { pieces: pieces.into_iter().map(Some).collect(), next, previous }
    }

    fn after(&self, place: usize) -> Option<usize> {
        self.next.get(place).copied().filter(|next| *next < self.pieces.len())
    }

    fn before(&self, place: usize) -> Option<usize> {
        self.previous.get(place).copied().filter(|previous| *previous < self.pieces.len())
    }

    fn join(&mut self, left: usize, piece: u32) {
        let Some(right) = self.after(left) else { return };
        self.pieces[left] = Some(piece);
        self.pieces[right] = None;
        self.next[left] = self.next[right];
        if let Some(after) = self.after(left) {
            self.previous[after] = left;
        }
    }

    fn rest(self) -> Vec<u32> {
        self.pieces.into_iter().flatten().collect()
    }
}

fn read_steps(normalizer: Option<&Value>, steps: &mut Vec<Step>) -> Result<(), TableProblem> {
    let Some(normalizer) = normalizer.filter(|normalizer| !normalizer.is_null()) else { return Ok(()) };
    let text = |key: &str| normalizer[key].as_str().map(str::to_owned);
    match normalizer["type"].as_str().unwrap_or_default() {
        "Sequence" => {
            let all = normalizer["normalizers"].as_array().map(Vec::as_slice).unwrap_or_default();
            return all.iter().try_for_each(|step| read_steps(Some(step), steps));
        }
        "Prepend" => steps.extend(text("prepend").map(Step::Prepend)),
        "Lowercase" => steps.push(Step::LowerCase),
        "Replace" if normalizer["pattern"]["String"].is_string() => {
            let this = normalizer["pattern"]["String"].as_str().unwrap_or_default().to_owned();
            steps.extend(text("content").filter(|_| !this.is_empty()).map(|that| Step::Replace(this, that)));
        }
        other => {
            return Err(TableProblem(format!(
                "its normalizer {other:?} is not known; Prepend, Replace (of a text) and Lowercase are"
            )));
        }
    }
    Ok(())
}

/// A mark for spaces may be written as a pre-tokenizer too.
fn read_marks(before: Option<&Value>, steps: &mut Vec<Step>) -> Result<(), TableProblem> {
    let Some(before) = before.filter(|before| !before.is_null()) else { return Ok(()) };
    if before["type"] != "Metaspace" {
        return Err(TableProblem(format!(
            "its pre-tokenizer {} is not known; only Metaspace is",
            before["type"]
        )));
    }
    let mark = before["replacement"].as_str().unwrap_or("▁").to_owned();
    steps.push(Step::Replace(" ".to_owned(), mark.clone()));
    if before["prepend_scheme"] != "never" && before["add_prefix_space"] != false {
        steps.push(Step::Prepend(mark));
    }
    Ok(())
}

fn merges_of(
    pairs: &[MergedPair],
    pieces: &HashMap<Box<str>, u32>,
) -> Result<HashMap<(u32, u32), Merge>, TableProblem> {
    let mut merges = HashMap::with_capacity(pairs.len());
    for (rank, pair) in (0_u32..).zip(pairs) {
        let (left, right) = match pair {
            MergedPair::Split(left, right) => (left.as_str(), right.as_str()),
            MergedPair::Spaced(both) => both.split_once(' ').unwrap_or((both, "")),
        };
        let whole = format!("{left}{right}");
        let known = |piece: &str| pieces.get(piece).copied();
        let (Some(one), Some(two), Some(piece)) = (known(left), known(right), known(&whole)) else {
            return Err(TableProblem(format!("its merge {left:?} with {right:?} is not in its vocabulary")));
        };
        merges.entry((one, two)).or_insert(Merge { rank, piece });
    }
    Ok(merges)
}

fn bytes_of(pieces: &HashMap<Box<str>, u32>) -> Option<Box<[u32; 256]>> {
    let mut bytes = Box::new([0; 256]);
    for (byte, piece) in bytes.iter_mut().enumerate() {
        *piece = *pieces.get(format!("<0x{byte:02X}>").as_str())?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tokenizer() -> Tokenizer {
        let vocab =
            json!({"<unk>": 0, "▁": 1, "l": 2, "o": 3, "w": 4, "lo": 5, "low": 6, "▁low": 7, "ow": 8});
        let file = json!({
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ]},
            "model": {"type": "BPE", "vocab": vocab, "unk_token": "<unk>", "merges": ["l o", ["o", "w"], "lo w", "▁ low"]},
        });
        Tokenizer::read(file.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn the_earliest_merge_goes_first() {
        assert_eq!(tokenizer().pieces_of("low"), [7]);
        assert_eq!(tokenizer().pieces_of("ow low"), [1, 8, 7]);
        assert_eq!(tokenizer().pieces_of("lolo"), [1, 5, 5]);
        assert_eq!(tokenizer().pieces_of(""), [0; 0]);
    }

    #[test]
    fn letters_that_are_not_known_count_once_in_a_row() {
        assert_eq!(tokenizer().pieces_of("汉字low"), [1, 0, 6]);
    }

    #[test]
    fn other_sorts_are_refused() {
        for file in [
            json!({"model": {"type": "WordPiece", "vocab": {}}}),
            json!({"model": {"type": "BPE", "vocab": {}}, "pre_tokenizer": {"type": "ByteLevel"}}),
            json!({"model": {"type": "BPE", "vocab": {}}, "normalizer": {"type": "NFKC"}}),
            json!({"model": {"type": "BPE", "vocab": {}, "merges": ["a b"]}}),
            json!([]),
        ] {
            assert!(Tokenizer::read(file.to_string().as_bytes()).is_err(), "{file}");
        }
    }

    #[test]
    fn a_long_text_takes_no_long_time() {
        let many = tokenizer().pieces_of(&"lo".repeat(100_000));
        assert_eq!(many.len(), 100_001);
    }
}
