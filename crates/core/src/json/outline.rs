//! Where every value of a JSON text stands: sixteen bytes a value beside the text itself, in place of a tree that takes
//! many times as much. Parts are read from the text when somebody asks for them, and can be passed on as they were written.

use std::borrow::Cow;

use super::Json;

/// The values of a JSON text in the order of the text, each with where the next one beside it is.
#[derive(Debug)]
pub struct Outline<'t> {
    text: &'t str,
    places: Vec<OutlineEntry>,
}

#[derive(Clone, Copy, Debug)]
struct OutlineEntry {
    start: u32,
    end: u32,
    /// The first place that is not inside this one.
    after: u32,
    /// How many values are directly inside; keys count too.
    inside: u32,
}

/// The text has more values than are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has more than {0} values")]
pub struct TooManyValues(pub usize);

/// One value of the text.
#[derive(Clone, Copy, Debug)]
pub struct Part<'t> {
    outline: &'t Outline<'t>,
    at: u32,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number.
    Number,
    /// A string.
    Text,
    /// `[…]`
    List,
    /// `{…}`
    Object,
}

impl<'t> Outline<'t> {
    /// Goes through the text once.
    pub fn of(json: &'t Json, most_values: usize) -> Result<Self, TooManyValues> {
        let text = json.text();
        if u32::try_from(text.len()).is_err() {
            return Err(TooManyValues(most_values));
        }
        let mut outline = Self { text, places: Vec::new() };
        let bytes = text.as_bytes();
        let mut open: Vec<usize> = Vec::new();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let end = match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' => {
                    at += 1;
                    continue;
                }
                b']' | b'}' => {
                    at += 1;
                    if let Some(closed) = open.pop() {
                        outline.close(closed, at);
                    }
                    continue;
                }
                b'[' | b'{' => at + 1,
                b'"' => at + string_length(&bytes[at..]),
                _ => at + primitive_length(&bytes[at..]),
            };
            if outline.places.len() >= most_values {
                return Err(TooManyValues(most_values));
            }
            outline.open(at..end, open.last().copied());
            if matches!(byte, b'[' | b'{') {
                open.push(outline.places.len() - 1);
            }
            at = end;
        }
        Ok(outline)
    }

    /// The value that holds all others.
    pub fn root(&'t self) -> Part<'t> {
        Part { outline: self, at: 0 }
    }

    /// How many values there are, keys included.
    pub fn size(&self) -> usize {
        self.places.len()
    }

    fn open(&mut self, range: std::ops::Range<usize>, parent: Option<usize>) {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        if let Some(parent) = parent {
            self.places[parent].inside += 1;
        }
        let after = number(self.places.len() + 1);
        self.places.push(OutlineEntry {
            start: number(range.start),
            end: number(range.end),
            after,
            inside: 0,
        });
    }

    fn close(&mut self, place: usize, end: usize) {
        let after = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let place = &mut self.places[place];
        place.end = u32::try_from(end).unwrap_or(u32::MAX);
        place.after = after;
    }
}

impl<'t> Part<'t> {
    /// What it is.
    pub fn sort(self) -> Sort {
        match self.raw().as_bytes().first() {
            Some(b'{') => Sort::Object,
            Some(b'[') => Sort::List,
            Some(b'"') => Sort::Text,
            Some(b't') => Sort::True,
            Some(b'f') => Sort::False,
            Some(b'n') | None => Sort::Null,
            Some(_) => Sort::Number,
        }
    }

