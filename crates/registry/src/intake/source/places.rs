//! Where everything in a file of definitions stands: from a JSON pointer to a line and a column. Made only for files that
//! have problems, and kept small, since such a file may hold thousands of definitions: a hash of each pointer and its
//! place, 16 bytes.

use std::path::Path;

use serde_saphyr::granit_parser::{Event, Parser};

use super::documents::is_json;

/// Where everything in one file stands.
#[derive(Debug, Default)]
pub struct Places {
    /// Hash of the pointer, line, column; in the order of the hashes.
    known: Vec<(u64, u32, u32)>,
}

impl Places {
    /// The places in a text that was read before; as far as it can be followed, if it cannot be to its end.
    pub fn of(path: &Path, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut walk = NodeWalk::default();
        if is_json(path) {
            walk.begin(root());
            walk_json(&mut walk, text);
        } else {
            walk_yaml(&mut walk, text);
        }
        walk.known.sort_unstable();
        Self { known: walk.known }
    }

    /// The line and column of what the pointer names: of its value, or of its key where the value begins on another line.
    /// What is not there is looked for in what would hold it.
    pub fn find(&self, pointer: &str) -> (u32, u32) {
        let mut rest = pointer;
        loop {
            if let Some(place) = self.exactly(rest) {
                return place;
            }
            match rest.rfind('/') {
                Some(end) => rest = &rest[..end],
                None => return (1, 1),
            }
        }
    }

    /// The same, only if it is there.
    pub fn exactly(&self, pointer: &str) -> Option<(u32, u32)> {
        let wanted = hash(root(), pointer);
        let first = self.known.partition_point(|(hash, ..)| *hash < wanted);
        self.known.get(first).filter(|(hash, ..)| *hash == wanted).map(|(_, line, column)| (*line, *column))
    }
}

/// One step down from a pointer, by its hash.
fn step(base: u64, key: &str) -> u64 {
    let base = hash(base, "/");
    if key.contains(['~', '/']) {
        hash(base, &key.replace('~', "~0").replace('/', "~1"))
    } else {
        hash(base, key)
    }
}

/// FNV-1a, which can be continued where it ended.
fn hash(base: u64, text: &str) -> u64 {
    text.bytes().fold(base, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

const fn root() -> u64 {
    0xcbf2_9ce4_8422_2325
}

/// A line and a column.
type LineColumn = (u32, u32);

/// Follows a document node by node.
#[derive(Default)]
struct NodeWalk {
    known: Vec<(u64, u32, u32)>,
    /// The pointer of the next document.
    base: u64,
    open: Vec<Open>,
}

/// An object or a list whose end has not come yet.
enum Open {
    Object { pointer: u64, key: Option<(u64, LineColumn)> },
    List { pointer: u64, next: usize },
}

/// What kind of node comes.
enum Node<'t> {
    Scalar(&'t str),
    Object,
    List,
}

impl NodeWalk {
    fn begin(&mut self, base: u64) {
        self.open.clear();
        self.base = base;
    }

    fn node(&mut self, node: Node<'_>, place: LineColumn) {
        let pointer = match self.open.last_mut() {
            None => self.note(self.base, place),
            Some(Open::List { pointer, next }) => {
                let pointer = step(*pointer, &next.to_string());
                *next += 1;
                self.note(pointer, place)
            }
            Some(Open::Object { pointer, key }) => match (key.take(), &node) {
                (Some((pointer, at)), _) => self.note(pointer, if at.0 == place.0 { place } else { at }),
                (None, Node::Scalar(text)) => {
                    *key = Some((step(*pointer, text), place));
                    return;
                }
                // Keys that are no text are not JSON, so no pointer leads there.
                (None, Node::Object | Node::List) => {
                    *key = Some((0, place));
                    0
                }
            },
        };
        match node {
            Node::Scalar(_) => {}
            Node::Object => self.open.push(Open::Object { pointer, key: None }),
            Node::List => self.open.push(Open::List { pointer, next: 0 }),
        }
    }

    fn end(&mut self) {
        self.open.pop();
    }

    fn note(&mut self, pointer: u64, (line, column): LineColumn) -> u64 {
        self.known.push((pointer, line, column));
        pointer
    }
}

fn walk_yaml(walk: &mut NodeWalk, text: &str) {
    // Of several documents, each has a step of its own.
    let events = || Parser::new_from_str(text).map_while(Result::ok);
    let documents = events().filter(|(event, _)| matches!(event, Event::DocumentStart(..))).take(2).count();
    let mut document = 0_usize;
    for (event, span) in events() {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let place = (number(span.start.line()), number(span.start.col()).saturating_add(1));
        match event {
            Event::DocumentStart(..) => {
                walk.begin(if documents > 1 { step(root(), &document.to_string()) } else { root() });
                document += 1;
            }
            Event::Scalar(text, ..) => walk.node(Node::Scalar(&text), place),
            Event::Alias(_) => walk.node(Node::Scalar(""), place),
            Event::MappingStart(..) => walk.node(Node::Object, place),
            Event::SequenceStart(..) => walk.node(Node::List, place),
            Event::MappingEnd | Event::SequenceEnd => walk.end(),
            _ => {}
        }
    }
}

/// The text is valid JSON: whoever could not read it never asks where something stands.
fn walk_json(walk: &mut NodeWalk, text: &str) {
    let bytes = text.as_bytes();
    let mut cursor = Cursor { text, line: 1, column: 1, counted: 0 };
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'\n' => cursor.next_line(at),
            b' ' | b'\t' | b'\r' | b',' | b':' => {}
            b'{' => walk.node(Node::Object, cursor.place(start)),
            b'[' => walk.node(Node::List, cursor.place(start)),
            b'}' | b']' => walk.end(),
            b'"' => {
                at = end_of_text(bytes, at);
                let quoted = text.get(start..at).unwrap_or_default();
                let said = serde_json::from_str::<String>(quoted).unwrap_or_default();
                walk.node(Node::Scalar(&said), cursor.place(start));
            }
            _ => {
                let ends = |byte: &u8| b",]}: \t\r\n".contains(byte);
                at += bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
                walk.node(Node::Scalar(""), cursor.place(start));
            }
        }
    }
}

