//! Looks into an expression before it is compiled: which arguments and secrets it names, and whether it uses only what
//! is there. The expression engine itself would find an unknown filter no sooner than in a call.

use toolrail_core::{did_you_mean, did_you_mean_written};

/// The filters there are.
const FILTERS: &[&str] = &[
    "default",
    "upper",
    "lower",
    "capitalize",
    "title",
    "trim",
    "replace",
    "split",
    "join",
    "string",
    "int",
    "float",
    "bool",
    "round",
    "abs",
    "length",
    "first",
    "last",
    "min",
    "max",
    "sum",
    "sort",
    "unique",
    "reverse",
    "list",
    "tojson",
    "urlencode",
    "b64encode",
    "b64decode",
];

/// The tests (`is …`) there are.
const TESTS: &[&str] = &[
    "defined",
    "undefined",
    "none",
    "true",
    "false",
    "string",
    "number",
    "integer",
    "float",
    "boolean",
    "mapping",
    "sequence",
    "iterable",
    "odd",
    "even",
    "startingwith",
    "endingwith",
    "in",
];

/// What an expression refers to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct References {
    /// The arguments it names, by the first step after `args`.
    pub(super) arguments: Vec<String>,
    /// Whether it takes all arguments together.
    pub(super) all_arguments: bool,
    /// The secrets it names.
    pub(super) secrets: Vec<String>,
    /// The variables it names.
    pub(super) variables: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum TemplateToken<'s> {
    Word(&'s str),
    Text(String),
    Number,
    Sign(char),
}

const KEYWORDS: &[&str] =
    &["if", "else", "and", "or", "not", "in", "is", "true", "false", "none", "True", "False", "None"];

/// The engine goes as deep as the expression does, and every filter may multiply what it is given.
const DEEPEST: usize = 32;
const MOST_FILTERS: usize = 10;
const MOST_OPERATORS: usize = 60;

/// Finds what `source` refers to; a fault comes back in words for the user.
pub(super) fn inspect(source: &str) -> Result<References, String> {
    let tokens = tokens(source);
    check_extent(&tokens)?;
    let mut references = References::default();
    for at in 0..tokens.len() {
        match &tokens[at] {
            TemplateToken::Sign('~') => {
                return Err(
                    "\"~\" is not supported; write the parts side by side, as in {{args.a}}-{{args.b}}"
                        .into(),
                );
            }
            TemplateToken::Sign('(') if calls_a_value(&tokens, at) => {
                return Err(
                    "calling a method is not supported; use a filter, as in {{args.name|upper}}".into()
                );
            }
            TemplateToken::Word(word) => inspect_word(&tokens, at, word, &mut references)?,
            _ => {}
        }
    }
    Ok(references)
}