    /// The JSON text of it.
    pub fn raw(self) -> &'t str {
        let place = self.place();
        self.outline.text.get(place.start as usize..place.end as usize).unwrap_or_default()
    }

    /// The text that it is, if it is one.
    pub fn text(self) -> Option<Cow<'t, str>> {
        let inner = self.raw().strip_prefix('"')?.strip_suffix('"')?;
        if !inner.contains('\\') {
            return Some(Cow::Borrowed(inner));
        }
        // Half a surrogate pair is let through by JSON and cannot be a text; it stays as it is written.
        Some(serde_json::from_str(self.raw()).map_or(Cow::Borrowed(inner), Cow::Owned))
    }

    /// How many items or members it has.
    pub fn count(self) -> usize {
        let inside = self.place().inside as usize;
        if self.sort() == Sort::Object { inside / 2 } else { inside }
    }

    /// How many values it has inside, however deep.
    pub fn size(self) -> usize {
        (self.place().after - self.at) as usize
    }

    /// Its items, if it is a list.
    pub fn items(self) -> impl Iterator<Item = Self> {
        self.children(Sort::List)
    }

    /// Its members, if it is an object: key and value.
    pub fn members(self) -> impl Iterator<Item = (Self, Self)> {
        let mut children = self.children(Sort::Object);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// The value of a member; of the last one where several have that key.
    pub fn member(self, key: &str) -> Option<Self> {
        self.members().filter(|(name, _)| name.is_text(key)).last().map(|(_, value)| value)
    }

    /// Whether it is that text; a much longer one is not even looked at.
    fn is_text(self, text: &str) -> bool {
        /// `\u0041` for one character.
        const LONGEST_ESCAPE: usize = 6;
        let written = self.raw().len().saturating_sub(2);
        written <= LONGEST_ESCAPE * text.len() && self.text().is_some_and(|own| own == text)
    }

    fn children(self, sort: Sort) -> impl Iterator<Item = Self> {
        let end = if self.sort() == sort { self.place().after } else { self.at };
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            let part = Self { at, ..self };
            (at < end).then(|| {
                at = part.place().after;
                part
            })
        })
    }

    fn place(self) -> OutlineEntry {
        let nothing = OutlineEntry { start: 0, end: 0, after: self.at + 1, inside: 0 };
        self.outline.places.get(self.at as usize).copied().unwrap_or(nothing)
    }
}

/// The length of the string at the beginning, with its quotes.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn primitive_length(bytes: &[u8]) -> usize {
    let end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
    bytes.iter().position(end).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn json(text: &'static str) -> Json {
        Json::parse(Bytes::from_static(text.as_bytes())).unwrap()
    }

    /// The same JSON, written from the parts.
    fn rewritten(part: Part<'_>) -> String {
        match part.sort() {
            Sort::List => format!("[{}]", part.items().map(rewritten).collect::<Vec<_>>().join(",")),
            Sort::Object => {
                let member =
                    |(key, value): (Part<'_>, Part<'_>)| format!("{}:{}", key.raw(), rewritten(value));
                format!("{{{}}}", part.members().map(member).collect::<Vec<_>>().join(","))
            }
            _ => part.raw().to_owned(),
        }
    }

    #[test]
    fn every_part_is_found_as_it_was_written() {
        for text in [
            "null",
            " -1.50e3 ",
            r#"{"a":[1,{"b":"x,]}\"\\","c":[]},{}],"a":2,"":[[[]]]}"#,
            r#"[ true , false,null,"\u00e9",{"k": [ 1.0 , "2" ]} ]"#,
        ] {
            let json = json(text);
            let outline = Outline::of(&json, 100).unwrap();
            let compact = rewritten(outline.root());
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::from_str::<serde_json::Value>(&compact).unwrap(), value, "{text}");
            assert_eq!(outline.root().size(), outline.size());
        }
    }

    #[test]
    fn the_last_of_equal_keys_counts_and_texts_are_unescaped() {
        let json = json(r#"{"a":1,"\u0061":"x\ny","b":[7,8]}"#);
        let outline = Outline::of(&json, 100).unwrap();
        let root = outline.root();
        assert_eq!(root.member("a").unwrap().text().unwrap(), "x\ny");
        assert_eq!(root.count(), 3);
        assert_eq!(root.member("b").unwrap().items().nth(1).unwrap().raw(), "8");
        assert!(root.member("c").is_none() && root.items().next().is_none());
    }

    #[test]
    fn more_values_than_allowed_are_refused() {
        let json = json("[1,2,3]");
        assert_eq!(Outline::of(&json, 3).unwrap_err(), TooManyValues(3));
        assert!(Outline::of(&json, 4).is_ok());
    }
}
