//! URI templates (RFC 6570) read backwards: whether a URI can have come from a template, and with which variables. Where
//! several readings fit, earlier variables take as much as they can.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// Longer URIs match no template: the work grows with the length of both.
const LONGEST_URI: usize = 2 * 1024;
/// A template with more parts than this, or longer than a URI may be, is not looked into.
const MOST_PARTS: usize = 32;

/// A URI template.
pub(crate) struct UriTemplate {
    parts: Vec<Part>,
}

enum Part {
    Literal(Box<str>),
    /// One or more characters, without `/`, `?` and `#`.
    Segment(Box<str>),
    /// One or more characters of any sort.
    Anything(Box<str>),
    /// Pairs such as `?a=1&b=2`, each of which may be missing; the first character is that of the pair before `a`.
    Pairs(u8, Vec<Box<str>>),
    /// Whatever follows, of which we cannot tell the form.
    Rest,
}

impl UriTemplate {
    /// Reads a template. One that breaks the rules matches by the text before its first expression.
    pub(crate) fn parse(text: &str) -> Self {
        let parts = Some(text).filter(|text| text.len() <= LONGEST_URI).and_then(parts_of);
        let parts = parts.filter(|parts| parts.len() <= MOST_PARTS);
        Self { parts: parts.unwrap_or_else(|| prefix_of(text)) }
    }

    /// Whether the URI can have come from this template.
    pub(crate) fn matches(&self, uri: &str) -> bool {
        let begins = match self.parts.first() {
            Some(Part::Literal(text)) => uri.starts_with(&**text),
            _ => true,
        };
        begins && uri.len() <= LONGEST_URI && self.reach(uri).first().is_some_and(|first| first[0])
    }

    /// The variables of a URI that matches, decoded; none if it does not.
    pub(crate) fn variables(&self, uri: &str) -> Map<String, Value> {
        let mut found = Map::new();
        if uri.len() > LONGEST_URI {
            return found;
        }
        let bytes = uri.as_bytes();
        let reach = self.reach(uri);
        if !reach[0][0] {
            return found;
        }
        let mut at = 0;
        for (index, part) in self.parts.iter().enumerate() {
            let end = part.longest(bytes, at, &reach[index + 1]);
            if let Some(text) = uri.get(at..end) {
                part.take(text, &mut found);
            }
            at = end;
        }
        found
    }

    /// For each part, and one more: from which places of the URI the parts from there on match to the end.
    fn reach(&self, uri: &str) -> Vec<Vec<bool>> {
        let mut after = vec![false; uri.len() + 1];
        after[uri.len()] = true;
        let mut all = vec![after];
        for part in self.parts.iter().rev() {
            let mut starts = match all.last() {
                Some(after) => part.starts(uri.as_bytes(), after),
                None => Vec::new(),
            };
            // No part begins within a character.
            for (at, start) in starts.iter_mut().enumerate() {
                *start &= uri.is_char_boundary(at);
            }
            all.push(starts);
        }
        all.reverse();
        all
    }
}

impl Part {
    /// From where this part matches up to a place in `after`.
    fn starts(&self, uri: &[u8], after: &[bool]) -> Vec<bool> {
        let mut starts = vec![false; uri.len() + 1];
        // Whether characters that may be repeated lead from here to a good end.
        let mut repeated = false;
        for at in (0..=uri.len()).rev() {
            let byte = uri.get(at).copied();
            match self {
                Self::Literal(text) => {
                    starts[at] = uri[at..].starts_with(text.as_bytes()) && after[at + text.len()];
                }
                Self::Segment(_) | Self::Anything(_) => {
                    repeated = byte.is_some_and(|byte| self.may_have(byte)) && (repeated || after[at + 1]);
                    starts[at] = repeated;
                }
                Self::Pairs(lead, _) => {
                    starts[at] = after[at] || (byte == Some(*lead) && (repeated || after[at + 1]));
                    repeated = byte.is_some_and(|byte| self.may_have(byte)) && (repeated || after[at + 1]);
                }
                Self::Rest => starts[at] = true,
            }
        }
        starts
    }

    /// The farthest end of this part from `at`, among the good ones.
    fn longest(&self, uri: &[u8], at: usize, after: &[bool]) -> usize {
        match self {
            Self::Literal(text) => at + text.len(),
            Self::Rest => uri.len(),
            Self::Segment(_) | Self::Anything(_) | Self::Pairs(..) => {
                let run = uri[at..].iter().enumerate().take_while(|(index, byte)| {
                    self.may_have(**byte) || (*index == 0 && matches!(self, Self::Pairs(..)))
                });
                let length = run.count();
                (at..=at + length).rev().find(|end| after[*end]).unwrap_or(at)
            }
        }
    }

    fn may_have(&self, byte: u8) -> bool {
        match self {
            Self::Segment(_) | Self::Pairs(b';', _) => !b"/?#".contains(&byte),
            Self::Anything(_) | Self::Rest => true,
            Self::Pairs(..) => byte != b'#',
            Self::Literal(_) => false,
        }
    }

