//! The blocks of a template and the words in them, as far as they can be told without parsing.

use crate::engine::closed;

/// What comes next in a template.
pub(super) enum Code<'a> {
    /// The inside of `{{ … }}`, and what follows it.
    Value(&'a str, &'a str),
    /// The inside of `{% … %}`, and what follows it.
    Statement(&'a str, &'a str),
    /// A block that is never closed, from its braces on.
    Open(&'a str),
    /// Nothing but text.
    None,
}

/// The next block of a template.
pub(super) fn next_code(mut text: &str) -> Code<'_> {
    loop {
        let Some(start) = text.find('{') else {
            return Code::None;
        };
        let body = text.get(start + 2..).unwrap_or_default();
        match text.as_bytes().get(start + 1) {
            Some(b'#') => text = body.find("#}").map_or("", |end| &body[end + 2..]),
            Some(b'{') => {
                return closed(body, "}}").map_or(Code::Open(&text[start..]), |length| {
                    Code::Value(&body[..length], &body[length + 2..])
                });
            }
            Some(b'%') => {
                return closed(body, "%}").map_or(Code::Open(&text[start..]), |length| {
                    Code::Statement(&body[..length], &body[length + 2..])
                });
            }
            _ => text = &text[start + 1..],
        }
    }
}

/// The code in words, quoted texts left out; a sign is a word of its own.
pub(super) fn words(code: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => quoted_length(rest, first),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let offset = code.len() - rest.len();
        if !first.is_whitespace() && !matches!(first, '\'' | '"') {
            words.push((offset, &rest[..length]));
        }
        rest = &rest[length..];
    }
    words
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return index + 1,
            _ => {}
        }
    }
    text.len()
}
