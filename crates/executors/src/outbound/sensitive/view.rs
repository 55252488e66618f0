//! A text with its escapes undone, or its lines joined, and where each part of it came from. Upstreams escape what they echo in
//! many ways (`\u0026`, `&#34;`, JSON inside JSON), too many to search for each; here they all look alike.

use std::ops::Range;

use memchr::{memchr2, memchr3};

/// The longest escape: `\ud83d\ude00`.
const LONGEST: usize = 12;

/// One level of escapes undone, or lines joined.
#[derive(Debug)]
pub(super) struct DecodedView {
    pub(super) bytes: Vec<u8>,
    /// Where stretches of the view begin, here and in what it was made from; between them both run side by side.
    runs: Vec<(usize, usize)>,
}

impl DecodedView {
    /// Undoes one level of escapes; nothing if there is none.
    pub(super) fn of(source: &[u8]) -> Option<Self> {
        let mut view = Self { bytes: Vec::new(), runs: Vec::new() };
        let mut copied = 0;
        let mut at = 0;
        while let Some(offset) = memchr3(b'\\', b'&', b'%', &source[at..]) {
            let start = at + offset;
            let Some((length, character)) = escape_at(&source[start..]) else {
                at = start + 1;
                continue;
            };
            view.bytes.extend_from_slice(&source[copied..start]);
            match character {
                Escaped::Character(character) => {
                    view.bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Escaped::Byte(byte) => view.bytes.push(byte),
            }
            at = start + length;
            copied = at;
            view.runs.push((view.bytes.len(), at));
        }
        if view.runs.is_empty() {
            return None;
        }
        view.bytes.extend_from_slice(&source[copied..]);
        Some(view)
    }

    /// Leaves out the ends of lines, and the spaces with which the next ones begin; nothing if there is only one line.
    pub(super) fn of_joined_lines(source: &[u8]) -> Option<Self> {
        let first = memchr2(b'\n', b'\r', source)?;
        let mut view = Self { bytes: Vec::with_capacity(source.len()), runs: Vec::new() };
        let (mut copied, mut end) = (0, first);
        loop {
            view.bytes.extend_from_slice(&source[copied..end]);
            let blank = source[end..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            copied = end + blank;
            view.runs.push((view.bytes.len(), copied));
            let Some(offset) = memchr2(b'\n', b'\r', &source[copied..]) else { break };
            end = copied + offset;
        }
        view.bytes.extend_from_slice(&source[copied..]);
        Some(view)
    }

    /// Where a part of a view stands whose bytes are all bytes of what it was made from; what was left out behind it is
    /// not part of it.
    pub(super) fn origin_of_bytes(&self, part: &Range<usize>) -> Range<usize> {
        let end = part.end.checked_sub(1).map_or(0, |last| self.position(last) + 1);
        self.position(part.start)..end
    }

    /// Where a part of the view stands in what it was made from.
    pub(super) fn origin(&self, part: &Range<usize>) -> Range<usize> {
        self.position(part.start)..self.position(part.end)
    }

    fn position(&self, offset: usize) -> usize {
        let run = self.runs.partition_point(|(start, _)| *start <= offset);
        let (start, origin) = run.checked_sub(1).map_or((0, 0), |run| self.runs[run]);
        origin + (offset - start)
    }
}

/// The text without an escape at its end that was cut off.
pub(super) fn without_open_escape(bytes: &[u8]) -> &[u8] {
    let tail = bytes.len().saturating_sub(LONGEST);
    let open = bytes[tail..].iter().position(|byte| matches!(byte, b'\\' | b'&' | b'%'));
    &bytes[..open.map_or(bytes.len(), |open| tail + open)]
}

enum Escaped {
    Character(char),
    Byte(u8),
}

/// The escape at the beginning of `text`: its length and what it stands for.
fn escape_at(text: &[u8]) -> Option<(usize, Escaped)> {
    match text.first()? {
        b'%' => Some((3, Escaped::Byte(u8::try_from(hex(text.get(1..3)?)?).ok()?))),
        b'&' => entity(text),
        _ => backslash(text),
    }
}

fn backslash(text: &[u8]) -> Option<(usize, Escaped)> {
    let character = match text.get(1)? {
        b'u' => return unicode(text),
        b'x' => return Some((4, Escaped::Character(char::from_u32(hex(text.get(2..4)?)?)?))),
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        mark @ (b'"' | b'\'' | b'\\' | b'/') => char::from(*mark),
        _ => return None,
    };
    Some((2, Escaped::Character(character)))
}

fn unicode(text: &[u8]) -> Option<(usize, Escaped)> {
    let first = hex(text.get(2..6)?)?;
    if let Some(character) = char::from_u32(first) {
        return Some((6, Escaped::Character(character)));
    }
    let second = text.get(6..12).filter(|next| next.starts_with(b"\\u")).and_then(|next| hex(&next[2..]))?;
    let pair = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
    let character = char::decode_utf16(pair).next()?.ok()?;
    Some((12, Escaped::Character(character)))
}

fn entity(text: &[u8]) -> Option<(usize, Escaped)> {
    let end = text.iter().take(LONGEST).position(|byte| *byte == b';')?;
    let character = match &text[1..end] {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hex(digits)?)?,
        [b'#', digits @ ..] => char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?,
        _ => return None,
    };
    Some((end + 1, Escaped::Character(character)))
}

fn hex(digits: &[u8]) -> Option<u32> {
    let sound = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| sound)?;
    u32::from_str_radix(text, 16).ok()
}
