//! Where a secret may go: hosts, and the environment of programs.

use std::fmt;
use std::str::FromStr;

/// Where a secret may go; nowhere else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// The hosts that it may be sent to.
    pub hosts: Vec<HostPattern>,
    /// Whether it may stand in the environment of a program that an `mcp` definition starts.
    pub programs: bool,
}

impl Binding {
    /// Whether it may be sent there.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        self.hosts.iter().any(|pattern| pattern.matches(host, port))
    }

    /// The hosts, for messages.
    pub fn places(&self) -> String {
        let mut places: Vec<String> = self.hosts.iter().map(ToString::to_string).collect();
        if self.programs {
            places.push("programs that mcp definitions start".to_owned());
        }
        if places.is_empty() { "no host".to_owned() } else { places.join(" and ") }
    }
}

/// One host, or every host of a domain: `api.shop.example`, `*.shop.example`, each with `:port` if it is bound to one; `*` is
/// every host there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    host: Host,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Any,
    /// What follows the star, with its dot.
    Below(String),
    Exactly(String),
}

/// A text that names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a host; write api.example.com, *.example.com or api.example.com:8443, without a scheme or path"
)]
pub struct WrongHost(String);

impl HostPattern {
    /// The names of this machine.
    pub fn loopback() -> Vec<Self> {
        let here = ["127.0.0.1", "localhost", "::1"];
        here.map(|host| Self { host: Host::Exactly(host.to_owned()), port: None }).into()
    }

    /// Whether it stands for that host at that port.
    pub fn matches(&self, host: &str, port: u16) -> bool {
        let host =
            host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
        let fits = match &self.host {
            Host::Any => true,
            Host::Below(domain) => host.len() > domain.len() && host.ends_with(domain.as_str()),
            Host::Exactly(exactly) => host == *exactly,
        };
        fits && self.port.is_none_or(|bound| bound == port)
    }
}

impl FromStr for HostPattern {
    type Err = WrongHost;

    fn from_str(text: &str) -> Result<Self, WrongHost> {
        let wrong = || WrongHost(text.chars().take(80).collect());
        let lower = text.trim().to_ascii_lowercase();
        let (host, port) = match lower.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((inside, rest)) => (inside, rest.strip_prefix(':')),
            None if lower.matches(':').count() > 1 => (lower.as_str(), None),
            None => lower.split_once(':').map_or((lower.as_str(), None), |(host, port)| (host, Some(port))),
        };
        let port = port.map(str::parse).transpose().map_err(|_| wrong())?;
        let is_name = |name: &str| {
            !name.is_empty()
                && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':'))
        };
        let host = match host {
            "*" => Host::Any,
            _ => match host.strip_prefix('*') {
                Some(domain) if domain.len() > 1 && domain.starts_with('.') && is_name(domain) => {
                    Host::Below(domain.to_owned())
                }
                None if is_name(host) => Host::Exactly(host.to_owned()),
                Some(_) | None => return Err(wrong()),
            },
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Any => formatter.write_str("*"),
            Host::Below(domain) => write!(formatter, "*{domain}"),
            Host::Exactly(host) if host.contains(':') => write!(formatter, "[{host}]"),
            Host::Exactly(host) => formatter.write_str(host),
        }?;
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_its_hosts_only() {
        let cases = [
            ("api.shop.example", "api.shop.example", 443, true),
            ("api.shop.example", "API.Shop.Example.", 80, true),
            ("api.shop.example", "evil-api.shop.example", 443, false),
            ("api.shop.example", "api.shop.example.evil.test", 443, false),
            ("*.shop.example", "api.shop.example", 443, true),
            ("*.shop.example", "a.b.shop.example", 443, true),
            ("*.shop.example", "shop.example", 443, false),
            ("*.shop.example", "evilshop.example", 443, false),
            ("api.shop.example:8443", "api.shop.example", 8443, true),
            ("api.shop.example:8443", "api.shop.example", 443, false),
            ("[::1]:9", "[::1]", 9, true),
            ("::1", "::1", 1, true),
            ("*", "anything", 1, true),
        ];
        for (pattern, host, port, expected) in cases {
            let read: HostPattern = pattern.parse().unwrap();
            assert_eq!(read.matches(host, port), expected, "{pattern} for {host}:{port}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", "https://a", "a/b", "a b", "*a.b", "*.", "a:b", "a:99999", "a.*.b"] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
    }
}
