//! Text in UTF-16. It becomes UTF-8 before it is masked for good, so that escapes and base64 in it are looked through, too.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

/// Which byte of a unit comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The lower one.
    Little,
    /// The higher one.
    Big,
}

impl Order {
    /// That of a text in UTF-16, by its byte order mark or its declared charset; nothing for anything else.
    pub(super) fn of(headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let declared = declared.to_ascii_lowercase();
        let mut parameters = declared.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
        let charset = parameters.find(|(name, _)| name.trim() == "charset").map(|(_, value)| value.trim());
        let by_charset = match charset.map(|charset| charset.trim_matches('"')) {
            Some("utf-16be" | "utf16be") => Some(Self::Big),
            // Without a mark most write the lower byte first, whatever RFC 2781 says.
            Some("utf-16" | "utf16" | "ucs-2") if body.first() == Some(&0) => Some(Self::Big),
            Some("utf-16le" | "utf16le" | "utf-16" | "utf16" | "ucs-2") => Some(Self::Little),
            _ => None,
        };
        let by_mark = match body {
            [0xFF, 0xFE, ..] => Some(Self::Little),
            [0xFE, 0xFF, ..] => Some(Self::Big),
            _ => None,
        };
        by_mark.filter(|_| by_charset.is_some() || is_text(&declared)).or(by_charset)
    }

    /// The text in UTF-8, without its mark; what is no character is replaced.
    pub(super) fn decode(self, body: &[u8]) -> Bytes {
        let (pairs, _torn) = body.as_chunks::<2>();
        let units = pairs.iter().map(|pair| match self {
            Self::Little => u16::from_le_bytes(*pair),
            Self::Big => u16::from_be_bytes(*pair),
        });
        let characters = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
        let text: String = characters.collect();
        Bytes::from(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
    }
}

/// Has the head say that the text is UTF-8 now.
pub(super) fn declare_utf8(headers: &mut HeaderMap) {
    let Some(declared) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return };
    let essence = declared.split(';').next().unwrap_or_default().trim();
    if let Ok(value) = HeaderValue::from_str(&format!("{essence}; charset=utf-8")) {
        headers.insert(CONTENT_TYPE, value);
    }
}

/// Whether a mark at the beginning of such a body can be meant as one.
fn is_text(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.is_empty()
        || essence.starts_with("text/")
        || ["json", "xml", "yaml", "javascript"].iter().any(|kind| essence.ends_with(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_utf_16_is_known_by_its_charset_or_its_mark() {
        for (content_type, body, order) in [
            ("text/plain; charset=UTF-16LE", &b"a\0"[..], Some(Order::Little)),
            ("text/plain; charset=\"utf-16be\"", b"\0a", Some(Order::Big)),
            ("application/json;charset=utf-16", b"{\0", Some(Order::Little)),
            ("application/json;charset=utf-16", b"\0{", Some(Order::Big)),
            ("text/plain; charset=utf-16", b"\xFE\xFF\0a", Some(Order::Big)),
            ("text/plain", b"\xFF\xFEa\0", Some(Order::Little)),
            ("", b"\xFF\xFEa\0", Some(Order::Little)),
            ("audio/mpeg", b"\xFF\xFEa\0", None),
            ("text/plain; charset=utf-8", b"a\0", None),
        ] {
            let mut headers = HeaderMap::new();
            if !content_type.is_empty() {
                headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
            }
            assert_eq!(Order::of(&headers, body), order, "{content_type}");
        }
        assert_eq!(Order::Little.decode(b"\xFF\xFEK\0\xF6\0\x3D\xD8\x00\xDE!"), "Kö😀");
        assert_eq!(Order::Big.decode(b"\0K\xD8\x3D"), "K\u{fffd}");
    }
}
