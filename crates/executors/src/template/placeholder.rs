//! Single-brace placeholders (`{city}`, `${city}`, `{args.city}`) in texts that are sent as written: other tools fill them
//! in, so whoever writes one here most likely expects the same. JSON, GraphQL and the like have braces of their own.

/// Each placeholder that was most likely meant as a template, and the expression that was meant.
pub(super) fn meant_as_templates<'t>(text: &'t str, declared: &[&str]) -> Vec<(&'t str, String)> {
    let placeholders = placeholders(text);
    let braces: usize = placeholders.iter().map(|found| found.matches(['{', '}']).count()).sum();
    let has_other_braces = text.matches(['{', '}']).count() > braces;
    placeholders
        .into_iter()
        .filter_map(|found| {
            let name = found.trim_start_matches(['$', '{']).trim_end_matches('}').trim();
            let rooted = ["args.", "secrets.", "vars."].iter().any(|root| name.starts_with(root));
            if rooted {
                return Some((found, name.to_owned()));
            }
            (declared.contains(&name) && !has_other_braces).then(|| (found, argument(name)))
        })
        .collect()
}

/// Every `{name}` and `${name}`.
fn placeholders(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find('{') {
        let open = at + offset;
        at = open + 1;
        let Some(length) = text[at..].find(['{', '}', '"', '\n']) else {
            break;
        };
        let close = at + length;
        if text[close..].starts_with('}') && is_path(text[at..close].trim()) {
            let start = if text[..open].ends_with('$') { open - 1 } else { open };
            found.push(&text[start..=close]);
            at = close + 1;
        }
    }
    found
}

fn is_path(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn argument(name: &str) -> String {
    if name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        format!("args.{name}")
    } else {
        format!("args['{name}']")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_of_an_argument_is_found_and_other_braces_are_not() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("{city}", &[("{city}", "args.city")]),
            ("a ${city} b { a-b }", &[("${city}", "args.city"), ("{ a-b }", "args['a-b']")]),
            ("{args.x} {secrets.K}", &[("{args.x}", "args.x"), ("{secrets.K}", "secrets.K")]),
            ("{\"q\": \"{args.x}\"}", &[("{args.x}", "args.x")]),
            ("{town}", &[]),
            ("{\"city\": 1}", &[]),
            ("query { user(id: 1) {city} }", &[]),
            (") {city} }", &[]),
            ("city {", &[]),
            ("{}", &[]),
            ("{é{city", &[]),
        ];
        for (text, expected) in cases {
            let found = meant_as_templates(text, &["city", "a-b"]);
            let found: Vec<_> = found.iter().map(|(found, meant)| (*found, meant.as_str())).collect();
            assert_eq!(found, *expected, "{text}");
        }
    }
}
