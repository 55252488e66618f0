//! How a fault of the configuration is told: its place, plain words, and no more of a value than helps to find it.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;
use toolrail_core::did_you_mean;

use crate::print;

/// The most characters of a value, or of one step of a place, that are repeated.
const LONGEST_VALUE: usize = 100;
/// The most characters of one fault.
const LONGEST_FAULT: usize = 600;

/// A fault as one line.
pub(super) fn fault(place: &str, words: &str) -> String {
    let line = format!("{place}: {}", with_short_values(words)).replace(['\n', '\t'], " ");
    print::visible(&cut(&line, LONGEST_FAULT)).into_owned()
}

/// A key as a step of a JSON pointer.
pub(super) fn step(key: &str) -> String {
    cut_step(&key.replace('~', "~0").replace('/', "~1"))
}

/// A step of a JSON pointer as far as it is worth repeating.
pub(super) fn cut_step(step: &str) -> String {
    cut(step, LONGEST_VALUE)
}

/// What the parser says, in words that are not its own.
pub(super) fn in_plain_words(error: &str) -> String {
    let variant = error.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "));
    if let Some((word, known)) = variant {
        return format!("{word:?} is not known; known are {}", names_in(known).join(", "));
    }
    let field = error.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, expected "));
    if let Some((key, known)) = field {
        return unknown_key(key, &names_in(known));
    }
    let rest = error.strip_prefix("invalid type: ").or_else(|| error.strip_prefix("invalid value: "));
    // A text may hold any words, so it is the last ones that count.
    match rest.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, expected)) => format!("must be {}, not {}", wanted(expected), given(found)),
        None => error.to_owned(),
    }
}

/// Reads what stands at a place; what is wrong with it is told with the place within.
pub(super) fn read_at<T: DeserializeOwned>(place: &str, value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let within = error.path().iter().map_while(|segment| match segment {
            Segment::Seq { index } => Some(format!("/{index}")),
            Segment::Map { key } => Some(format!("/{}", step(key))),
            Segment::Enum { .. } | Segment::Unknown => None,
        });
        let place = format!("{place}{}", within.collect::<String>());
        fault(&place, &in_plain_words(&error.inner().to_string()))
    })
}

/// A key that nothing reads, and which ones are read.
pub(super) fn unknown_key(key: &str, known: &[&str]) -> String {
    let hint = did_you_mean(key, known.iter().copied());
    let hint = hint.map(|question| format!("; {question}")).unwrap_or_default();
    format!("unknown key{hint}; known are {}", known.join(", "))
}

/// The names that the parser lists in backticks.
fn names_in(listed: &str) -> Vec<&str> {
    listed.split('`').skip(1).step_by(2).collect()
}

fn wanted(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list",
        "a string" | "path string" | "string or map" => "a text",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 at least",
        "a map" => "a mapping",
        other if other.starts_with("struct ") => "a mapping",
        other => other,
    }
}

fn given(found: &str) -> String {
    match found.split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some((_, value)) => value.trim_start_matches("point ").replace('`', ""),
        None if found == "sequence" => "a list".to_owned(),
        None if found == "map" => "a mapping".to_owned(),
        None => found.to_owned(),
    }
}

/// The words with what stands in quotes cut short.
fn with_short_values(words: &str) -> String {
    let mut short = String::with_capacity(words.len().min(LONGEST_FAULT));
    let (mut inside, mut length, mut escaped) = (false, 0, false);
    for character in words.chars() {
        let is_quote = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        if is_quote {
            inside = !inside;
            length = 0;
        }
        length += usize::from(inside && !is_quote);
        if length <= LONGEST_VALUE {
            short.push(character);
        } else if length == LONGEST_VALUE + 1 {
            short.push('…');
        }
    }
    short
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_and_steer_no_terminal() {
        let long = "x".repeat(5_000);
        let told = fault("/a", &format!("{long:?} is not b; write {:?}", "\\\" c"));
        assert_eq!(told, format!("/a: \"{}…\" is not b; write \"\\\\\\\" c\"", "x".repeat(100)));
        assert!(fault("/a", &long).chars().count() <= LONGEST_FAULT + 1);
        assert_eq!(fault(&format!("/{}", step("\u{1b}[2J\nb/c")), "d"), "/\\u{1b}[2J b~1c: d");
        assert_eq!(step(&long).chars().count(), 101);
    }

    #[test]
    fn the_parser_is_not_quoted() {
        for (error, words) in [
            ("invalid type: integer `3`, expected struct AuthDocument", "must be a mapping, not 3"),
            (
                "invalid type: string \"a, expected b\", expected u64",
                "must be a whole number, 0 at least, not the text \"a, expected b\"",
            ),
            (
                "unknown field `tokn`, expected one of `type`, `token`",
                "unknown key; did you mean \"token\"?; known are type, token",
            ),
            ("unknown variant `fr`, expected `en` or `zh`", "\"fr\" is not known; known are en, zh"),
            ("invalid type: null, expected a map", "must be a mapping, not null"),
            ("words of our own", "words of our own"),
        ] {
            assert_eq!(in_plain_words(error), words);
        }
    }
}
