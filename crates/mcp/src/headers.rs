//! The HTTP headers by which a modern client repeats parts of its request, so that anything on the way can route by
//! them. They must agree with the body.

use toolrail_protocol::header::{self, decode};

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
            protocol_version: text(header::PROTOCOL_VERSION),
            method: text(header::METHOD),
            name: text(header::NAME),
            all: Some(headers),
        }
    }

    /// What `Mcp-Param-{name}` says.
    pub(crate) fn param(&self, name: &str) -> Claim {
        let name = format!("{}{}", header::PARAM, name.to_ascii_lowercase());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_repeated_says_nothing_that_could_be_right() {
        let mut headers = http::HeaderMap::new();
        headers.append("mcp-method", http::HeaderValue::from_static("ping"));
        assert_eq!(Claims::of(&headers).method, Some("ping"));
        headers.append("mcp-method", http::HeaderValue::from_static("tools/call"));
        assert_eq!(Claims::of(&headers).method, Some("(repeated)"));
    }
}
