//! Code between braces as tokens.

use std::ops::Range;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'s> {
    Word(&'s str),
    Text(String),
    Int(i128),
    Float(f64),
    Sign(&'static str),
}

/// A token and where it stands in the source.
pub(super) type Placed<'s> = (Token<'s>, Range<usize>);

/// Longer ones first.
const SIGNS: [&str; 25] = [
    "**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "|", ".", ",", ":", "(", ")", "[", "]",
    "{", "}", "<", ">", "=",
];

/// The tokens of `code`, which begins at `offset` of the source.
pub(super) fn tokens(code: &str, offset: usize) -> Result<Vec<Placed<'_>>, (String, usize)> {
    let mut tokens: Vec<Placed<'_>> = Vec::new();
    let mut at = 0;
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let after_dot = matches!(tokens.last(), Some((Token::Sign("."), _)));
        let (token, length) = if matches!(first, '\'' | '"') {
            text(rest, first).ok_or_else(|| ("a text is never closed".to_owned(), offset + at))?
        } else if first.is_ascii_digit() {
            number(rest, after_dot).ok_or_else(|| ("not a number".to_owned(), offset + at))?
        } else if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            (Token::Word(&rest[..length]), length)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| (format!("unexpected {first:?}"), offset + at))?;
            (Token::Sign(sign), sign.len())
        };
        tokens.push((token, offset + at..offset + at + length));
        at += length;
    }
    Ok(tokens)
}

/// A number; behind a dot only digits, as in `items.0.name`.
fn number(rest: &str, after_dot: bool) -> Option<(Token<'_>, usize)> {
    let digits = |text: &str| text.find(|c: char| !(c.is_ascii_digit() || c == '_')).unwrap_or(text.len());
    let mut length = digits(rest);
    let mut is_float = false;
    if !after_dot {
        if rest[length..].starts_with('.') && rest[length + 1..].starts_with(|c: char| c.is_ascii_digit()) {
            is_float = true;
            length += 1 + digits(&rest[length + 1..]);
        }
        if rest[length..].starts_with(['e', 'E']) {
            let exponent = &rest[length + 1..];
            let sign = usize::from(exponent.starts_with(['+', '-']));
            if exponent[sign..].starts_with(|c: char| c.is_ascii_digit()) {
                is_float = true;
                length += 1 + sign + digits(&exponent[sign..]);
            }
        }
    }
    let written = rest[..length].replace('_', "");
    let token =
        if is_float { Token::Float(written.parse().ok()?) } else { Token::Int(written.parse().ok()?) };
    Some((token, length))
}

fn text(rest: &str, quote: char) -> Option<(Token<'_>, usize)> {
    let mut out = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((index, character)) = characters.next() {
        match character {
            c if c == quote => return Some((Token::Text(out), index + 1)),
            '\\' => match characters.next()?.1 {
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                'b' => out.push('\u{8}'),
                'f' => out.push('\u{c}'),
                'x' => out.push(hex(&mut characters, 2)?),
                'u' => out.push(hex(&mut characters, 4)?),
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
    None
}

fn hex(characters: &mut impl Iterator<Item = (usize, char)>, digits: usize) -> Option<char> {
    let mut code = 0;
    for _ in 0..digits {
        code = code * 16 + characters.next()?.1.to_digit(16)?;
    }
    char::from_u32(code)
}
