//! A JSON body that was written as text, as in `"{\"q\":\"{{args.city}}\",\"n\":{{args.n}}}"`. It is parsed at
//! registration and then templated leaf by leaf like any other, so that values are escaped.

use serde_json::Value;

use crate::template::{Braces, Piece, scan};

/// The JSON value that `text` writes; nothing if it is not meant as JSON but as a plain text.
pub(super) fn parse(text: &str) -> Result<Option<Value>, String> {
    let trimmed = text.trim();
    let pieces = scan(trimmed, Braces::Double)?;
    let looks_like_json =
        matches!(pieces.first(), Some(Piece::Literal(first)) if first.starts_with(['{', '[']));
    if !looks_like_json {
        return Ok(None);
    }
    match serde_json::from_str(&quoted(&pieces)) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(format!(
            "looks like JSON but is not ({error}); write the body as JSON instead of as a text, or set bodyType to text"
        )),
    }
}

/// The JSON text with every expression inside a string: those that stand alone get quotes of their own, and so keep
/// their JSON type.
fn quoted(pieces: &[Piece<'_>]) -> String {
    let mut json = String::new();
    let mut in_string = false;
    for piece in pieces {
        match piece {
            Piece::Literal(text) => {
                in_string = string_state(text, in_string);
                json.push_str(text);
            }
            Piece::Expression(source) | Piece::Argument(source) => {
                let escaped = Value::from(format!("{{{{{source}}}}}")).to_string();
                json.push_str(if in_string { escaped.trim_matches('"') } else { &escaped });
            }
        }
    }
    json
}

fn string_state(text: &str, mut in_string: bool) -> bool {
    let mut escaped = false;
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ => {}
        }
    }
    in_string
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_written_as_text_becomes_json() {
        let cases = [
            (r#"{"q":"{{args.city}}","n":{{args.n}}}"#, json!({"q": "{{args.city}}", "n": "{{args.n}}"})),
            (r#" [ {{ args.a|default("x") }}, 1 ] "#, json!(["{{args.a|default(\"x\")}}", 1])),
            (
                r#"{"a":"x {{args.b|default("y")}} \" {{args.c}}"}"#,
                json!({"a": "x {{args.b|default(\"y\")}} \" {{args.c}}"}),
            ),
            (r#"{"t":"${secrets.T}"}"#, json!({"t": "{{secrets.T}}"})),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).unwrap(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_text_stays_text() {
        for text in ["hello", "{{args.body}}", "", "{{args.a}} and {b}"] {
            assert_eq!(parse(text).unwrap(), None, "{text}");
        }
    }

    #[test]
    fn broken_json_is_a_fault() {
        assert!(parse("{\"a\":}").unwrap_err().contains("bodyType"));
        assert!(parse("{\"a\":{{args.x}").unwrap_err().contains("never closed"));
    }
}
