//! JSON that is known to be valid but that nobody needs to look into: it travels as the bytes it came in.

mod outline;
mod quick;
mod repeated;

use bytes::Bytes;
use serde_json::value::RawValue;

pub use outline::{Outline, Part, Sort, TooManyValues};
pub use quick::write_json_string;
pub use repeated::repeated_key;

/// Below this, checking and quoting in one pass gains nothing.
const QUOTED_FROM: usize = 32;

/// Valid JSON text, with what stands at its root.
#[derive(Clone, Debug)]
pub struct Json {
    text: Bytes,
    root: Root,
    quoted: Option<Bytes>,
}

/// What stands at the root of a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// A string, number, boolean or null.
    Scalar,
}

/// How deep JSON may be nested. Many parsers stop at 128 levels, and what we write puts some of its own around.
const DEEPEST: usize = 120;

/// The bytes are not JSON, or not such as everybody can read.
#[derive(Debug, thiserror::Error)]
pub enum NotJson {
    /// There is a fault in them.
    #[error("not valid JSON: {0}")]
    Invalid(#[from] serde_json::Error),
    /// Brackets are nested too deep.
    #[error("nested deeper than {DEEPEST} levels")]
    TooDeep,
}

impl Json {
    /// Checks that `bytes` are one JSON text and keeps them, without the white space around it.
    pub fn parse(bytes: Bytes) -> Result<Self, NotJson> {
        if let Some(json) = Self::parse_and_quote(&bytes) {
            return Ok(json);
        }
        let raw: &RawValue = serde_json::from_slice(&bytes)?;
        let text = bytes.slice_ref(raw.get().as_bytes());
        if is_too_deep(&text) {
            return Err(NotJson::TooDeep);
        }
        let root = root_of(&text);
        Ok(Self { text, root, quoted: None })
    }

    /// The quick way; what it refuses may still be JSON.
    fn parse_and_quote(bytes: &Bytes) -> Option<Self> {
        if bytes.len() < QUOTED_FROM {
            return None;
        }
        let trimmed = simdutf8::basic::from_utf8(bytes).ok()?.trim_matches([' ', '\t', '\n', '\r']);
        let quoted = quick::check_and_quote(trimmed)?;
        let text = bytes.slice_ref(trimmed.as_bytes());
        let root = root_of(&text);
        Some(Self { text, root, quoted: Some(Bytes::from(quoted)) })
    }

    /// Writes a value out; infallible because every `Value` is valid JSON.
    pub fn from_value(value: &serde_json::Value) -> Self {
        let text = Bytes::from(value.to_string());
        let root = root_of(&text);
        Self { text, root, quoted: None }
    }

    /// The JSON text.
    pub fn text(&self) -> &str {
        // Checked as UTF-8 when it was parsed; the empty string cannot be reached.
        simdutf8::basic::from_utf8(&self.text).unwrap_or_default()
    }

    /// The bytes of the JSON text.
    pub fn bytes(&self) -> &Bytes {
        &self.text
    }

    /// The text as a JSON string, if checking it has yielded that as well.
    pub fn quoted(&self) -> Option<&Bytes> {
        self.quoted.as_ref()
    }

    /// What stands at the root.
    pub fn root(&self) -> Root {
        self.root
    }

    /// About how much memory the same takes as a tree, which can be a hundred times the text.
    pub fn tree_size(&self) -> usize {
        tree_size(&self.text)
    }

    /// The same as a tree.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_slice(&self.text).unwrap_or_default()
    }
}

/// About how much memory JSON takes as a tree.
pub fn tree_size(text: &[u8]) -> usize {
    /// A value in its list or object, with what that keeps in reserve.
    const VALUE: usize = 48;
    /// A key with its place in the table of its object.
    const MEMBER: usize = 96;
    let (mut values, mut members) = (1_usize, 0_usize);
    for byte in text {
        values += usize::from(matches!(byte, b',' | b'[' | b'{'));
        members += usize::from(*byte == b':');
    }
    text.len() + values * VALUE + members * MEMBER
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Json {}

fn is_too_deep(text: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    text.iter().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEPEST
    })
}

