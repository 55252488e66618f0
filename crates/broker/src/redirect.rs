//! Where a client may have people sent back to: https addresses, addresses of the person's own machine, and programs there that are
//! reached by a scheme of their own (RFC 8252).

use toolrail_core::NamePattern;
use url::{Host, Url};

/// The longest address.
const LONGEST: usize = 1_000;
/// Schemes of programs that MCP clients are part of. Beside these, only a scheme with a dot in it, which is the name of a domain
/// backwards, is one that a program made up for itself: many others start something dangerous.
const KNOWN_SCHEMES: [&str; 11] = [
    "vscode",
    "vscode-insiders",
    "vscodium",
    "code-oss",
    "cursor",
    "windsurf",
    "zed",
    "claude",
    "raycast",
    "goose",
    "warp",
];

/// Schemes that lead to no program, but that a browser itself runs or shows.
const RUN_BY_BROWSERS: [&str; 7] = ["javascript", "data", "vbscript", "file", "blob", "about", "filesystem"];

/// Whether people may be sent there at all; why not, otherwise.
pub(crate) fn check(text: &str, patterns: &[String]) -> Result<(), &'static str> {
    if text.len() > LONGEST {
        return Err("is longer than 1000 characters");
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'<' | b'>')) {
        return Err("has characters that no address has");
    }
    let url = Url::parse(text).map_err(|_| "is not an absolute address")?;
    if url.fragment().is_some() {
        return Err("has a fragment (#), which no redirect address may have");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user name in it");
    }
    // What the parser would make of it is not what a browser does with it.
    let authority = text.split_once("://").map(|(_, rest)| rest);
    let is_web = matches!(url.scheme(), "http" | "https");
    if is_web && authority.is_none_or(|rest| rest.starts_with(['/', '?', '@', ':'])) {
        return Err("has no host behind ://");
    }
    if RUN_BY_BROWSERS.contains(&url.scheme()) {
        return Err("is nothing that people can be sent to");
    }
    if !patterns.is_empty() {
        let is_listed = patterns.iter().any(|pattern| fits(pattern, text));
        return if is_listed { Ok(()) } else { Err("is not among the redirects that this gateway allows") };
    }
    match url.scheme() {
        "https" if url.host().is_some() => Ok(()),
        "http" if is_loopback(&url) => Ok(()),
        "http" => Err("is an http address of another machine; use https, or an address of your own machine"),
        scheme if KNOWN_SCHEMES.contains(&scheme) || scheme.contains('.') => Ok(()),
        _ => Err(
            "has a scheme that is not known here; whoever runs the gateway can allow it under broker.redirects",
        ),
    }
}

/// Whether an address is one of a pattern. The host must fit what stands there for it: no path is taken for a host.
fn fits(pattern: &str, text: &str) -> bool {
    let (Some(patterns), Some(parts)) = (parts(pattern), parts(text)) else {
        return NamePattern::exact(pattern).fits(text);
    };
    patterns.iter().zip(parts).all(|(pattern, part)| NamePattern::exact(pattern).fits(part))
}

/// The scheme, the host with its port, and the rest; where a pattern has a star for the host and no more, any rest.
fn parts(text: &str) -> Option<[&str; 3]> {
    let (scheme, rest) = text.split_once("://")?;
    let (host, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    Some([scheme, host, if rest.is_empty() && host == "*" { "*" } else { rest }])
}

/// Whether an address is the one that was registered: letter by letter, but for the port on the person's own machine, which a
/// program chooses when it starts (RFC 8252, 7.3).
pub(crate) fn is_same(asked: &str, registered: &str) -> bool {
    asked == registered || without_port(asked).is_some_and(|asked| without_port(registered) == Some(asked))
}

/// An http address of the person's own machine, without its port.
fn without_port(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "http" && is_loopback(url))?;
    // As it was written: what the parser makes the same was not the same before.
    let rest = text.strip_prefix("http://")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let host =
        url.port().map_or(authority, |_| authority.rsplit_once(':').map_or(authority, |(host, _)| host));
    Some(format!("{host}{rest}"))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Where an address leads, in words for the person who is asked, and whether that is the person's own machine.
pub(crate) fn place(text: &str) -> (String, Place) {
    let Ok(url) = Url::parse(text) else { return (String::new(), Place::Elsewhere) };
    match url.scheme() {
        "http" | "https" if is_loopback(&url) => {
            (url.host_str().unwrap_or_default().to_owned(), Place::ThisMachine)
        }
        "http" | "https" => (url.host_str().unwrap_or_default().to_owned(), Place::Elsewhere),
        scheme => (format!("{scheme}:"), Place::Program),
    }
}

/// What an address leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A program on the person's own machine, whichever listens there.
    ThisMachine,
    /// A program that has the scheme for itself.
    Program,
    /// A server.
    Elsewhere,
}

