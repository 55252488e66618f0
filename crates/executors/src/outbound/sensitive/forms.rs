//! The forms in which an upstream may echo a secret text.

use std::borrow::Cow;
use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::SHORTEST;
use crate::percent::UNRESERVED;

/// Shorter pieces of base64 stand in pictures by accident.
const SHORTEST_BASE64: usize = 7;
/// Shorter lines (`{`, `host: a`) are seldom secret by themselves and stand in many answers.
const SHORTEST_LINE: usize = 8;

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

/// The text as it is and as it stands in JSON, URLs, HTML and cookies.
pub(super) fn forms_of(text: &str) -> Vec<Vec<u8>> {
    let json = json_inner(text);
    let strict = utf8_percent_encode(text, UNRESERVED).to_string();
    let lenient = utf8_percent_encode(text, LENIENT).to_string();
    let forms = [
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
    ];
    forms.into_iter().map(String::into_bytes).chain(latin1(text)).chain(utf16(text)).collect()
}

/// What of the base64 of any longer text gives these bytes away: it depends on where in it they stand.
pub(super) fn base64_forms(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![STANDARD.encode(bytes).into_bytes()];
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        for before in 0..3 {
            let mut longer = vec![0; before];
            longer.extend_from_slice(bytes);
            let encoded = engine.encode(&longer).into_bytes();
            // Characters that also hold bits of what stands beside are left out.
            let own = (before * 8).div_ceil(6)..longer.len() * 8 / 6;
            forms.extend(encoded.get(own).filter(|form| form.len() >= SHORTEST_BASE64).map(<[u8]>::to_vec));
        }
    }
    forms
}

/// What an upstream reads in a text that is itself encoded: credentials given as base64, a value that is percent-encoded.
pub(super) fn decoded_forms(text: &str) -> Vec<String> {
    let mut forms = Vec::new();
    let compact = text.trim_end_matches('=');
    let bytes = STANDARD_NO_PAD.decode(compact).or_else(|_| URL_SAFE_NO_PAD.decode(compact));
    if let Some(decoded) = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok())
        && !decoded.contains(char::is_control)
    {
        // The password of a pair; the name is seldom a secret and often an everyday word.
        forms.extend(decoded.split_once(':').map(|(_, password)| password.to_owned()));
        forms.push(decoded);
    }
    if text.contains('%') {
        forms.extend(percent_decode_str(text).decode_utf8().ok().map(Cow::into_owned));
    }
    forms.retain(|form| form.len() >= SHORTEST && form != text);
    forms
}

/// The lines of a text of several, which programs and their logs say one by one; also of one that has `\n` written out, as keys
/// in the environment often have. Only as they are: a key may have fifty, and each form is one more thing to look for.
pub(super) fn lines_of(text: &str) -> Vec<String> {
    let text = text.replace("\\r", "\n").replace("\\n", "\n");
    let lines = text.split(['\n', '\r']).map(str::trim);
    lines.filter(|line| line.len() >= SHORTEST_LINE && line.len() < text.len()).map(str::to_owned).collect()
}

/// The text as ISO-8859-1 writes it, where that differs and exists.
fn latin1(text: &str) -> Option<Vec<u8>> {
    let bytes: Option<Vec<u8>> = text.chars().map(|character| u8::try_from(character).ok()).collect();
    bytes.filter(|bytes| bytes.len() < text.len() && bytes.len() >= SHORTEST)
}

/// The text as UTF-16 writes it, in either order. Without a zero at its end or beginning, both are the same for most texts, and
/// neither reaches into what stands beside the text in the other.
fn utf16(text: &str) -> [Vec<u8>; 2] {
    let mut little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    little.pop_if(|last| *last == 0);
    let big = text.encode_utf16().flat_map(u16::to_be_bytes);
    let big = big.enumerate().filter(|(at, byte)| *at > 0 || *byte != 0).map(|(_, byte)| byte).collect();
    [little, big]
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
