//! The formats and encodings that draft-07 checks. A text of a format that nobody knows fits.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Map, Value};

use super::pattern::Patterns;

/// What a text must be.
#[derive(Debug)]
pub(super) struct Known {
    test: Test,
    /// In words.
    pub(super) told: Box<str>,
}

#[derive(Debug)]
enum Test {
    Format(IsOf),
    Content { encoding: Option<Decode>, is_json: bool },
}

/// Takes an encoding off a text.
type Decode = fn(&str) -> Option<Vec<u8>>;

/// Whether a text is of a format.
type IsOf = fn(&str) -> bool;

const FORMATS: &[(&str, IsOf)] = &[
    ("date", is_date),
    ("date-time", is_date_time),
    ("email", |text| is_email(text, Script::Ascii)),
    ("hostname", |text| is_hostname(text, Script::Ascii)),
    ("idn-email", |text| is_email(text, Script::Any)),
    ("idn-hostname", |text| is_hostname(text, Script::Any)),
    ("ipv4", |text| text.parse::<Ipv4Addr>().is_ok()),
    ("ipv6", |text| text.parse::<Ipv6Addr>().is_ok()),
    ("iri", |text| reference(text, Script::Any) == Some(Reference::Absolute)),
    ("iri-reference", |text| reference(text, Script::Any).is_some()),
    ("json-pointer", is_json_pointer),
    ("regex", |text| Patterns::default().compile(text).is_ok()),
    ("relative-json-pointer", is_relative_json_pointer),
    ("time", is_time),
    ("uri", |text| reference(text, Script::Ascii) == Some(Reference::Absolute)),
    ("uri-reference", |text| reference(text, Script::Ascii).is_some()),
    ("uri-template", is_uri_template),
];

const ENCODINGS: &[(&str, Decode)] =
    &[("base64", |text| STANDARD.decode(text).ok()), ("base64url", |text| URL_SAFE.decode(text).ok())];

impl Known {
    /// The check of a format; none for one that nobody knows.
    pub(super) fn format_of(schema: &Map<String, Value>) -> Option<Self> {
        let format = schema.get("format")?.as_str()?;
        let (_, test) = FORMATS.iter().find(|(name, _)| *name == format)?;
        Some(Self { test: Test::Format(*test), told: format!("{format:?}").into() })
    }

    /// The check of an encoding and of what is encoded.
    pub(super) fn content_of(schema: &Map<String, Value>) -> Option<Self> {
        let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
        let (named, media_type) = (text("contentEncoding"), text("contentMediaType"));
        let encoding = named.and_then(|named| ENCODINGS.iter().find(|(name, _)| *name == named));
        if named.is_some() && encoding.is_none() {
            return None;
        }
        let is_json = media_type == Some("application/json");
        if encoding.is_none() && !is_json {
            return None;
        }
        let told: Vec<&str> = named.into_iter().chain(media_type).collect();
        let encoding = encoding.map(|(_, decode)| *decode);
        Some(Self { test: Test::Content { encoding, is_json }, told: told.join(" of ").into() })
    }

    /// Whether a text is like that.
    pub(super) fn fits(&self, text: &str) -> bool {
        match self.test {
            Test::Format(test) => test(text),
            Test::Content { encoding: Some(decode), is_json } => {
                decode(text).is_some_and(|bytes| !is_json || is_json_text(&bytes))
            }
            Test::Content { encoding: None, .. } => is_json_text(text.as_bytes()),
        }
    }
}

fn is_json_text(bytes: &[u8]) -> bool {
    serde_json::from_slice::<&serde_json::value::RawValue>(bytes).is_ok()
}

/// Which letters a format takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Ascii,
    Any,
}

impl Script {
    fn takes(self, character: char) -> bool {
        self == Self::Any && !character.is_ascii() && !character.is_control() && !character.is_whitespace()
    }
}