/// The address with more parameters in its query.
pub(crate) fn with_parameters(text: &str, pairs: &[(&str, &str)]) -> String {
    let joint = match text.find('?') {
        None => "?",
        Some(place) if place + 1 == text.len() => "",
        Some(_) => "&",
    };
    format!("{text}{joint}{}", crate::parameters::written(pairs.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_sent_where_a_client_can_be() {
        for good in [
            "https://claude.ai/api/mcp/auth_callback",
            "http://127.0.0.1:33418/",
            "http://localhost/cb?x=1",
            "http://[::1]:1/cb",
            "vscode://vscode.github-authentication/did-authenticate",
            "cursor://anysphere.cursor-retrieval/oauth/user/callback",
            "com.example.app:/callback",
        ] {
            assert_eq!(check(good, &[]), Ok(()), "{good}");
        }
        for bad in [
            "http://evil.example/cb",
            "http://localhost.evil.example/cb",
            "http://127.0.0.1.evil.example/",
            "http://localhost@evil.example/",
            "https://user:pw@evil.example/",
            "https://a.example/#x",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "ms-msdt:/id",
            "/cb",
            "",
            "https://a.example/a b",
            "https://a.example\\@evil.example/",
            "https://a.example/\u{202e}",
        ] {
            assert!(check(bad, &[]).is_err(), "{bad}");
        }
        let only = ["https://claude.ai/*".to_owned(), "odd:*".to_owned()];
        assert!(check("https://claude.ai/cb", &only).is_ok() && check("odd:cb", &only).is_ok());
        assert!(check("https://claude.ai.evil.example/cb", &only).is_err());
        assert!(check("http://127.0.0.1/cb", &only).is_err());
        let below = ["https://*.example.com/*".to_owned(), "vscode://*".to_owned()];
        assert!(check("https://a.example.com/cb", &below).is_ok() && check("vscode://a/b", &below).is_ok());
        assert!(check("https://evil.example/.example.com/cb", &below).is_err());
        assert!(check("https://evil.example?.example.com/cb", &below).is_err());
        assert!(check("javascript://x/%0aalert(1)", &["*".to_owned()]).is_err());
    }

    #[test]
    fn an_address_is_compared_letter_by_letter_but_for_the_port_of_this_machine() {
        for (asked, registered, expected) in [
            ("https://a.example/cb", "https://a.example/cb", true),
            ("https://a.example/cb/", "https://a.example/cb", false),
            ("https://a.example/cb?x", "https://a.example/cb", false),
            ("https://a.example:444/cb", "https://a.example/cb", false),
            ("https://A.example/cb", "https://a.example/cb", false),
            ("http://127.0.0.1:5/cb", "http://127.0.0.1/cb", true),
            ("http://127.0.0.1:5/cb", "http://127.0.0.1:6/cb", true),
            ("http://[::1]:5/cb", "http://[::1]/cb", true),
            ("http://127.0.0.1:5/cb", "http://localhost:5/cb", false),
            ("http://127.0.0.1:5/cb/../x", "http://127.0.0.1/x", false),
            ("http://127.0.0.1:5/cb?a=b", "http://127.0.0.1:5/cb", false),
            ("http://127.1:5/cb", "http://127.0.0.1/cb", false),
            ("https://localhost:5/cb", "https://localhost/cb", false),
        ] {
            assert_eq!(is_same(asked, registered), expected, "{asked} {registered}");
        }
    }

    #[test]
    fn parameters_are_added_to_those_there_are() {
        let with = |text| with_parameters(text, &[("code", "a b")]);
        assert_eq!(with("https://a/cb"), "https://a/cb?code=a+b");
        assert_eq!(with("https://a/cb?x=1"), "https://a/cb?x=1&code=a+b");
        assert_eq!(with("https://a/cb?"), "https://a/cb?code=a+b");
    }
}
