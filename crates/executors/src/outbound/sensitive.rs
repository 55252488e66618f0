//! The secret texts of one request, and their removal from what comes back.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use memchr::memmem::Finder;
use toolrail_core::MASK;

mod forms;
mod view;

use forms::{base64_forms, decoded_forms, forms_of, lines_of};
use view::DecodedView;

/// Shorter texts protect nothing, and masking them would riddle every answer.
const SHORTEST: usize = 4;
/// Shorter secrets are not to be used: of four or five characters, what gives them away in the base64 of a longer text is so short that
/// it stands in other texts by accident, and masking it would damage them.
const SHORTEST_SECRET: usize = 6;

/// Bodies are looked through in stretches of this length, so that undoing escapes never takes much memory.
const STRETCH: usize = 128 << 10;
/// How many bytes before a stretch are looked at too, so that no escape is torn at its beginning.
const CONTEXT: usize = 64;
/// How much longer than itself an escaped text can be.
const LONGEST_ESCAPE: usize = 36;

/// Escapes inside escapes (JSON in JSON in HTML) that are looked through.
const DEEPEST_ESCAPES: usize = 3;

/// The secret texts that went into a request, in every form in which an upstream may echo them. Cheap to clone; without
/// secrets it costs nothing.
#[derive(Clone, Default)]
pub struct Sensitive(Option<Arc<[SecretForm]>>);

/// One form of a secret text.
struct SecretForm {
    finder: Finder<'static>,
    /// Whether it may be spread over several lines: base64 is, at 64 or 76 columns.
    wraps: bool,
}

