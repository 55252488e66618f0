//! The HTTP headers by which a modern client repeats parts of its request, so that anything on the way can route by
//! them. They must agree with the body.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// What the headers of one HTTP request say.
#[derive(Clone, Copy, Default)]
pub(crate) struct Claims<'a> {
    /// `MCP-Protocol-Version`
    pub(crate) protocol_version: Option<&'a str>,
    /// `Mcp-Method`
    pub(crate) method: Option<&'a str>,
    /// `Mcp-Name`
    pub(crate) name: Option<&'a str>,
    /// All of them, for `Mcp-Param-*`.
    pub(crate) all: Option<&'a http::HeaderMap>,
}

/// What one header says.
pub(crate) enum Claim {
    Absent,
    Says(String),
    Broken,
}

impl<'a> Claims<'a> {
    pub(crate) fn of(headers: &'a http::HeaderMap) -> Self {
        let text = |name: &str| {
            let mut values = headers.get_all(name).iter();
            let first = values.next()?;
            // Which of two is meant is anybody's guess, and a proxy's may be another: neither is right then.
            if values.next().is_some() { Some("(repeated)") } else { first.to_str().ok() }
        };
        Self {
            protocol_version: text("mcp-protocol-version"),
            method: text("mcp-method"),
            name: text("mcp-name"),
            all: Some(headers),
        }
    }

    /// What `Mcp-Param-{name}` says.
    pub(crate) fn param(&self, name: &str) -> Claim {
        let name = format!("mcp-param-{}", name.to_ascii_lowercase());
        match self.all.and_then(|headers| headers.get(name)) {
            None => Claim::Absent,
            Some(value) => value
                .to_str()
                .ok()
                .and_then(decode)
                .map_or(Claim::Broken, |value| Claim::Says(value.into_owned())),
        }
    }
}

/// A header value as it was meant: values that headers cannot carry come as `=?base64?…?=`. Nothing if that is broken.
pub(crate) fn decode(value: &str) -> Option<Cow<'_, str>> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(Cow::Borrowed(value));
    };
    let bytes = STANDARD.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// A value as a header can carry it: as it is, or as `=?base64?…?=`.
pub(crate) fn encode(value: &str) -> Cow<'_, str> {
    let plain = value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && value.trim() == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if plain { Cow::Borrowed(value) } else { Cow::Owned(format!("=?base64?{}?=", STANDARD.encode(value))) }
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
    fn a_header_that_is_repeated_says_nothing_that_could_be_right() {
        let mut headers = http::HeaderMap::new();
        headers.append("mcp-method", http::HeaderValue::from_static("ping"));
        assert_eq!(Claims::of(&headers).method, Some("ping"));
        headers.append("mcp-method", http::HeaderValue::from_static("tools/call"));
        assert_eq!(Claims::of(&headers).method, Some("(repeated)"));
    }

    #[test]
    fn what_a_header_cannot_carry_survives_the_way_there_and_back() {
        for value in ["plain", "上海", " edge ", "a\nb", "=?base64?x?="] {
            assert_eq!(decode(&encode(value)).as_deref(), Some(value));
        }
    }
}