fn root_of(text: &[u8]) -> Root {
    match text.first() {
        Some(b'{') => Root::Object,
        Some(b'[') => Root::Array,
        _ => Root::Scalar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_json_keeps_its_bytes_and_key_order() {
        let json = Json::parse(Bytes::from_static(b" {\"b\":1.50,\"a\":[]} \n")).unwrap();
        assert_eq!(json.text(), "{\"b\":1.50,\"a\":[]}");
        assert_eq!(json.root(), Root::Object);
    }

    #[test]
    fn the_text_of_a_longer_document_comes_as_a_json_string_too() {
        let text = format!("{{\"b\": [1.50, \"{}\\n你\"],\n\t\"a\": null}}", "x".repeat(QUOTED_FROM));
        let json = Json::parse(Bytes::from(format!("\r\n {text}\t\n"))).unwrap();
        assert_eq!(json.text(), text);
        assert_eq!(json.root(), Root::Object);
        let quoted = serde_json::to_string(&text).unwrap();
        assert!(json.quoted().is_none_or(|found| *found == quoted), "{json:?}");
        assert_eq!(json, Json { quoted: None, ..json.clone() });
    }

    #[test]
    fn what_is_not_json_is_refused_however_deep_the_fault_lies() {
        for bad in [
            &b"{"[..],
            b"",
            b"{} {}",
            b"{}\0",
            b"nul",
            b"[1,]",
            b"\"\xff\"",
            b"{\"a\":[{\"b\":01}]}",
            b"{\"a\":[1,2,}",
            b"{\"a\":{\"b\":\"\x01\"}}",
            b"{\"a\":[\"\\u12g4\"]}",
            b"{\"a\":[\"\\x\"]}",
            b"{\"a\":[\"\xed\xa0\x80\"]}",
            b"{\"a\":[1.]}",
            b"{\"a\":[NaN]}",
            b"{\"a\":[1 /* c */]}",
            b"\xef\xbb\xbf{}",
        ] {
            assert!(Json::parse(Bytes::from_static(bad)).is_err(), "{bad:?}");
            let long = [&[b' '; QUOTED_FROM], bad].concat();
            assert!(Json::parse(Bytes::from(long)).is_err(), "{bad:?} behind spaces");
        }
    }

    #[test]
    fn json_nested_deeper_than_others_can_read_is_refused() {
        for (levels, padding) in [(120, 0), (120, 1000), (121, 0), (121, 1000), (400_000, 0)] {
            let deep = "[".repeat(levels) + &" ".repeat(padding) + "\"]\\\"[\"" + &"]".repeat(levels);
            let parsed = Json::parse(Bytes::from(deep));
            match parsed {
                Ok(json) => assert_eq!((levels, json.root()), (120, Root::Array)),
                Err(fault) => {
                    assert!(levels > 120);
                    assert_eq!(fault.to_string(), "nested deeper than 120 levels");
                }
            }
        }
    }

    #[test]
    fn a_tree_is_known_to_be_larger_than_its_text() {
        let size = |text: String| Json::parse(Bytes::from(text)).unwrap().tree_size();
        assert!(size(format!("[{}0]", "0,".repeat(1_000))) > 48_000);
        assert!(size(format!("{{{}\"z\":0}}", "\"a\":{},".repeat(1_000))) > 190_000);
        assert!(size(format!("\"{}\"", "x".repeat(1_000))) < 1_100);
    }

    #[test]
    fn text_is_escaped_into_a_json_string() {
        let mut out = Vec::new();
        write_json_string(&mut out, "a\"\\\n\u{1}你");
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\\\"\\\\\\n\\u0001你\"");
    }
}
