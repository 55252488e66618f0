//! The HTTP headers of MCP, in lower case, and how they carry values that headers cannot.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The id of a legacy session.
pub const SESSION_ID: &str = "mcp-session-id";
/// The revision.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method of a modern request.
pub const METHOD: &str = "mcp-method";
/// The tool, prompt or resource that a modern request is about.
pub const NAME: &str = "mcp-name";
/// What the name of a header begins with that repeats an argument.
pub const PARAM: &str = "mcp-param-";

const BEGIN: &str = "=?base64?";
const END: &str = "?=";

/// A header value as it was meant: values that headers cannot carry come as `=?base64?…?=`. Nothing if that is broken.
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    let Some(encoded) = value.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END)) else {
        return Some(Cow::Borrowed(value));
    };
    let bytes = STANDARD.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// A value as a header can carry it: as it is, or as `=?base64?…?=`.
pub fn encode(value: &str) -> Cow<'_, str> {
    let plain = value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && value.trim() == value
        && !(value.starts_with(BEGIN) && value.ends_with(END));
    if plain { Cow::Borrowed(value) } else { Cow::Owned(format!("{BEGIN}{}{END}", STANDARD.encode(value))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_header_values_are_decoded() {
        assert_eq!(decode("plain").as_deref(), Some("plain"));
        assert_eq!(decode("=?base64?5LiK5rW3?=").as_deref(), Some("上海"));
        assert_eq!(decode("=?base64?%%?="), None);
    }

    #[test]
    fn what_a_header_cannot_carry_survives_the_way_there_and_back() {
        for value in ["plain", "上海", " edge ", "a\nb", "=?base64?x?="] {
            assert_eq!(decode(&encode(value)).as_deref(), Some(value));
        }
    }

    #[test]
    fn values_are_encoded_as_the_revision_shows_it() {
        let shown = [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ];
        for (value, encoded) in shown {
            assert_eq!(encode(value), encoded);
        }
    }
}