    /// Notes the variables of the text that this part took.
    fn take(&self, text: &str, found: &mut Map<String, Value>) {
        match self {
            Self::Literal(_) | Self::Rest => {}
            Self::Segment(name) | Self::Anything(name) => {
                found.insert(name.to_string(), decoded(text).into());
            }
            Self::Pairs(_, names) => {
                for pair in text.split(['?', '&', ';']).filter(|pair| !pair.is_empty()) {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    if names.iter().any(|known| **known == *name) {
                        found.insert(name.to_owned(), decoded(value).into());
                    }
                }
            }
        }
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn prefix_of(text: &str) -> Vec<Part> {
    let prefix = text.split('{').next().unwrap_or_default();
    // Without a prefix it would stand for every URI there is.
    if prefix.is_empty() {
        return vec![Part::Literal(text.into())];
    }
    vec![Part::Literal(prefix.into()), Part::Rest]
}

fn parts_of(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once('{') {
        push_literal(literal, &mut parts)?;
        let (expression, after) = after.split_once('}')?;
        push_expression(expression, &mut parts)?;
        rest = after;
    }
    push_literal(rest, &mut parts)?;
    Some(parts)
}

fn push_literal(text: &str, parts: &mut Vec<Part>) -> Option<()> {
    if text.contains('}') {
        return None;
    }
    if !text.is_empty() {
        parts.push(Part::Literal(text.into()));
    }
    Some(())
}

fn push_expression(expression: &str, parts: &mut Vec<Part>) -> Option<()> {
    let (operator, names) = match expression.bytes().next()? {
        operator @ (b'+' | b'#' | b'.' | b'/' | b';' | b'?' | b'&') => (operator, &expression[1..]),
        _ => (b' ', expression),
    };
    let variables: Vec<(&str, bool)> = names.split(',').map(variable).collect::<Option<_>>()?;
    if let b';' | b'?' | b'&' = operator {
        let names = variables.into_iter().map(|(name, _)| name.into()).collect();
        parts.push(Part::Pairs(operator, names));
        return Some(());
    }
    for (index, (name, exploded)) in variables.into_iter().enumerate() {
        let lead = match (operator, index) {
            (b'#', 0) => "#",
            (b'.', _) => ".",
            (b'/', _) => "/",
            (_, 0) => "",
            (_, _) => ",",
        };
        push_literal(lead, parts)?;
        let anything = exploded || matches!(operator, b'+' | b'#');
        parts.push(if anything { Part::Anything(name.into()) } else { Part::Segment(name.into()) });
    }
    Some(())
}

/// A variable's name, and whether it may spread over several segments.
fn variable(text: &str) -> Option<(&str, bool)> {
    let (name, exploded) = match text.strip_suffix('*') {
        Some(name) => (name, true),
        None => (text.split_once(':').map_or(text, |(name, _)| name), false),
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-%".contains(&byte);
    (!name.is_empty() && name.bytes().all(allowed)).then_some((name, exploded))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(template: &str, uri: &str, expected: Option<Value>) {
        let template = UriTemplate::parse(template);
        let found = template.matches(uri).then(|| Value::Object(template.variables(uri)));
        assert_eq!(found, expected, "{uri}");
    }

    #[test]
    fn a_variable_is_one_segment() {
        check("test://template/{id}/data", "test://template/12/data", Some(json!({"id": "12"})));
        check("test://template/{id}/data", "test://template/1/2/data", None);
        check("test://template/{id}/data", "test://template//data", None);
        check("docs://{page}", "docs://a%20b%2Fc", Some(json!({"page": "a b/c"})));
        check("docs://{page}", "docs://名", Some(json!({"page": "名"})));
        check("docs://{page}", "docs://a?b", None);
    }

    #[test]
    fn a_reserved_or_exploded_variable_is_anything() {
        check("file:///{+path}", "file:///a/b?c#d", Some(json!({"path": "a/b?c#d"})));
        check("file:///{path*}", "file:///a/b", Some(json!({"path": "a/b"})));
        check("x://{+a}/end", "x://1/end/2/end", Some(json!({"a": "1/end/2"})));
        check("x://h{#part}", "x://h#p", Some(json!({"part": "p"})));
        check("x://{+a}{+b}", "x://éè", Some(json!({"a": "é", "b": "è"})));
    }

    #[test]
    fn several_variables_share_a_text() {
        check("x://{a}-{b}", "x://1-2-3", Some(json!({"a": "1-2", "b": "3"})));
        check("x://{a,b}", "x://1,2", Some(json!({"a": "1", "b": "2"})));
        check("x:/{/a,b}", "x://1/2", Some(json!({"a": "1", "b": "2"})));
        check("x://f{.ext}", "x://f.txt", Some(json!({"ext": "txt"})));
        check("x://{a:3}", "x://abc", Some(json!({"a": "abc"})));
    }

    #[test]
    fn pairs_may_be_missing() {
        check("x://s{?q,n}", "x://s", Some(json!({})));
        check("x://s{?q,n}", "x://s?n=2&other=1&q=a%20b", Some(json!({"n": "2", "q": "a b"})));
        check("x://s?fixed=1{&q}", "x://s?fixed=1&q=2", Some(json!({"q": "2"})));
        check("x://s{;v}/t", "x://s;v=1/t", Some(json!({"v": "1"})));
        check("x://s{?q}", "x://sq=1", None);
    }

    #[test]
    fn a_template_that_breaks_the_rules_matches_by_its_prefix() {
        check("x://a/{b", "x://a/anything", Some(json!({})));
        check("x://a/{!b}", "x://b", None);
        check("{", "x://a", None);
        check("", "x://a", None);
    }

    #[test]
    fn many_variables_and_a_long_text_take_no_long_time() {
        let template = "{+a}{+b}{+c}{+d}{+e}{+f}{+g}{+h}!";
        check(template, &"x".repeat(LONGEST_URI), None);
        check("x://{a}", &format!("x://{}", "é".repeat(LONGEST_URI)), None);
        // Longer than anybody would write: matched by what stands before the first variable.
        let endless = format!("x://{}", "{a}".repeat(400_000));
        check(&endless, &format!("x://{}", "y".repeat(1_000)), Some(json!({})));
        check(&endless, "z://y", None);
    }
}