/// Counts characters as it goes on, each once: a file may be one long line.
struct Cursor<'t> {
    text: &'t str,
    line: u32,
    column: u32,
    /// Up to which byte the column counts.
    counted: usize,
}

impl Cursor<'_> {
    fn next_line(&mut self, start: usize) {
        (self.line, self.column, self.counted) = (self.line.saturating_add(1), 1, start);
    }

    fn place(&mut self, at: usize) -> LineColumn {
        let passed = self.text.get(self.counted..at).map_or(0, |passed| passed.chars().count());
        self.column = self.column.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
        self.counted = at;
        (self.line, self.column)
    }
}

/// The end of a quoted text that began before `from`.
fn end_of_text(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, text: &str, expected: &[(&str, LineColumn)]) {
        let places = Places::of(Path::new(file), text);
        for (pointer, place) in expected {
            assert_eq!(places.find(pointer), *place, "{file} {pointer}");
        }
    }

    #[test]
    fn every_value_of_a_yaml_file_has_its_line_and_column() {
        let text = "# a tool\nname: 天气\nhttp:\n  url: \"x\"\n  headers: {a: 1, \"b/c\": 2}\ntags:\n- one\n-   two\n";
        check(
            "a.yaml",
            text,
            &[
                ("", (2, 1)),
                ("/name", (2, 7)),
                ("/http", (3, 1)),
                ("/http/url", (4, 8)),
                ("/http/headers", (5, 12)),
                ("/http/headers/b~1c", (5, 26)),
                ("/tags", (6, 1)),
                ("/tags/1", (8, 5)),
                // What is missing is looked for in what would hold it.
                ("/http/method", (3, 1)),
                ("/inputSchema/type", (2, 1)),
            ],
        );
    }

    #[test]
    fn several_documents_are_told_apart() {
        check("a.yaml", "---\nname: a\n", &[("", (2, 1)), ("/name", (2, 7))]);
        check("a.yaml", "name: a\n---\nname: b\nhttp: {}\n", &[("/0/name", (1, 7)), ("/1/http", (4, 7))]);
        check(
            "a.yaml",
            "tools:\n  - name: a\n  - name: b\n",
            &[("/tools/1", (3, 5)), ("/tools/1/name", (3, 11))],
        );
        check("a.yaml", "a: &x {n: 1}\nb: *x\nc:\n  <<: *x\n", &[("/b/n", (2, 4)), ("/c/n", (3, 1))]);
    }

    #[test]
    fn every_value_of_a_json_file_has_its_line_and_column() {
        let text = "{\n  \"name\": \"天\\\"气\", \"n\": 1,\n  \"tools\": [\n    {\"a/b\": true},\n    []\n  ],\n  \"x\":\n{}}";
        check(
            "a.json",
            text,
            &[
                ("", (1, 1)),
                ("/name", (2, 11)),
                ("/n", (2, 24)),
                ("/tools", (3, 12)),
                ("/tools/0/a~1b", (4, 13)),
                ("/tools/1", (5, 5)),
                ("/x", (7, 3)),
            ],
        );
    }

    #[test]
    fn no_text_is_too_odd_to_be_followed() {
        for text in [
            "",
            "{",
            "}",
            "\"",
            "\"\\",
            "[[[",
            "{\"a\"",
            "{{a}}",
            "? [a]\n: b\n",
            "- - - a",
            "\u{feff}a: b",
            "nul",
            "🦀",
        ] {
            for file in ["a.json", "a.yaml"] {
                Places::of(Path::new(file), text).find("/a/b");
            }
        }
    }
}
