//! Finds the parts of a template text: what is sent as written, and the expressions between the braces.

/// Which braces hold an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Braces {
    /// `{{ … }}`, `${secrets.KEY}` and `${vars.NAME}`.
    Double,
    /// Those, and `{name}` for the argument of that name (Feign's path variables).
    Single,
}

/// One part of a template text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// Sent as written.
    Literal(&'t str),
    /// What stands between `{{` and `}}`, or between `${` and `}`.
    Expression(&'t str),
    /// What stands between single braces: the name of an argument.
    Argument(&'t str),
}

/// Splits `text`; a fault comes back in words for the user.
pub(crate) fn scan(text: &str, braces: Braces) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut literal_start = 0;
    let mut at = 0;
    while let Some(offset) = memchr::memchr2(b'{', b'$', &text.as_bytes()[at..]) {
        let open = at + offset;
        let Some((piece, end)) = piece_at(text, open, braces)? else {
            at = open + 1;
            continue;
        };
        if literal_start < open {
            pieces.push(Piece::Literal(&text[literal_start..open]));
        }
        pieces.push(piece);
        literal_start = end;
        at = end;
    }
    if literal_start < text.len() {
        pieces.push(Piece::Literal(&text[literal_start..]));
    }
    Ok(pieces)
}

fn piece_at(text: &str, open: usize, braces: Braces) -> Result<Option<(Piece<'_>, usize)>, String> {
    let rest = &text[open..];
    if let Some(inside) = rest.strip_prefix("{{") {
        let Some(length) = expression_length(inside) else {
            return Err(
                "\"{{\" is never closed; add \"}}\", or write {{ '{{' }} for the two characters themselves"
                    .into(),
            );
        };
        return Ok(Some((Piece::Expression(inside[..length].trim()), open + length + 4)));
    }
    if let Some(inside) = rest.strip_prefix("${") {
        return dollar(inside)
            .map(|found| found.map(|length| (Piece::Expression(&inside[..length]), open + length + 3)));
    }
    for (start, end, what) in [("{%", "%}", "statements"), ("{#", "#}", "comments")] {
        if rest.starts_with(start) && rest.contains(end) {
            return Err(format!(
                "{what} ({start} … {end}) are not supported here; write a conditional as {{{{ args.a if args.a else 'b' }}}}"
            ));
        }
    }
    match rest.strip_prefix('{') {
        Some(inside) if braces == Braces::Single => {
            single(inside).map(|length| Some((Piece::Argument(&inside[..length]), open + length + 2)))
        }
        _ => Ok(None),
    }
}

/// How far the expression reaches, up to the `}}` that is neither in a quoted text nor closes a map.
fn expression_length(inside: &str) -> Option<usize> {
    let bytes = inside.as_bytes();
    let mut quote = None;
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(_), b'\\') => at += 1,
            (Some(open), byte) if byte == open => quote = None,
            (None, byte @ (b'"' | b'\'')) => quote = Some(byte),
            (None, b'{') => depth += 1,
            (None, b'}') if depth > 0 => depth -= 1,
            (None, b'}') if bytes.get(at + 1) == Some(&b'}') => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of `secrets.KEY` or `vars.NAME` in `${…}`; any other `${…}` is literal text.
fn dollar(inside: &str) -> Result<Option<usize>, String> {
    if inside.starts_with("args.") {
        return Err(
            "arguments are written {{args.name}}; only ${secrets.KEY} and ${vars.NAME} have this form".into(),
        );
    }
    let roots = [("secrets.", "secret", "KEY"), ("vars.", "variable", "NAME")];
    let Some((root, what, name)) = roots.into_iter().find(|(root, ..)| inside.starts_with(root)) else {
        return Ok(None);
    };
    let is_key = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_');
    match inside.find('}') {
        Some(length) if is_key(&inside[root.len()..length]) => Ok(Some(length)),
        _ => Err(format!(
            "\"${{{root}\" must go on with the name of a {what} and \"}}\", as in ${{{root}{name}}}"
        )),
    }
}

fn single(inside: &str) -> Result<usize, String> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    match inside.find('}') {
        Some(length) if is_name(&inside[..length]) => Ok(length),
        Some(length) => Err(format!(
            "{{{}}} does not name an argument; write {{id}} or {{{{args.id}}}}",
            &inside[..length]
        )),
        None => Err("\"{\" is never closed; write {id} or {{args.id}}".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::Piece::{Argument, Expression, Literal};
    use super::*;

    #[test]
    fn text_is_split_into_literals_and_expressions() {
        let cases: &[(&str, &[Piece<'_>])] = &[
            ("", &[]),
            ("plain $5 {x}", &[Literal("plain $5 {x}")]),
            ("{{args.a}}", &[Expression("args.a")]),
            ("a{{ args.a }}b", &[Literal("a"), Expression("args.a"), Literal("b")]),
            ("{{a}}{{b}}", &[Expression("a"), Expression("b")]),
            ("Bearer ${secrets.KEY}", &[Literal("Bearer "), Expression("secrets.KEY")]),
            ("${vars.BASE}/x", &[Expression("vars.BASE"), Literal("/x")]),
            ("${HOME}", &[Literal("${HOME}")]),
            ("{{ '}}' }}!", &[Expression("'}}'"), Literal("!")]),
            ("{{ {'a': {'b': 1}} }}", &[Expression("{'a': {'b': 1}}")]),
            ("{{ \"\\\"}}\" }}", &[Expression("\"\\\"}}\"")]),
            ("城{{args.市}}", &[Literal("城"), Expression("args.市")]),
            ("{%20", &[Literal("{%20")]),
        ];
        for (text, pieces) in cases {
            assert_eq!(scan(text, Braces::Double).unwrap(), *pieces, "{text}");
        }
    }

    #[test]
    fn single_braces_name_an_argument_where_they_may_c11() {
        assert_eq!(
            scan("/users/{id}/{{args.x}}", Braces::Single).unwrap(),
            [Literal("/users/"), Argument("id"), Literal("/"), Expression("args.x")]
        );
    }

    #[test]
    fn faults_say_what_to_write() {
        let cases = [
            ("a {{args.a", Braces::Double, "never closed"),
            ("{{ 'a }}", Braces::Double, "never closed"),
            ("${secrets.}", Braces::Double, "${secrets.KEY}"),
            ("${secrets.KEY", Braces::Double, "${secrets.KEY}"),
            ("${vars.", Braces::Double, "${vars.NAME}"),
            ("${args.x}", Braces::Double, "{{args.name}}"),
            ("{% if args.a %}x{% endif %}", Braces::Double, "statements"),
            ("{# note #}", Braces::Double, "comments"),
            ("/a/{", Braces::Single, "never closed"),
            ("/a/{b c}", Braces::Single, "does not name an argument"),
        ];
        for (text, braces, words) in cases {
            let fault = scan(text, braces).unwrap_err();
            assert!(fault.contains(words), "{text}: {fault}");
        }
    }
}
