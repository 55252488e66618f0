//! The filters and tests that a template names. The engine looks them up only when it gets there; a registration should
//! hear of a misspelt one at once.

/// A filter (`value|name`) or a test (`value is name`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Filter,
    Test,
}

impl Sort {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Test => "test",
        }
    }
}

/// One use of a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) sort: Sort,
    pub(super) name: String,
    pub(super) line: usize,
}

/// Every filter and test in a template whose syntax is sound.
pub(super) fn used(template: &str) -> Vec<Used> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Code::Value(code, after) | Code::Statement(code, after) = next_code(rest) {
        let line = 1 + template[..template.len() - rest.len()].matches('\n').count();
        let line = line + rest[..rest.len() - after.len()].matches('\n').count() - code.matches('\n').count();
        names_in(code, line, &mut found);
        rest = after;
    }
    found
}

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
                return closed(body, "}}")
                    .map_or(Code::Open(&text[start..]), |(code, after)| Code::Value(code, after));
            }
            Some(b'%') => {
                return closed(body, "%}")
                    .map_or(Code::Open(&text[start..]), |(code, after)| Code::Statement(code, after));
            }
            _ => text = &text[start + 1..],
        }
    }
}

/// The code before `end`, which does not count inside quotes or, for `}}`, inside an object literal.
fn closed<'a>(body: &'a str, end: &str) -> Option<(&'a str, &'a str)> {
    let mut quote = None;
    let mut depth = 0_usize;
    let mut escaped = false;
    for (index, character) in body.char_indices() {
        match (quote, character) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, _) if depth == 0 && body[index..].starts_with(end) => {
                return Some((&body[..index], &body[index + end.len()..]));
            }
            (None, '{') => depth += 1,
            (None, '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn names_in(code: &str, first_line: usize, found: &mut Vec<Used>) {
    let words = words(code);
    for (index, (offset, word)) in words.iter().enumerate() {
        let follows = |step: usize| words.get(index + step).map(|(_, word)| *word);
        let (sort, name) = match *word {
            "|" => (Sort::Filter, follows(1)),
            // `result.is` is a member.
            "is" if index > 0 && words[index - 1].1 == "." => continue,
            "is" if follows(1) == Some("not") => (Sort::Test, follows(2)),
            "is" => (Sort::Test, follows(1)),
            _ => continue,
        };
        if let Some(name) = name
            && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        {
            let line = first_line + code[..*offset].matches('\n').count();
            found.push(Used { sort, name: name.to_owned(), line });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_and_tests_are_found_where_they_stand() {
        for (template, expected) in [
            ("{{ result.a|upper }}", vec!["1 filter upper"]),
            ("{{ a | default('x | y') | lower }}", vec!["1 filter default", "1 filter lower"]),
            ("{# {{ a|no }} #}\n{{ b|yes }}", vec!["2 filter yes"]),
            ("{% if a is not defined and\n b is odd %}x{% endif %}", vec!["1 test defined", "2 test odd"]),
            ("{%- if upper|lower -%}x{% endif %}", vec!["1 filter lower"]),
            ("{{ {'a': {'b': 1}}|tojson }} }}", vec!["1 filter tojson"]),
            ("{{ result.is if result.is is string }}", vec!["1 test string"]),
            ("plain { text } | no", vec![]),
            ("{{ unclosed|x", vec![]),
        ] {
            let found: Vec<String> = used(template)
                .iter()
                .map(|used| format!("{} {} {}", used.line, used.sort.word(), used.name))
                .collect();
            assert_eq!(found, expected, "{template}");
        }
    }
}
