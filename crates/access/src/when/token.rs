//! The words of an expression, each with where it begins.

use std::str::CharIndices;

use super::NotCel;

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A whole number; its sign is an operator.
    Whole(u64),
    Fraction(f64),
    Text(String),
    /// A name, or a word such as `true` and `in`.
    Name(String),
    /// An operator or a bracket.
    Symbol(&'static str),
    End,
}

impl Token {
    /// As a reader sees it.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Whole(_) | Self::Fraction(_) => "a number".to_owned(),
            Self::Text(_) => "a text".to_owned(),
            Self::Name(name) => format!("`{}`", toolrail_core::shortened(name)),
            Self::Symbol(symbol) => format!("`{symbol}`"),
            Self::End => "the end".to_owned(),
        }
    }
}

/// The longer ones first.
const SYMBOLS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}",
];

/// All words with the byte at which each begins; the last is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, NotCel> {
    let mut reader = Reader { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        reader.skip_blanks();
        let at = reader.at;
        let token = reader.token()?;
        let ended = token == Token::End;
        tokens.push((at, token));
        if ended {
            return Ok(tokens);
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// The longest part from here on whose characters are like that.
    fn take(&mut self, like: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|letter| !like(letter)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn token(&mut self) -> Result<Token, NotCel> {
        let rest = self.rest();
        let mut letters = rest.chars();
        let (first, second) = (letters.next(), letters.next());
        match (first, second) {
            (None, _) => Ok(Token::End),
            (Some('0'..='9'), _) | (Some('.'), Some('0'..='9')) => self.number(),
            (Some('\'' | '"'), _) => self.quoted(false),
            (Some('r' | 'R'), Some('\'' | '"')) => {
                self.at += 1;
                self.quoted(true)
            }
            (Some('b' | 'B'), Some('\'' | '"')) => {
                Err(NotCel::at(self.at, "there are no bytes here; write a text without `b`"))
            }
            (Some(letter), _) if letter.is_ascii_alphabetic() || letter == '_' => Ok(Token::Name(
                self.take(|letter| letter.is_ascii_alphanumeric() || letter == '_').to_owned(),
            )),
            (Some(letter), _) => self.symbol(rest, letter),
        }
    }

    fn symbol(&mut self, rest: &str, letter: char) -> Result<Token, NotCel> {
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            self.at += symbol.len();
            return Ok(Token::Symbol(symbol));
        }
        let told = match letter {
            '=' => "two values are compared with `==`".to_owned(),
            '&' => "`&` is no operator; write `&&`".to_owned(),
            '|' => "`|` is no operator; write `||`".to_owned(),
            '`' => "names are not quoted here; write args['a-b'] for a name that is not plain".to_owned(),
            other => format!("{other:?} has no meaning here; texts stand in quotes"),
        };
        Err(NotCel::at(self.at, told))
    }

    fn number(&mut self) -> Result<Token, NotCel> {
        let start = self.at;
        let wrong = || NotCel::at(start, "this is not a number, or too large a one");
        if self.rest().starts_with("0x") || self.rest().starts_with("0X") {
            self.at += 2;
            let digits = self.take(|letter| letter.is_ascii_alphanumeric());
            return u64::from_str_radix(digits, 16).map(Token::Whole).map_err(|_| wrong());
        }
        let begun = self.take(|letter| letter.is_ascii_alphanumeric() || letter == '.');
        if begun.ends_with(['e', 'E']) && self.rest().starts_with(['+', '-']) {
            self.at += 1;
            self.take(|letter| letter.is_ascii_digit());
        }
        let digits = self.text.get(start..self.at).unwrap_or_default();
        if digits.ends_with(['u', 'U']) {
            return Err(NotCel::at(start, "numbers are written without `u` here"));
        }
        if digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return digits.parse().map(Token::Whole).map_err(|_| wrong());
        }
        // What Rust reads beyond CEL: a point without digits after it.
        let plain = digits.ends_with(|letter: char| letter.is_ascii_digit()) && !digits.contains(".e");
        match digits.parse::<f64>() {
            Ok(fraction) if plain && fraction.is_finite() => Ok(Token::Fraction(fraction)),
            Ok(_) | Err(_) => Err(wrong()),
        }
    }

    fn quoted(&mut self, raw: bool) -> Result<Token, NotCel> {
        let start = self.at;
        let mut letters = self.rest().char_indices();
        let quote = letters.next().map_or('\'', |(_, letter)| letter);
        if self.rest().starts_with("'''") || self.rest().starts_with("\"\"\"") {
            return Err(NotCel::at(start, "texts stand in one pair of quotes, not in three"));
        }
        let mut text = String::new();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\n' | '\r' => break,
                _ if letter == quote => {
                    self.at = start + at + 1;
                    return Ok(Token::Text(text));
                }
                '\\' if !raw => {
                    let escaped = escape(&mut letters).ok_or_else(|| {
                        NotCel::at(start + at, "this is no escape; a backslash is written `\\\\`")
                    })?;
                    text.push(escaped);
                }
                _ => text.push(letter),
            }
        }
        Err(NotCel::at(start, "this text has no end; close its quotes"))
    }
}

/// What stands after a backslash.
fn escape(letters: &mut CharIndices<'_>) -> Option<char> {
    let (_, letter) = letters.next()?;
    match letter {
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\u{b}'),
        '\\' | '?' | '"' | '\'' | '`' => Some(letter),
        'x' | 'X' => numbered(letters, 2, 16, 0),
        'u' => numbered(letters, 4, 16, 0),
        'U' => numbered(letters, 8, 16, 0),
        '0'..='3' => numbered(letters, 2, 8, letter.to_digit(8)?),
        _ => None,
    }
}

/// The character whose number has so many more digits.
fn numbered(letters: &mut CharIndices<'_>, digits: usize, radix: u32, first: u32) -> Option<char> {
    let number = (0..digits).try_fold(first, |number, _| {
        let digit = letters.next()?.1.to_digit(radix)?;
        number.checked_mul(radix)?.checked_add(digit)
    })?;
    char::from_u32(number)
}