/// The number that stands there, of nothing but digits.
fn number(text: &str, from: usize, to: usize) -> Option<u32> {
    let digits = text.get(from..to)?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

fn is_date(text: &str) -> bool {
    let parts = (number(text, 0, 4), number(text, 5, 7), number(text, 8, 10));
    let (Some(year), Some(month), Some(day)) = parts else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-' && (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    const DAY: u32 = 24 * 60;
    let parts = (number(text, 0, 2), number(text, 3, 5), number(text, 6, 8));
    let (Some(hour), Some(minute), Some(second)) = parts else {
        return false;
    };
    if text.as_bytes()[2] != b':' || text.as_bytes()[5] != b':' || hour > 23 || minute > 59 || second > 60 {
        return false;
    }
    let Some((fraction, zone)) =
        text.get(8..).and_then(|rest| rest.split_at_checked(rest.find(['Z', 'z', '+', '-'])?))
    else {
        return false;
    };
    let is_fraction = match fraction.strip_prefix('.') {
        Some(digits) => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => fraction.is_empty(),
    };
    if !is_fraction {
        return false;
    }
    let offset = match zone {
        "Z" | "z" => 0,
        _ => match (number(zone, 1, 3), number(zone, 4, 6)) {
            (Some(hours @ 0..=23), Some(minutes @ 0..=59))
                if zone.len() == 6 && zone.as_bytes()[3] == b':' =>
            {
                let offset = hours * 60 + minutes;
                if zone.starts_with('+') { DAY - offset } else { offset }
            }
            _ => return false,
        },
    };
    // Leap seconds are added at the end of a day in UTC.
    second < 60 || (hour * 60 + minute + offset) % DAY == DAY - 1
}

fn is_date_time(text: &str) -> bool {
    let is_date = text.get(..10).is_some_and(is_date);
    let time = text.get(10..).and_then(|rest| rest.strip_prefix(['T', 't']));
    is_date && time.is_some_and(is_time)
}

fn is_hostname(text: &str, script: Script) -> bool {
    let dots: &[char] = if script == Script::Any { &['.', '。', '．', '｡'] } else { &['.'] };
    text.len() <= 253 && text.split(dots).all(|label| is_label(label, script))
}

fn is_label(label: &str, script: Script) -> bool {
    let is_taken =
        |character: char| character.is_ascii_alphanumeric() || character == '-' || script.takes(character);
    let is_reserved = label.get(2..4) == Some("--")
        && !label.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("xn"));
    (1..=63).contains(&label.len())
        && label.chars().all(is_taken)
        && !label.starts_with('-')
        && !label.ends_with('-')
        && !is_reserved
}

fn is_email(text: &str, script: Script) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let is_atom = |part: &str| {
        let is_taken = |character: char| {
            character.is_ascii_alphanumeric()
                || "!#$%&'*+-/=?^_`{|}~".contains(character)
                || script.takes(character)
        };
        !part.is_empty() && part.chars().all(is_taken)
    };
    let quoted = local.strip_prefix('"').and_then(|local| local.strip_suffix('"'));
    let is_local = match quoted {
        Some(inside) => is_quoted(inside, script),
        None => local.split('.').all(is_atom),
    };
    let literal = domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']'));
    let is_domain = match literal {
        Some(address) => match address.strip_prefix("IPv6:") {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => address.parse::<Ipv4Addr>().is_ok(),
        },
        None => is_hostname(domain, script),
    };
    local.len() <= 64 && is_local && is_domain
}

/// Whether everything that ends a quoted text has a backslash before it.
fn is_quoted(inside: &str, script: Script) -> bool {
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        let is_taken = match character {
            '"' => false,
            '\\' => characters.next().is_some_and(|escaped| escaped.is_ascii_graphic() || escaped == ' '),
            _ => character.is_ascii_graphic() || character == ' ' || script.takes(character),
        };
        if !is_taken {
            return false;
        }
    }
    true
}

/// What a reference to a resource starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reference {
    /// Nothing: it says its scheme.
    Absolute,
    /// Another one.
    Relative,
}