fn check_extent(tokens: &[TemplateToken<'_>]) -> Result<(), String> {
    let (mut depth, mut filters, mut operators) = (0_usize, 0, 0);
    for token in tokens {
        match token {
            TemplateToken::Sign('(' | '[' | '{') => depth += 1,
            TemplateToken::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            TemplateToken::Sign('|') => filters += 1,
            TemplateToken::Sign('+' | '-' | '*' | '/' | '%')
            | TemplateToken::Word("not" | "and" | "or" | "if") => {
                operators += 1;
            }
            _ => {}
        }
        if depth > DEEPEST {
            return Err(format!("brackets are nested deeper than {DEEPEST}; use fewer"));
        }
    }
    if filters > MOST_FILTERS {
        return Err(format!(
            "it has {filters} filters, more than the {MOST_FILTERS} that are allowed; use fewer"
        ));
    }
    if operators > MOST_OPERATORS {
        return Err(format!(
            "it has {operators} operators, more than the {MOST_OPERATORS} that are allowed; use fewer"
        ));
    }
    Ok(())
}

fn inspect_word(
    tokens: &[TemplateToken<'_>],
    at: usize,
    word: &str,
    references: &mut References,
) -> Result<(), String> {
    let before = |steps: usize| at.checked_sub(steps).map(|index| &tokens[index]);
    if before(1) == Some(&TemplateToken::Sign('.')) {
        return Ok(());
    }
    if before(1) == Some(&TemplateToken::Sign('|')) {
        return known("filter", word, FILTERS);
    }
    let after_is = before(1) == Some(&TemplateToken::Word("is"))
        || (before(1) == Some(&TemplateToken::Word("not")) && before(2) == Some(&TemplateToken::Word("is")));
    if after_is && word != "not" {
        return known("test", word, TESTS);
    }
    let named_parameter = tokens.get(at + 1) == Some(&TemplateToken::Sign('='))
        && tokens.get(at + 2) != Some(&TemplateToken::Sign('='));
    if KEYWORDS.contains(&word) || named_parameter {
        return Ok(());
    }
    let step = first_step(&tokens[at + 1..]);
    match (word, step) {
        ("args", Some(name)) => add(&mut references.arguments, name),
        ("args", None) => references.all_arguments = true,
        ("secrets", Some(key)) => add(&mut references.secrets, key),
        ("secrets", None) => return Err("name the secret itself, as in {{secrets.KEY}}".into()),
        ("vars", Some(name)) => add(&mut references.variables, name),
        ("vars", None) => return Err("name the variable itself, as in {{vars.NAME}}".into()),
        _ if before(1) == Some(&TemplateToken::Sign('-')) => {
            return Err(format!(
                "{word:?} is unknown; only args, secrets and vars exist, and a name with - is written args['a-b']"
            ));
        }
        _ => return Err(unknown_root(word, step)),
    }
    Ok(())
}

fn unknown_root(word: &str, step: Option<&str>) -> String {
    let Some(step) = step else {
        return format!(
            "{word:?} is unknown; only args, secrets and vars exist; did you mean {{{{{}}}}}?",
            path("args", word)
        );
    };
    let written = |root: &str| format!("{{{{{}}}}}", path(root, step));
    let hint = did_you_mean_written(word, ["args", "secrets", "vars"], written).unwrap_or_else(|| {
        let [args, secrets, vars] = ["args", "secrets", "vars"].map(written);
        format!("only args, secrets and vars exist, as in {args}, {secrets} or {vars}")
    });
    format!("{word:?} is unknown; {hint}")
}

/// A step after a root as it is written.
fn path(root: &str, step: &str) -> String {
    if step.chars().all(|c| c.is_alphanumeric() || c == '_') {
        format!("{root}.{step}")
    } else {
        format!("{root}['{step}']")
    }
}

fn add(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

fn known(what: &str, name: &str, names: &[&str]) -> Result<(), String> {
    if names.contains(&name) {
        return Ok(());
    }
    let hint = did_you_mean(name, names.iter().copied())
        .unwrap_or_else(|| format!("there are {}", names.join(", ")));
    Err(format!("the {what} {name:?} does not exist; {hint}"))
}

/// `.name` or `['name']` right after a root.
fn first_step<'t>(after: &'t [TemplateToken<'_>]) -> Option<&'t str> {
    match after {
        [TemplateToken::Sign('.'), TemplateToken::Word(name), ..] => Some(name),
        [TemplateToken::Sign('['), TemplateToken::Text(name), TemplateToken::Sign(']'), ..] => Some(name),
        _ => None,
    }
}

/// Whether the parenthesis at `at` calls what stands before it, rather than group or pass parameters to a filter.
fn calls_a_value(tokens: &[TemplateToken<'_>], at: usize) -> bool {
    let before = |steps: usize| at.checked_sub(steps).map(|index| &tokens[index]);
    match before(1) {
        Some(TemplateToken::Sign(']' | ')') | TemplateToken::Text(_)) => true,
        Some(TemplateToken::Word(_)) => before(2) == Some(&TemplateToken::Sign('.')),
        _ => false,
    }
}

fn tokens(source: &str) -> Vec<TemplateToken<'_>> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' || first == '\'' {
            let (text, length) = quoted(rest, first);
            tokens.push(TemplateToken::Text(text));
            length
        } else if first.is_ascii_digit() {
            tokens.push(TemplateToken::Number);
            run(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
        } else if first.is_alphabetic() || first == '_' {
            let length = run(rest, |c| c.is_alphanumeric() || c == '_');
            tokens.push(TemplateToken::Word(&rest[..length]));
            length
        } else {
            tokens.push(TemplateToken::Sign(first));
            first.len_utf8()
        };
        rest = rest[length..].trim_start();
    }
    tokens
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// A quoted text and its length with the quotes; an open end is left to the engine to complain about.
fn quoted(source: &str, quote: char) -> (String, usize) {
    let mut text = String::new();
    let mut escaped = false;
    for (index, character) in source.char_indices().skip(1) {
        match character {
            '\\' if !escaped => escaped = true,
            end if end == quote && !escaped => return (text, index + 1),
            other => {
                text.push(other);
                escaped = false;
            }
        }
    }
    (text, source.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_secrets_are_found() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("args.city|upper", &["city"], &[]),
            ("args['a-b'].c|default(args.d)", &["a-b", "d"], &[]),
            ("args.x if args.y is defined else secrets.K", &["x", "y"], &["K"]),
            ("args.x is not none and args.x == 'secrets.Z'", &["x"], &[]),
            ("[args.a, 1.5, args.b[0]]|join(',')", &["a", "b"], &[]),
            ("(args.n + 1) * 2", &["n"], &[]),
            ("args.x|default(value=3)", &["x"], &[]),
        ];
        for (source, arguments, secrets) in cases {
            let references = inspect(source).unwrap();
            assert_eq!(references.arguments, *arguments, "{source}");
            assert_eq!(references.secrets, *secrets, "{source}");
            assert!(!references.all_arguments, "{source}");
        }
        assert!(inspect("args|tojson").unwrap().all_arguments);
        assert!(inspect("args[args.key]|upper").unwrap().all_arguments);
    }

    #[test]
    fn an_expression_that_goes_too_far_is_not_even_parsed() {
        for (source, words) in [
            (format!("{}1{}", "(".repeat(33), ")".repeat(33)), "nested deeper than 32"),
            (format!("{}1{}", "[".repeat(200), "]".repeat(200)), "nested deeper than 32"),
            (format!("args.a{}", "|upper".repeat(11)), "has 11 filters"),
            (format!("{}1", "-".repeat(400)), "has 400 operators"),
            (format!("{}1", "not ".repeat(100)), "has 100 operators"),
            (format!("{}1", "1 if 0 else ".repeat(40)), ""),
        ] {
            match inspect(&source) {
                Err(fault) => assert!(!words.is_empty() && fault.contains(words), "{source}: {fault}"),
                Ok(_) => assert!(words.is_empty(), "{source}"),
            }
        }
    }

    #[test]
    fn what_does_not_exist_is_told_before_any_call() {
        let cases = [
            ("args.x|uper", "did you mean \"upper\""),
            ("args.x|frobnicate", "there are"),
            ("args.x is definedd", "did you mean \"defined\""),
            (
                "env.HOME",
                "only args, secrets and vars exist, as in {{args.HOME}}, {{secrets.HOME}} or {{vars.HOME}}",
            ),
            ("arg.city", "did you mean {{args.city}}?"),
            ("arg['a-b']|upper", "did you mean {{args['a-b']}}?"),
            ("secret.KEY", "did you mean {{secrets.KEY}}?"),
            ("city", "did you mean {{args.city}}?"),
            ("range(9)", "only args, secrets and vars exist"),
            ("args.a-b", "args['a-b']"),
            ("args.x.upper()", "use a filter"),
            ("args['x']()", "use a filter"),
            ("args.a ~ 'b'", "side by side"),
            ("secrets", "name the secret"),
            ("secrets[args.which]", "name the secret"),
            ("var.BASE", "did you mean {{vars.BASE}}?"),
            ("vars", "name the variable"),
        ];
        for (source, words) in cases {
            let fault = inspect(source).unwrap_err();
            assert!(fault.contains(words), "{source}: {fault}");
        }
    }
}