impl Sensitive {
    /// These texts, their JSON-escaped, percent-encoded, HTML-escaped and base64 forms, and what they are themselves the
    /// base64 or percent-encoded form of; of several lines each by itself, too. Building it is not free: where the secrets are
    /// known beforehand, build it once.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut forms, mut wrapping) = (BTreeSet::new(), BTreeSet::new());
        for text in texts.into_iter().filter(|text| text.len() >= SHORTEST) {
            forms.extend(forms_of(text));
            wrapping.extend(base64_forms(text.as_bytes()));
            forms.extend(decoded_forms(text).iter().flat_map(|decoded| forms_of(decoded)));
            forms.extend(lines_of(text).into_iter().map(String::into_bytes));
        }
        forms.extend(wrapping.iter().cloned());
        if forms.is_empty() {
            return Self(None);
        }
        let mut forms: Vec<Vec<u8>> = forms.into_iter().collect();
        // A form that contains another one goes first, so that no part of it stays behind.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        let form = |form: &Vec<u8>| SecretForm {
            finder: Finder::new(form).into_owned(),
            wraps: wrapping.contains(form),
        };
        Self(Some(forms.iter().map(form).collect()))
    }

    /// Whether a secret is so short that it could not be masked in every form, so that it is not to be used at all.
    pub fn is_too_short(secret: &str) -> bool {
        secret.len() < SHORTEST_SECRET
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a secret stands in `bytes`.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.each_in(bytes, |_| ControlFlow::Break(())).is_break()
    }

    /// The text with every secret masked.
    pub fn mask_text(&self, text: String) -> String {
        if !self.is_in(text.as_bytes()) {
            return text;
        }
        String::from_utf8_lossy(&self.mask(Bytes::from(text))).into_owned()
    }

    /// The bytes with every secret masked; the same bytes if there is none.
    pub fn mask(&self, bytes: Bytes) -> Bytes {
        let mut masked = Vec::new();
        let mut kept = 0;
        let _ = self.each_in(&bytes, |part| {
            if masked.is_empty() {
                masked.reserve(bytes.len());
            }
            if part.start >= kept {
                masked.extend_from_slice(&bytes[kept..part.start]);
                masked.extend_from_slice(mask_for(&bytes[part.clone()]));
            }
            kept = kept.max(part.end);
            ControlFlow::Continue(())
        });
        if kept == 0 {
            return bytes;
        }
        masked.extend_from_slice(&bytes[kept..]);
        Bytes::from(masked)
    }

    /// Where secrets stand, in the order of their beginnings; some may lie over others.
    fn each_in(
        &self,
        bytes: &[u8],
        mut found: impl FnMut(Range<usize>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.is_empty() {
            return ControlFlow::Continue(());
        }
        for start in (0..bytes.len()).step_by(STRETCH) {
            let begin = start.saturating_sub(CONTEXT);
            let end = bytes.len().min(start + STRETCH + self.reach());
            let stretch = start..start + STRETCH;
            let mut parts = self.parts_of(&bytes[begin..end]);
            parts.sort_unstable_by_key(|part| (part.start, std::cmp::Reverse(part.end)));
            for part in parts {
                let part = begin + part.start..begin + part.end;
                if stretch.contains(&part.start) {
                    found(part)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Where secrets stand in `bytes`, as they are and once escapes are undone.
    fn parts_of(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for_each_view(bytes, |view, views| {
            for form in self.forms() {
                found.extend(form.each_in(view).map(|part| origin(views, part)));
            }
            let Some(joined) = DecodedView::of_joined_lines(view) else { return };
            for form in self.forms().iter().filter(|form| form.wraps) {
                found.extend(
                    form.each_in(&joined.bytes).map(|part| origin(views, joined.origin_of_bytes(&part))),
                );
            }
        });
        found
    }

    /// How far an escaped secret can reach beyond its beginning.
    fn reach(&self) -> usize {
        self.forms().first().map_or(0, |longest| longest.bytes().len() * LONGEST_ESCAPE)
    }

    /// The bytes of a body that was cut, without the beginning of a secret at their end.
    pub(super) fn without_torn_end(&self, bytes: Bytes) -> Bytes {
        let tail = bytes.len().saturating_sub(self.reach() + CONTEXT);
        let kept = self.whole_end(&bytes[tail..]);
        bytes.slice(..tail + kept)
    }

    /// How much of `bytes` is left without the beginning of a secret at its end.
    fn whole_end(&self, bytes: &[u8]) -> usize {
        let mut kept = bytes.len();
        for_each_view(bytes, |view, views| {
            for text in [view, view::without_open_escape(view)] {
                let end = text.len() - longest_torn(text, self.forms().iter());
                if end < text.len() {
                    kept = kept.min(origin(views, end..end).start);
                }
                let Some(joined) = DecodedView::of_joined_lines(text) else { continue };
                let torn = longest_torn(&joined.bytes, self.forms().iter().filter(|form| form.wraps));
                if torn > 0 {
                    let part = joined.bytes.len() - torn..joined.bytes.len();
                    kept = kept.min(origin(views, joined.origin_of_bytes(&part)).start);
                }
            }
        });
        kept
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

    fn forms(&self) -> &[SecretForm] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl SecretForm {
    fn bytes(&self) -> &[u8] {
        self.finder.needle()
    }

    /// Where it stands in `text`.
    fn each_in<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = Range<usize>> + 'a {
        self.finder.find_iter(text).map(|at| at..at + self.bytes().len())
    }
}

impl fmt::Debug for Sensitive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Sensitive({MASK})")
    }
}

/// Looks at the bytes as they are, then undoes one level of escapes after the other; the views lead from each text back to
/// `bytes`.
fn for_each_view(bytes: &[u8], mut look: impl FnMut(&[u8], &[DecodedView])) {
    let mut views: Vec<DecodedView> = Vec::new();
    look(bytes, &views);
    while views.len() < DEEPEST_ESCAPES {
        let Some(view) = DecodedView::of(views.last().map_or(bytes, |view| &view.bytes)) else {
            return;
        };
        views.push(view);
        if let Some(last) = views.last() {
            look(&last.bytes, &views);
        }
    }
}

/// Where a part of the last view stands in the bytes themselves.
fn origin(views: &[DecodedView], part: Range<usize>) -> Range<usize> {
    views.iter().rev().fold(part, |part, view| view.origin(&part))
}

/// What stands for a secret: in UTF-16 as many whole or half units, so that the text around it can still be read.
fn mask_for(secret: &[u8]) -> &'static [u8] {
    match secret {
        [_, 0, ..] if secret.len() % 2 == 1 => b"*\0*\0*",
        [_, 0, ..] => b"*\0*\0*\0",
        _ => MASK.as_bytes(),
    }
}

/// How many bytes at the end of `bytes` are a beginning of one of the forms, at most.
fn longest_torn<'a>(bytes: &[u8], forms: impl Iterator<Item = &'a SecretForm>) -> usize {
    forms.map(|form| torn_length(bytes, form.bytes())).max().unwrap_or_default()
}

/// How many bytes at the end of `bytes` are a beginning of `needle`.
fn torn_length(bytes: &[u8], needle: &[u8]) -> usize {
    let longest = bytes.len().min(needle.len() - 1);
    (1..=longest).rev().find(|length| bytes.ends_with(&needle[..*length])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

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
    fn a_secret_is_masked_however_its_characters_are_escaped() {
        let secret = "s3cr3t&<k>ey+/=\"'\\é😀";
        for echo in [
            // Go, .NET, and every character as an escape.
            r#"s3cr3t\u0026\u003ck\u003eey+/=\"'\\é😀"#,
            r"s3cr3t\u0026\u003Ck\u003Eey\u002B/=\u0022\u0027\\\u00E9\uD83D\uDE00",
            r"\u0073\u0033\u0063\u0072\u0033\u0074\u0026\u003c\u006b\u003e\u0065\u0079\u002b\u002f\u003d\u0022\u0027\u005c\u00e9\ud83d\ude00",
            // HTML, in several tastes at once.
            r"s3cr3t&amp;&lt;k&#62;ey&#43;/=&#34;&#39;\é&#128512;",
            r"s3cr3t&#x26;&lt;k&gt;ey+/=&quot;&#x27;\&#xE9;😀",
            // JSON in JSON, and in JSON once more.
            r#"s3cr3t&<k>ey+/=\\\"'\\\\é😀"#,
            r#"s3cr3t&<k>ey+/=\\\"'\\\\\\u00e9\\ud83d\\ude00"#,
            r#"s3cr3t\\u0026<k>ey+\\/=\\\"'\\\\é😀"#,
            r#"s3cr3t&<k>ey+/=\\\\\\\"'\\\\\\\\é😀"#,
            // Every byte in percent escapes.
            "%73%33%63%72%33%74%26%3c%6B%3e%65%79%2b%2f%3d%22%27%5c%c3%A9%f0%9f%98%80",
        ] {
            assert_eq!(masked(&[secret], &format!("<{echo}|\\n{echo}>")), "<***|\\n***>", "{echo}");
            assert!(Sensitive::of([secret]).is_in(echo.as_bytes()), "{echo}");
        }
        assert_eq!(masked(&[secret], r"\u0073&amp;%20\ud800 100%&;\"), r"\u0073&amp;%20\ud800 100%&;\");
    }

    #[test]
    fn a_secret_is_masked_in_an_iso_8859_1_body() {
        let masked = Sensitive::of(["clé-secrète"]).mask(Bytes::from_static(b"<cl\xE9-secr\xE8te>"));
        assert_eq!(masked, "<***>");
    }

    #[test]
    fn a_secret_is_masked_in_utf_16_and_the_text_around_it_stays() {
        let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
        let sensitive = Sensitive::of(["utf-sixteen-clé"]);
        for encoded in [little, big] {
            let masked = sensitive.mask(encoded("<utf-sixteen-clé> 你好").into());
            assert_eq!(masked, encoded("<***> 你好"));
        }
        let echo = "utf-sixteen-key".split("").collect::<Vec<_>>().join("\\u0000");
        let shown = masked(&["utf-sixteen-key"], &format!("{{\"a\":\"{echo}\"}}"));
        assert!(!shown.contains("s\\u0000i"), "{shown}");
    }

    #[test]
    fn a_cut_body_does_not_end_in_half_an_escaped_secret() {
        let sensitive = Sensitive::of(["hunter&2&hunter"]);
        for (body, kept) in [
            (r"say hunter\u00262\u0026hun", "say "),
            (r"say hunter\u00262\u00", "say "),
            (r"say hunter\\u00262\\u00", "say "),
            ("say hunter&amp;2&am", "say "),
            (r"say hunter\", "say "),
            (r"say \u0026 hunt! \u00", r"say \u0026 hunt! \u00"),
        ] {
            assert_eq!(sensitive.without_torn_end(Bytes::from(body)), kept, "{body}");
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
    fn a_secret_is_masked_where_it_is_encoded_or_decoded() {
        let secret = "s3cret-value!";
        for before in ["", "u", "us", "user:"] {
            let encoded = STANDARD.encode(format!("{before}{secret} and more"));
            let shown = masked(&[secret], &format!("<{encoded}>"));
            assert!(shown.contains("***") && !shown.contains(&encoded[8..16]), "{before}: {shown}");
        }
        assert_eq!(masked(&["pass"], "<cGFzcw==>"), "<***>");
        let basic = STANDARD.encode("anna:open:sesame");
        for (echo, expected) in [
            ("{\"password\": \"open:sesame\"}", "{\"password\": \"***\"}"),
            ("anna:open:sesame", "***"),
            ("anna", "anna"),
            (basic.as_str(), "***"),
        ] {
            assert_eq!(masked(&[&basic], echo), expected, "{echo}");
        }
        assert_eq!(masked(&["a%20secret%2Fkey"], "got 'a secret/key'"), "got '***'");
    }

    #[test]
    fn every_secret_that_may_be_used_is_masked_in_the_base64_of_a_longer_text() {
        assert!(Sensitive::is_too_short("q7X9z") && !Sensitive::is_too_short("q7X9zK"));
        for secret in ["q7X9zK", "q7X9zK1", "q7X9zK12"] {
            for before in ["", "k", "k=", "k: ", "X-K:", "X-K: "] {
                for after in ["", "\n", " and more"] {
                    let encoded = STANDARD.encode(format!("{before}{secret}{after}"));
                    assert!(masked(&[secret], &encoded).contains("***"), "{before}{secret}{after}");
                }
            }
        }
    }

    #[test]
    fn a_secret_is_masked_in_base64_of_several_lines() {
        let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ9876543210";
        let encoded = STANDARD.encode(format!("X-K: {secret} and more"));
        let own = &encoded[8..100];
        for columns in [1, 20, 64, 76] {
            for end in ["\n", "\r\n", "\n  ", "\\n", "\\r\\n", "\\\\n", "&#10;"] {
                let lines: Vec<&str> = encoded
                    .as_bytes()
                    .chunks(columns)
                    .map(|line| std::str::from_utf8(line).unwrap())
                    .collect();
                let body = format!("<{}{end}>{end}", lines.join(end));
                let shown = masked(&[secret], &body);
                let left = shown.replace(end, "");
                assert!(left.contains("***") && left.ends_with('>'), "{columns} {end:?}: {shown}");
                assert!(
                    !own.as_bytes()
                        .windows(8)
                        .any(|part| memchr::memmem::find(left.as_bytes(), part).is_some()),
                    "{columns} {end:?}: {shown}"
                );
                assert!(shown.ends_with(&format!("{end}>{end}")), "{columns} {end:?}: {shown}");
                let cut = body[..body.len() * 2 / 3].to_owned();
                let kept = Sensitive::of([secret]).without_torn_end(Bytes::from(cut));
                assert!(kept.len() < 9 + 9 * end.len(), "{columns} {end:?}: {kept:?}");
            }
        }
        assert_eq!(masked(&[secret], "a\r\nb\n\n c"), "a\r\nb\n\n c");
    }

    #[test]
    fn the_lines_of_a_secret_are_masked_on_their_own() {
        for secret in [
            "first-half-of-key\nsecond-half/of-key\n}\nhost: a\n",
            "first-half-of-key\r\n  second-half/of-key  \r\n}\r\nhost: a",
            "first-half-of-key\\nsecond-half/of-key\\n}\\nhost: a\\n",
        ] {
            for (said, shown) in [
                ("cannot use first-half-of-key", "cannot use ***"),
                ("second-half/of-key", "***"),
                ("[\"second-half\\/of-key\"]", "[\"***\"]"),
                ("?key=second-half%2Fof-key", "?key=***"),
                // Short lines stand in many answers.
                ("{host: a}", "{host: a}"),
            ] {
                assert_eq!(masked(&[secret], said), shown, "{secret:?}");
            }
        }
        assert_eq!(masked(&["one line of a key"], "one line"), "one line");
    }

    #[test]
    fn secrets_are_found_wherever_a_long_body_is_divided() {
        let sensitive = Sensitive::of(["hunter&2"]);
        for distance in 0..80 {
            for echo in ["hunter&2", r"hunter\u00262", "hunter&amp;2"] {
                let filler = "x".repeat(STRETCH - distance);
                let body = Bytes::from(format!("{filler}{echo}{filler}{echo}"));
                let masked = sensitive.mask(body);
                assert_eq!(masked, format!("{filler}***{filler}***"), "{distance} {echo}");
            }
        }
    }

    #[test]
    fn a_body_of_escapes_is_looked_through_in_little_memory() {
        let body = Bytes::from(vec![b'\\'; 4 << 20]);
        let sensitive = Sensitive::of(["hunter2"]);
        assert_eq!(sensitive.mask(body.clone()).as_ptr(), body.as_ptr());
        assert_eq!(sensitive.without_torn_end(body.clone()), body);
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