/// Reads a reference as RFC 3986 has it, or RFC 3987 where any script will do.
fn reference(text: &str, script: Script) -> Option<Reference> {
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let is_tail = |tail: &str| is_made_of(tail, "-._~!$&'()*+,;=:@/?", script);
    if !is_tail(fragment) || !is_tail(query) {
        return None;
    }
    let colon = text.find(':').filter(|colon| !text.get(..*colon).is_some_and(|before| before.contains('/')));
    let (kind, rest) = match colon.and_then(|colon| text.split_at_checked(colon)) {
        Some((scheme, rest)) => {
            let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
            let is_scheme =
                scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(is_taken);
            (is_scheme.then_some(Reference::Absolute)?, rest.get(1..)?)
        }
        None => (Reference::Relative, text),
    };
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at_checked(rest.find('/').unwrap_or(rest.len()))?;
            is_authority(authority, script).then_some(path)?
        }
        None => rest,
    };
    is_made_of(path, "-._~!$&'()*+,;=:@/", script).then_some(kind)
}

fn is_authority(authority: &str, script: Script) -> bool {
    const NAME: &str = "-._~!$&'()*+,;=";
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if !is_made_of(user, "-._~!$&'()*+,;=:", script) {
        return false;
    }
    let literal = host.strip_prefix('[').and_then(|host| host.split_once(']'));
    let (is_host, port) = if let Some((address, port)) = literal {
        (address.parse::<Ipv6Addr>().is_ok() || is_future_address(address), port)
    } else {
        let colon = host.find(':').unwrap_or(host.len());
        let (name, port) = host.split_at_checked(colon).unwrap_or((host, ""));
        (is_made_of(name, NAME, script), port)
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    is_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

/// An address of a version of IP that is still to come.
fn is_future_address(address: &str) -> bool {
    let parts = address.strip_prefix(['v', 'V']).and_then(|future| future.split_once('.'));
    parts.is_some_and(|(version, address)| {
        let is_version = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_version && !address.is_empty() && is_made_of(address, "-._~!$&'()*+,;=:", Script::Ascii)
    })
}

/// Whether a text has only letters, digits, those characters, and bytes written as `%20`.
fn is_made_of(text: &str, others: &str, script: Script) -> bool {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let is_taken = match character {
            '%' => {
                let mut is_hex = || characters.next().is_some_and(|digit| digit.is_ascii_hexdigit());
                is_hex() && is_hex()
            }
            _ => character.is_ascii_alphanumeric() || others.contains(character) || script.takes(character),
        };
        if !is_taken {
            return false;
        }
    }
    true
}

fn is_json_pointer(text: &str) -> bool {
    let mut parts = text.split('~');
    let start = parts.next().unwrap_or_default();
    (text.is_empty() || start.starts_with('/')) && parts.all(|part| part.starts_with(['0', '1']))
}

fn is_relative_json_pointer(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_number = digits > 0 && (digits == 1 || !text.starts_with('0'));
    is_number && text.get(digits..).is_some_and(|rest| rest == "#" || is_json_pointer(rest))
}

/// RFC 6570.
fn is_uri_template(text: &str) -> bool {
    let mut pieces = text.split('{');
    let is_literal = |text: &str| {
        let is_allowed = |character: char| !character.is_control() && !" \"<>\\^`{|}".contains(character);
        text.chars().all(is_allowed) && escapes_are_whole(text)
    };
    let is_first = pieces.next().is_some_and(is_literal);
    is_first
        && pieces.all(|piece| {
            piece
                .split_once('}')
                .is_some_and(|(expression, literal)| is_expression(expression) && is_literal(literal))
        })
}

fn is_expression(expression: &str) -> bool {
    let operators = ['+', '#', '.', '/', ';', '?', '&', '=', ',', '!', '@', '|'];
    let variables = expression.strip_prefix(operators).unwrap_or(expression);
    variables.split(',').all(|variable| {
        let name = match variable.split_once(':') {
            Some((name, length)) => {
                let is_length = (1..=4).contains(&length.len())
                    && !length.starts_with('0')
                    && length.bytes().all(|byte| byte.is_ascii_digit());
                if !is_length {
                    return false;
                }
                name
            }
            None => variable.strip_suffix('*').unwrap_or(variable),
        };
        name.split('.').all(|part| !part.is_empty() && is_made_of(part, "_", Script::Ascii))
    })
}

fn escapes_are_whole(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|after| after.get(..2).is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())))
}
