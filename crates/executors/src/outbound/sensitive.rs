//! The secret texts of one request, and their removal from what comes back.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use memchr::memmem::Finder;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use toolrail_core::MASK;

/// Shorter texts protect nothing, and masking them would riddle every answer.
const SHORTEST: usize = 4;

const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// What may stand unencoded in a path or a query, so that a URL is recognised as it was sent.
const LENIENT: &AsciiSet = &UNRESERVED
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'@');
/// What may not stand in a cookie.
const COOKIE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b',').add(b';').add(b'\\').add(b'%');

/// The secret texts that went into a request, in every form in which an upstream may echo them. Cheap to clone; without
/// secrets it costs nothing.
#[derive(Clone, Default)]
pub struct Sensitive(Option<Arc<[Finder<'static>]>>);

impl Sensitive {
    /// These texts, and their JSON-escaped, percent-encoded and HTML-escaped forms. Add derived forms, such as the base64
    /// of basic authentication, as texts of their own. Building it is not free: where the secrets are known beforehand,
    /// build it once.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut forms = BTreeSet::new();
        for text in texts {
            if text.len() >= SHORTEST {
                forms.extend(forms_of(text));
            }
        }
        if forms.is_empty() {
            return Self(None);
        }
        let mut forms: Vec<String> = forms.into_iter().collect();
        // A form that contains another one goes first, so that no part of it stays behind.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Self(Some(forms.iter().map(|form| Finder::new(form).into_owned()).collect()))
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a secret stands in `bytes`.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.finders().iter().any(|finder| finder.find(bytes).is_some())
    }

    /// The text with every secret masked.
    pub fn mask_text(&self, text: String) -> String {
        if !self.is_in(text.as_bytes()) {
            return text;
        }
        String::from_utf8_lossy(&self.mask(Bytes::from(text))).into_owned()
    }

    /// The bytes with every secret masked; the same bytes if there is none.
    pub fn mask(&self, mut bytes: Bytes) -> Bytes {
        for finder in self.finders() {
            if let Some(first) = finder.find(&bytes) {
                bytes = replace(&bytes, finder, first);
            }
        }
        bytes
    }

    /// The bytes of a body that was cut, without the beginning of a secret at their end.
    pub(super) fn without_torn_end(&self, bytes: Bytes) -> Bytes {
        let torn = self.finders().iter().map(|finder| torn_length(&bytes, finder.needle())).max();
        let kept = bytes.len() - torn.unwrap_or_default();
        bytes.slice(..kept)
    }

    /// Masks the values of headers.
    pub(super) fn mask_headers(&self, headers: &mut HeaderMap) {
        if self.is_empty() {
            return;
        }
        for value in headers.values_mut() {
            if self.is_in(value.as_bytes()) {
                let masked = self.mask(Bytes::copy_from_slice(value.as_bytes()));
                *value =
                    HeaderValue::from_maybe_shared(masked).unwrap_or_else(|_| HeaderValue::from_static(MASK));
            }
        }
    }

    fn finders(&self) -> &[Finder<'static>] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl fmt::Debug for Sensitive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Sensitive({MASK})")
    }
}

fn forms_of(text: &str) -> Vec<String> {
    let json = json_inner(text);
    let strict = utf8_percent_encode(text, UNRESERVED).to_string();
    let lenient = utf8_percent_encode(text, LENIENT).to_string();
    vec![
        text.to_owned(),
        json.replace('/', "\\/"),
        ascii_json(&json),
        lower_escapes(&strict),
        lower_escapes(&lenient),
        url::form_urlencoded::byte_serialize(text.as_bytes()).collect(),
        html(text),
        utf8_percent_encode(text, COOKIE).to_string(),
        json,
        strict,
        lenient,
    ]
}

/// The text as it stands inside a JSON string.
fn json_inner(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// JSON text whose characters beyond ASCII are written as `\u….`, the way Python and PHP write them.
fn ascii_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            out.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// Percent escapes with small letters: `%2f`.
fn lower_escapes(encoded: &str) -> String {
    let mut out = String::with_capacity(encoded.len());
    let mut parts = encoded.split('%');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (escape, rest) = part.split_at(2.min(part.len()));
        out.push('%');
        out.push_str(&escape.to_ascii_lowercase());
        out.push_str(rest);
    }
    out
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

fn replace(bytes: &[u8], finder: &Finder<'_>, first: usize) -> Bytes {
    let mut out = Vec::with_capacity(bytes.len());
    let mut kept = 0;
    let mut next = Some(first);
    while let Some(found) = next {
        out.extend_from_slice(&bytes[kept..found]);
        out.extend_from_slice(MASK.as_bytes());
        kept = found + finder.needle().len();
        next = finder.find(&bytes[kept..]).map(|offset| kept + offset);
    }
    out.extend_from_slice(&bytes[kept..]);
    Bytes::from(out)
}

/// How many bytes at the end of `bytes` are a beginning of `needle`.
fn torn_length(bytes: &[u8], needle: &[u8]) -> usize {
    let longest = bytes.len().min(needle.len() - 1);
    (1..=longest).rev().find(|length| bytes.ends_with(&needle[..*length])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(secrets: &[&str], text: &str) -> String {
        Sensitive::of(secrets.iter().copied()).mask_text(text.to_owned())
    }

    #[test]
    fn a_secret_is_masked_in_every_form_an_upstream_echoes() {
        let secret = "p\"a/s&s wört:1";
        for echo in [
            "p\"a/s&s wört:1",
            "p\\\"a/s&s wört:1",
            "p\\\"a\\/s&s wört:1",
            "p\\\"a/s&s w\\u00f6rt:1",
            "p%22a%2Fs%26s%20w%C3%B6rt%3A1",
            "p%22a%2fs%26s%20w%c3%b6rt%3a1",
            "p%22a/s%26s%20w%C3%B6rt:1",
            "p%22a%2Fs%26s+w%C3%B6rt%3A1",
            "p%22a/s&s%20w%C3%B6rt:1",
            "p&quot;a/s&amp;s wört:1",
        ] {
            assert_eq!(masked(&[secret], &format!("<{echo}|{echo}>")), "<***|***>", "{echo}");
        }
    }

    #[test]
    fn a_secret_inside_another_leaves_nothing_behind() {
        assert_eq!(masked(&["token", "token-token-2"], "token-token-2 token"), "*** ***");
    }

    #[test]
    fn very_short_texts_are_not_masked() {
        assert!(Sensitive::of(["", "abc"]).is_empty());
        assert_eq!(masked(&["1"], "{\"a\":1}"), "{\"a\":1}");
    }

    #[test]
    fn nothing_to_mask_keeps_the_bytes() {
        let bytes = Bytes::from_static(b"plain");
        assert_eq!(Sensitive::of(["secret"]).mask(bytes.clone()).as_ptr(), bytes.as_ptr());
    }

    #[test]
    fn a_cut_body_does_not_end_in_half_a_secret() {
        let sensitive = Sensitive::of(["hunter2hunter2"]);
        for (body, kept) in [("say hunter2hun", "say "), ("say h", "say "), ("say hunt!", "say hunt!")] {
            assert_eq!(sensitive.without_torn_end(Bytes::from(body)), kept);
        }
    }

    #[test]
    fn headers_are_masked_and_nothing_prints() {
        let sensitive = Sensitive::of(["hunter2"]);
        let mut headers = HeaderMap::new();
        headers.insert("location", HeaderValue::from_static("/x?key=hunter2"));
        sensitive.mask_headers(&mut headers);
        assert_eq!(headers["location"], "/x?key=***");
        assert_eq!(format!("{sensitive:?}"), "Sensitive(***)");
    }
}
