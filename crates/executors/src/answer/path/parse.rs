//! A JSONPath out of its text.

use super::ast::{Condition, Inner, Operand, PathComparison, PathPattern, Query, Segment, Selector};
use super::pattern;

/// A fault, and before which character.
pub(super) struct Wrong {
    pub(super) words: String,
    pub(super) at: usize,
}

type PathResult<T> = Result<T, Wrong>;

/// The largest index that every JSON parser keeps exact.
const LARGEST: i64 = (1 << 53) - 1;

pub(super) fn parse(written: &str) -> PathResult<Query> {
    let mut parser = PathParser { written, at: 0 };
    if !parser.skip("$") {
        return Err(parser.wrong("a path starts with $"));
    }
    let query = parser.segments()?;
    if parser.at < written.len() {
        return Err(parser.wrong("unexpected character"));
    }
    Ok(query)
}

struct PathParser<'w> {
    written: &'w str,
    at: usize,
}

impl PathParser<'_> {
    fn segments(&mut self) -> PathResult<Query> {
        let mut segments = Vec::new();
        loop {
            let before = self.at;
            self.space();
            let segment = if self.skip("..") {
                let selectors = if self.skip("[") { self.bracketed()? } else { vec![self.short()?] };
                Segment { descends: true, selectors }
            } else if self.skip(".") {
                Segment { descends: false, selectors: vec![self.short()?] }
            } else if self.skip("[") {
                Segment { descends: false, selectors: self.bracketed()? }
            } else {
                self.at = before;
                return Ok(Query { segments });
            };
            segments.push(segment);
        }
    }

    /// `*` or a name without quotes.
    fn short(&mut self) -> PathResult<Selector> {
        if self.skip("*") {
            return Ok(Selector::Every);
        }
        let named = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
        let rest = self.rest();
        let length = rest.find(|c| !named(c)).unwrap_or(rest.len());
        if length == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.wrong("a name or * must follow the dot; other names are written ['a-b']"));
        }
        let name = rest[..length].to_owned();
        self.at += length;
        Ok(Selector::Name(name))
    }

    fn bracketed(&mut self) -> PathResult<Vec<Selector>> {
        let mut selectors = Vec::new();
        loop {
            self.space();
            selectors.push(self.selector()?);
            self.space();
            if self.skip("]") {
                return Ok(selectors);
            }
            if !self.skip(",") {
                return Err(self.wrong("a comma or ] must follow"));
            }
        }
    }

    fn selector(&mut self) -> PathResult<Selector> {
        if self.skip("*") {
            return Ok(Selector::Every);
        }
        if self.skip("?") {
            self.space();
            return self.any().map(Selector::Filter);
        }
        if let Some(name) = self.quoted()? {
            return Ok(Selector::Name(name));
        }
        let start = self.index()?;
        self.space();
        if !self.skip(":") {
            return start
                .map(Selector::Index)
                .ok_or_else(|| self.wrong("a name, an index, a slice, * or ? must stand here"));
        }
        self.space();
        let end = self.index()?;
        self.space();
        let mut step = None;
        if self.skip(":") {
            self.space();
            step = self.index()?;
        }
        Ok(Selector::Slice { start, end, step: step.unwrap_or(1) })
    }

    fn index(&mut self) -> PathResult<Option<i64>> {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest[sign..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - sign);
        if digits == 0 {
            return if sign == 1 { Err(self.wrong("a number must follow -")) } else { Ok(None) };
        }
        let written = &rest[..sign + digits];
        let leading_zero = rest[sign..].starts_with('0') && (digits > 1 || sign == 1);
        match written.parse::<i64>().ok().filter(|index| index.abs() <= LARGEST && !leading_zero) {
            Some(index) => {
                self.at += written.len();
                Ok(Some(index))
            }
            None => Err(self.wrong("not an index")),
        }
    }

    fn any(&mut self) -> PathResult<Condition> {
        let mut parts = vec![self.all()?];
        while self.skip_after_space("||") {
            self.space();
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) })
    }

    fn all(&mut self) -> PathResult<Condition> {
        let mut parts = vec![self.basic()?];
        while self.skip_after_space("&&") {
            self.space();
            parts.push(self.basic()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) })
    }

    fn basic(&mut self) -> PathResult<Condition> {
        if self.skip("!") {
            self.space();
            let inner = self.basic()?;
            if matches!(inner, Condition::Compare(..)) {
                return Err(self.wrong("put what ! denies into brackets"));
            }
            return Ok(Condition::Not(Box::new(inner)));
        }
        if self.skip("(") {
            self.space();
            let inner = self.any()?;
            if !self.skip_after_space(")") {
                return Err(self.wrong("a bracket is not closed"));
            }
            // A comparison in brackets is no longer one that ! could not deny.
            return Ok(Condition::All(vec![inner]));
        }
        for (name, whole) in [("match", true), ("search", false)] {
            if self.starts_call(name) {
                return self.matches(name, whole);
            }
        }
        let left = self.operand()?;
        let before = self.at;
        self.space();
        if let Some(comparison) = self.comparison() {
            self.space();
            let right = self.operand()?;
            self.check_singular(&left)?;
            self.check_singular(&right)?;
            return Ok(Condition::Compare(left, comparison, right));
        }
        self.at = before;
        match left {
            Operand::Value(inner) => Ok(Condition::Exists(inner)),
            _ => Err(self.wrong("a comparison such as == must follow")),
        }
    }

    fn matches(&mut self, name: &str, whole: bool) -> PathResult<Condition> {
        self.at += name.len() + 1;
        self.space();
        let text = self.operand()?;
        self.check_singular(&text)?;
        if !self.skip_after_space(",") {
            return Err(self.wrong("a text and a pattern must stand here, as in match(@.name, 'a.*')"));
        }
        self.space();
        let before = self.at;
        let pattern = match self.operand()? {
            Operand::Text(written) => {
                let ready = pattern::compile(&written, whole);
                PathPattern::Ready(Box::new(ready.map_err(|words| Wrong { words, at: before })?))
            }
            other => {
                self.check_singular(&other)?;
                PathPattern::Found(other)
            }
        };
        self.close()?;
        Ok(Condition::Matches { text, pattern, whole })
    }

    fn operand(&mut self) -> PathResult<Operand> {
        if let Some(text) = self.quoted()? {
            return Ok(Operand::Text(text));
        }
        for (word, operand) in
            [("true", Operand::Bool(true)), ("false", Operand::Bool(false)), ("null", Operand::Null)]
        {
            let ends =
                |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '(');
            if self.rest().starts_with(word) && ends(&self.rest()[word.len()..]) {
                self.at += word.len();
                return Ok(operand);
            }
        }
        if let Some(inner) = self.inner()? {
            return Ok(Operand::Value(inner));
        }
        if self.starts_call("length") {
            self.at += "length(".len();
            self.space();
            let operand = self.operand()?;
            self.check_singular(&operand)?;
            self.close()?;
            return Ok(Operand::Length(Box::new(operand)));
        }
        for name in ["count", "value"] {
            if self.starts_call(name) {
                self.at += name.len() + 1;
                self.space();
                let inner = self.inner()?.ok_or_else(|| self.wrong("a path such as @.* must stand here"))?;
                self.close()?;
                return Ok(if name == "count" { Operand::Count(inner) } else { Operand::Value(one(inner)) });
            }
        }
        self.number().map(Operand::Number)
    }

    fn inner(&mut self) -> PathResult<Option<Inner>> {
        let from_root = self.rest().starts_with('$');
        if !self.skip("@") && !self.skip("$") {
            return Ok(None);
        }
        Ok(Some(Inner { from_root, query: self.segments()?, one: false }))
    }

    fn number(&mut self) -> PathResult<f64> {
        let rest = self.rest();
        let length =
            rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let written = &rest[..length];
        // What JSON has for a number, and nothing else.
        match serde_json::from_str::<f64>(written) {
            Ok(number) => {
                self.at += length;
                Ok(number)
            }
            Err(_) => Err(self.wrong("a path, a text, a number or a function must stand here")),
        }
    }

    fn comparison(&mut self) -> Option<PathComparison> {
        let signs = [
            ("==", PathComparison::Equal),
            ("!=", PathComparison::Unequal),
            ("<=", PathComparison::LessOrEqual),
            (">=", PathComparison::GreaterOrEqual),
            ("<", PathComparison::Less),
            (">", PathComparison::Greater),
        ];
        signs.into_iter().find(|(sign, _)| self.skip(sign)).map(|(_, comparison)| comparison)
    }

    fn check_singular(&self, operand: &Operand) -> PathResult<()> {
        match operand {
            Operand::Value(inner) if !inner.one && !inner.query.is_singular() => {
                Err(self
                    .wrong("only a path of names and indices has a value to compare; use value() or count()"))
            }
            _ => Ok(()),
        }
    }

    /// A text in quotes, if one begins here.
    fn quoted(&mut self) -> PathResult<Option<String>> {
        let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            return Ok(None);
        };
        let rest = self.rest();
        let mut out = String::new();
        let mut characters = rest.char_indices().skip(1);
        while let Some((index, character)) = characters.next() {
            match character {
                c if c == quote => {
                    self.at += index + 1;
                    return Ok(Some(out));
                }
                '\\' => match unescaped(&mut characters, quote) {
                    Some(character) => out.push(character),
                    None => return Err(Wrong { words: "not an escape".into(), at: self.at + index }),
                },
                c if c < ' ' => break,
                c => out.push(c),
            }
        }
        Err(self.wrong("a quote is not closed"))
    }

    fn starts_call(&self, name: &str) -> bool {
        self.rest().strip_prefix(name).is_some_and(|rest| rest.starts_with('('))
    }

    fn close(&mut self) -> PathResult<()> {
        if self.skip_after_space(")") { Ok(()) } else { Err(self.wrong("a function is not closed")) }
    }

    fn skip_after_space(&mut self, sign: &str) -> bool {
        let before = self.at;
        self.space();
        let found = self.skip(sign);
        if !found {
            self.at = before;
        }
        found
    }

    fn skip(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn rest(&self) -> &str {
        &self.written[self.at..]
    }

    fn wrong(&self, words: &str) -> Wrong {
        Wrong { words: words.to_owned(), at: self.at }
    }
}

fn one(inner: Inner) -> Inner {
    Inner { one: true, ..inner }
}

fn unescaped(characters: &mut impl Iterator<Item = (usize, char)>, quote: char) -> Option<char> {
    match characters.next()?.1 {
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        mark @ ('/' | '\\') => Some(mark),
        mark if mark == quote => Some(mark),
        'u' => {
            let first = unit(characters)?;
            if !(0xd800..0xdc00).contains(&first) {
                return char::from_u32(u32::from(first));
            }
            let follows = characters.next()?.1 == '\\' && characters.next()?.1 == 'u';
            let second = follows.then(|| unit(characters)).flatten()?;
            char::decode_utf16([first, second]).next()?.ok()
        }
        _ => None,
    }
}

fn unit(characters: &mut impl Iterator<Item = (usize, char)>) -> Option<u16> {
    let mut unit = 0;
    for _ in 0..4 {
        unit = unit * 16 + u16::try_from(characters.next()?.1.to_digit(16)?).ok()?;
    }
    Some(unit)
}
