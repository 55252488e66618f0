//! The places a template can stand in, and how text is encoded for each. What the author wrote is kept as far as the
//! place allows; what a caller gave can never leave its place.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::percent::UNRESERVED;

/// Where a template stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Scheme, host and port of a URL, perhaps with the start of a path.
    Base,
    /// The path of a URL.
    Path,
    /// The query inside a URL that the author wrote, already in URL form.
    UrlQuery,
    /// A value in `query` or in a form: data, which arrives as written.
    Query,
    /// A header.
    Header,
    /// A cookie.
    Cookie,
    /// Text without any rules of its own: a body.
    Text,
}

/// What may not stand in a URL at all; `%` may, for it starts an escape that the author wrote.
const URL_TEXT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');
/// What would change its meaning in a query.
const QUERY_DATA: &AsciiSet =
    &URL_TEXT.add(b'%').add(b'&').add(b'+').add(b'=').add(b'#').add(b'\'').add(b';');
/// What RFC 6265 keeps out of a cookie's value, and `%`, so that it can be decoded again.
const COOKIE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b',').add(b';').add(b'\\').add(b'%');

impl Place {
    /// What the author wrote, in the form in which it is sent; or why it cannot be sent there.
    pub(super) fn literal(self, text: &str) -> Result<String, String> {
        match self {
            Self::Base | Self::Text => Ok(text.to_owned()),
            Self::Path | Self::UrlQuery => Ok(utf8_percent_encode(text, URL_TEXT).to_string()),
            Self::Query => Ok(utf8_percent_encode(text, QUERY_DATA).to_string()),
            Self::Header => match text.chars().find(|c| !is_header_character(*c)) {
                None => Ok(text.to_owned()),
                Some(bad) => Err(format!("a header cannot carry the character {bad:?}; remove it")),
            },
            Self::Cookie => match text.chars().find(|c| !is_cookie_character(*c)) {
                None => Ok(text.to_owned()),
                Some(bad) => Err(format!("a cookie cannot carry the character {bad:?}; percent-encode it")),
            },
        }
    }

    /// Appends what a caller or a secret gave; or says why it cannot stand there.
    pub(super) fn write(self, text: &str, out: &mut String) -> Result<(), String> {
        match self {
            Self::Base | Self::Text => out.push_str(text),
            Self::Path | Self::UrlQuery | Self::Query => out.extend(utf8_percent_encode(text, UNRESERVED)),
            Self::Cookie => out.extend(utf8_percent_encode(text, COOKIE)),
            Self::Header => match text.chars().find(|c| !is_header_character(*c)) {
                None => out.push_str(text),
                Some('\r' | '\n') => {
                    return Err("has a line break, which a header cannot carry; remove it".into());
                }
                Some(bad) => {
                    return Err(format!("has the character {bad:?}, which a header cannot carry; remove it"));
                }
            },
        }
        Ok(())
    }

    /// Whether null is left out here as if it were absent.
    pub(super) fn drops_null(self) -> bool {
        match self {
            Self::UrlQuery | Self::Query | Self::Header | Self::Cookie | Self::Path | Self::Base => true,
            Self::Text => false,
        }
    }
}

fn is_header_character(character: char) -> bool {
    character == '\t' || !character.is_ascii_control()
}

fn is_cookie_character(character: char) -> bool {
    character.is_ascii_graphic() && !matches!(character, '"' | ',' | ';' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_caller_gave_cannot_leave_its_place() {
        let cases = [
            (Place::Path, "a/b?c#d%2F..\\", "a%2Fb%3Fc%23d%252F..%5C"),
            (Place::Query, "a&b=c+d é", "a%26b%3Dc%2Bd%20%C3%A9"),
            (Place::UrlQuery, "x&y", "x%26y"),
            (Place::Cookie, "a; b=c,\"%", "a%3B%20b=c%2C%22%25"),
            (Place::Header, "text/plain; q=1 你", "text/plain; q=1 你"),
            (Place::Text, "any\n\"thing\"", "any\n\"thing\""),
        ];
        for (place, text, expected) in cases {
            let mut out = String::new();
            place.write(text, &mut out).unwrap();
            assert_eq!(out, expected, "{place:?}");
        }
        for bad in ["a\r\nX-Evil: 1", "a\nb", "a\0b", "a\u{7f}"] {
            assert!(Place::Header.write(bad, &mut String::new()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_the_author_wrote_is_kept_as_far_as_the_place_allows() {
        let cases = [
            (Place::Path, "/a/b%20c/;v=1/你 好", "/a/b%20c/;v=1/%E4%BD%A0%20%E5%A5%BD"),
            (Place::UrlQuery, "a=1&b=x+y", "a=1&b=x+y"),
            (Place::Query, "name,email:x/y 100%", "name,email:x/y%20100%25"),
            (Place::Header, "Bearer x", "Bearer x"),
        ];
        for (place, text, expected) in cases {
            assert_eq!(place.literal(text).unwrap(), expected, "{place:?}");
        }
        assert!(Place::Header.literal("a\nb").is_err());
        assert!(Place::Cookie.literal("a;b").is_err());
    }
}
