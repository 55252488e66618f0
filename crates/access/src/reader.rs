//! Reads objects field by field and notes everything that is wrong, each with its place.

use serde_json::{Map, Value};
use toolrail_core::{Problems, did_you_mean, shortened};

use crate::limits::{LONGEST_ENTRY, MOST_ENTRIES};

/// An object of the document and where it stands.
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    pointer: String,
}

impl<'a> Fields<'a> {
    /// Nothing, and a problem noted, if it is no object; fields that are none of the known are noted too.
    pub(crate) fn open(
        value: &'a Value,
        pointer: &str,
        known: &[&str],
        problems: &mut Problems,
    ) -> Option<Self> {
        let Some(object) = value.as_object() else {
            problems.error(pointer, format!("this has to be an object with the fields {}", known.join(", ")));
            return None;
        };
        for field in object.keys().filter(|field| !known.contains(&field.as_str())) {
            let instead = did_you_mean(field, known.iter().copied())
                .unwrap_or_else(|| format!("there are {}", known.join(", ")));
            let told = format!("unknown field {:?}; {instead}", shortened(field));
            problems.error(join(pointer, field), told);
        }
        Some(Self { object, pointer: pointer.to_owned() })
    }

    /// Where a field stands.
    pub(crate) fn place(&self, field: &str) -> String {
        join(&self.pointer, field)
    }

    /// Whether nothing is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.object.is_empty()
    }

    /// A field. One that is there without a value is a slip of indentation in YAML: what it was to limit would be limited no more.
    pub(crate) fn get(&self, field: &str, problems: &mut Problems) -> Option<&'a Value> {
        let value = self.object.get(field)?;
        if value.is_null() {
            problems
                .error(self.place(field), format!("{field:?} has no value; give it one, or leave it out"));
            return None;
        }
        Some(value)
    }

    /// A field that has to be there.
    pub(crate) fn required(&self, field: &str, problems: &mut Problems) -> Option<&'a Value> {
        if !self.object.contains_key(field) {
            problems.error(self.pointer.clone(), format!("{field:?} is missing; add it"));
        }
        self.get(field, problems)
    }

    /// A text of up to that many characters.
    pub(crate) fn text(&self, field: &str, longest: usize, problems: &mut Problems) -> Option<&'a str> {
        let value = self.get(field, problems)?;
        text_at(value, &self.place(field), longest, problems)
    }

    pub(crate) fn flag(&self, field: &str, problems: &mut Problems) -> Option<bool> {
        let value = self.get(field, problems)?;
        if !value.is_boolean() {
            problems.error(self.place(field), format!("{field:?} is true or false"));
        }
        value.as_bool()
    }

    /// A list of texts. An empty one is refused: nothing is in it, so its rule could never match.
    pub(crate) fn texts(&self, field: &str, problems: &mut Problems) -> Option<Vec<&'a str>> {
        let value = self.get(field, problems)?;
        let place = self.place(field);
        let Some(list) = value.as_array() else {
            problems.error(place, format!("{field:?} is a list; write [{}]", shortened(&value.to_string())));
            return None;
        };
        if list.is_empty() {
            problems.error(
                place.as_str(),
                format!("{field:?} is empty, so nothing ever matches; fill it, or leave it out"),
            );
        }
        if list.len() > MOST_ENTRIES {
            let told = format!(
                "{field:?} has more than {MOST_ENTRIES} entries; use patterns with *, or several rules"
            );
            problems.error(place.as_str(), told);
            return None;
        }
        let entries = list.iter().enumerate();
        Some(
            entries
                .filter_map(|(at, entry)| text_at(entry, &format!("{place}/{at}"), LONGEST_ENTRY, problems))
                .collect(),
        )
    }
}

/// A text that says something.
fn text_at<'a>(value: &'a Value, place: &str, longest: usize, problems: &mut Problems) -> Option<&'a str> {
    let told = match value.as_str() {
        None => "this has to be a text; put it in quotes".to_owned(),
        Some(text) if text.trim().is_empty() => "this is empty; fill it, or leave it out".to_owned(),
        Some(text) if text.chars().nth(longest).is_some() => {
            format!("this has more than {longest} characters; shorten it")
        }
        Some(text) => return Some(text),
    };
    problems.error(place, told);
    None
}

/// One of a few words, if it is one.
pub(crate) fn choice<T>(value: &Value, place: &str, words: &[(&str, T)], problems: &mut Problems) -> Option<T>
where
    T: Copy,
{
    let word = value.as_str().unwrap_or_default();
    let found = words.iter().find(|(known, _)| *known == word).map(|(_, meant)| *meant);
    if found.is_none() {
        let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        let asked =
            did_you_mean(word, known.iter().copied()).map_or(String::new(), |asked| format!("; {asked}"));
        problems.error(place, format!("this is one of {}{asked}", known.join(", ")));
    }
    found
}

/// A JSON pointer one further.
fn join(pointer: &str, field: &str) -> String {
    format!("{pointer}/{}", field.replace('~', "~0").replace('/', "~1"))
}
