//! Reading definitions out of a file's text: JSON or YAML, one definition or several.

use std::path::Path;

use serde_json::Value;
use serde_saphyr::Error as YamlError;
use serde_saphyr::budget::BudgetBreach;
use toolrail_core::{Problem, repeated_key};

use super::registry_tools;

/// One definition found in a file.
#[derive(Clone, Debug)]
pub struct ReadDocument {
    /// JSON pointer from the root of the file to the definition; empty for the only one.
    pub pointer: String,
    /// The definition.
    pub value: Value,
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FileFault {
    /// What is wrong and what to do about it.
    pub message: String,
    /// Line and column, where the parser knows them.
    pub place: Option<(u32, u32)>,
}

impl From<String> for FileFault {
    fn from(message: String) -> Self {
        Self { message, place: None }
    }
}

/// Reads the definitions in `text`: one object, a list of them, `{"tools": […]}`, several YAML documents, or the catalogue
/// of RegistryTools. The error says what is wrong and, where the parser knows it, in which line and column.
pub fn read_documents(path: &Path, text: &str) -> Result<Vec<ReadDocument>, FileFault> {
    // Editors of Windows write it; to JSON it would be a fault.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let roots: Vec<Value> = if is_json(path) {
        if let Some(Problem { pointer, message, .. }) = repeated_key(text.as_bytes()) {
            return Err(FileFault::from(format!("{pointer} {message}")));
        }
        vec![serde_json::from_str(text).map_err(|error| FileFault {
            place: place(error.line() as u64, error.column() as u64),
            message: format!("not valid JSON: {}", json_fault(&error)),
        })?]
    } else {
        read_yaml(text)?
    };
    let several = roots.len() > 1;
    let mut found = Vec::new();
    for (index, root) in roots.into_iter().enumerate() {
        let base = if several { format!("/{index}") } else { String::new() };
        collect(root, &base, &mut found);
    }
    Ok(found)
}

/// The documents in a YAML text. How much may be in it grows with its length, which whoever read it has bounded; what
/// aliases make of it does not.
pub fn read_yaml(text: &str) -> Result<Vec<Value>, FileFault> {
    let budget = serde_saphyr::budget! {
        max_nodes: text.len().max(250_000),
        max_events: text.len().saturating_mul(3).max(1_000_000),
        max_documents: (text.len() / 4).max(1_024),
        max_total_scalar_bytes: text.len().max(64 * 1024 * 1024),
    };
    let options = serde_saphyr::options! { budget: budget };
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| FileFault {
        place: error.location().and_then(|at| place(at.line(), at.column())),
        message: match too_much(error.without_snippet()) {
            Some(message) => message.to_owned(),
            None => format!("not valid YAML: {}", yaml_fault(&error.to_string(), text)),
        },
    })
}

/// What to say of a text that asks for more than is read.
fn too_much(error: &YamlError) -> Option<&'static str> {
    match error {
        YamlError::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            Some("is nested too deeply to be read; make it flatter")
        }
        YamlError::Budget { .. } => {
            Some("has more in it than is read; use fewer anchors and aliases, or split it")
        }
        YamlError::AliasReplayCounterOverflow { .. }
        | YamlError::AliasReplayLimitExceeded { .. }
        | YamlError::AliasExpansionLimitExceeded { .. }
        | YamlError::AliasReplayStackDepthExceeded { .. } => {
            Some("becomes too large when its aliases are followed; write out what they stand for")
        }
        YamlError::AliasError { error, .. } => too_much(error),
        _ => None,
    }
}

/// Whether the file is read as JSON; anything else is YAML.
pub(super) fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Parsers say 0 where they do not know.
fn place(line: u64, column: u64) -> Option<(u32, u32)> {
    let line = u32::try_from(line).ok().filter(|line| *line > 0)?;
    Some((line, u32::try_from(column).ok()?.max(1)))
}

fn collect(root: Value, base: &str, found: &mut Vec<ReadDocument>) {
    match root {
        Value::Null => {}
        Value::Array(items) => {
            found.extend(
                items
                    .into_iter()
                    .enumerate()
                    .map(|(index, value)| ReadDocument { pointer: format!("{base}/{index}"), value }),
            );
        }
        Value::Object(mut members)
            if members.get("tools").is_some_and(Value::is_array)
                && members.keys().all(|key| matches!(key.as_str(), "tools" | "$schema")) =>
        {
            if let Some(tools) = members.shift_remove("tools") {
                collect(tools, &format!("{base}/tools"), found);
            }
        }
        Value::Object(members) if registry_tools::is_catalogue(&members) => {
            found.extend(members.into_iter().map(|(name, tool)| ReadDocument {
                pointer: format!("{base}/{}", name.replace('~', "~0").replace('/', "~1")),
                value: registry_tools::definition(tool),
            }));
        }
        value => found.push(ReadDocument { pointer: base.to_owned(), value }),
    }
}

/// The parser's words without the place, which stands before the message.
fn json_fault(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let words = error.to_string();
    words.strip_suffix(&place).unwrap_or(&words).to_owned()
}

/// The parser's words, in one line, without the place and its advice to programmers, and with ours where a template was not
/// quoted.
fn yaml_fault(message: &str, text: &str) -> String {
    // It draws a picture of the place below its message; a log line has no room for it.
    let line = message.lines().next().unwrap_or(message).trim();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let fault = line.split(", set DuplicateKeyPolicy").next().unwrap_or(line);
    let words = match fault.split_once(": ") {
        Some((place, words)) if place.starts_with("line ") => words,
        _ => fault,
    };
    // What it says to whoever wrote the program that reads.
    let words =
        if words.contains("Option<") { "a key is missing or null; a key must be a text" } else { words };
    match unquoted_template(fault, text) {
        Some(template) => format!("{words}; quote templates: \"{template}\""),
        None => words.to_owned(),
    }
}

/// The template at the place that the fault names: to YAML, `{{` opens a map in a map.
fn unquoted_template<'t>(fault: &str, text: &'t str) -> Option<&'t str> {
    let (line, rest) = fault.strip_prefix("line ")?.split_once(" column ")?;
    let column: usize = rest.split(':').next()?.parse().ok()?;
    let written = text.lines().nth(line.parse::<usize>().ok()?.checked_sub(1)?)?;
    // The parser stops at the second brace.
    let (start, _) = written.char_indices().nth(column.checked_sub(2)?)?;
    let template = written[start..].strip_prefix("{{")?;
    Some(&written[start..start + 2 + template.find("}}")? + 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, text: &str, expected: &[(&str, &str)]) {
        let found = read_documents(Path::new(file), text).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|document| (document.pointer.as_str(), document.value["name"].as_str().unwrap()))
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn a_file_holds_one_definition_or_several() {
        check("a.yaml", "name: a\n", &[("", "a")]);
        check("a.yml", "- name: a\n- name: b\n", &[("/0", "a"), ("/1", "b")]);
        check("a.yaml", "tools:\n  - name: a\n", &[("/tools/0", "a")]);
        check("a.yaml", "name: a\n---\nname: b\n", &[("/0", "a"), ("/1", "b")]);
        check("a.yaml", "$schema: x\ntools: [{name: a}]\n", &[("/tools/0", "a")]);
        check("a.json", "{\"name\": \"a\"}", &[("", "a")]);
        check("a.json", "{\"tools\": [{\"name\": \"a\"}]}", &[("/tools/0", "a")]);
    }

    #[test]
    fn a_large_file_is_read_whole_and_a_bomb_is_told_in_plain_words() {
        // More nodes than the parser takes unless told.
        let large = "- [1, 2, 3, 4, 5, 6, 7, 8, 9]\n".repeat(26_000);
        assert_eq!(read_documents(Path::new("a.yaml"), &large).unwrap().len(), 26_000);
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..9 {
            let inner = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb = [bomb, format!("a{level}: &a{level} [{inner}]\n")].concat();
        }
        let error = read_documents(Path::new("a.yaml"), &bomb).unwrap_err().message;
        let plain = ["becomes too large", "has more in it than is read"];
        assert!(plain.iter().any(|words| error.starts_with(words)), "{error}");
    }

    #[test]
    fn a_mark_at_the_start_of_a_text_is_no_part_of_it() {
        check("a.json", "\u{feff}{\"name\": \"a\"}", &[("", "a")]);
        check("a.yaml", "\u{feff}name: a\n", &[("", "a")]);
    }

    #[test]
    fn a_broken_file_is_told_with_its_line() {
        let error = read_documents(Path::new("a.json"), "{\n  \"name\": }").unwrap_err();
        assert_eq!(error.place.map(|(line, _)| line), Some(2));
        assert_eq!(error.message, "not valid JSON: expected value");
        let error = read_documents(Path::new("a.yaml"), "name: a\nhttp: [1, 2\nurl: x\n").unwrap_err();
        assert_eq!(error.place.map(|(line, _)| line), Some(3));
        let error = error.message;
        assert!(error.starts_with("not valid YAML: ") && !error.contains("line 3"), "{error}");
    }

    #[test]
    fn faults_of_yaml_are_told_in_words_for_its_author() {
        let cases = [
            ("a: 1\na: 2\n", "not valid YAML: duplicate mapping key: a"),
            (
                "城: 1\nq: {c: {{args.城}}/x}\n",
                "not valid YAML: expected string scalar; quote templates: \"{{args.城}}\"",
            ),
            ("a: {{ args.b", "not valid YAML: "),
            (": [", "not valid YAML: "),
            ("null: 3", "not valid YAML: a key is missing or null; a key must be a text"),
        ];
        for (text, expected) in cases {
            let error = read_documents(Path::new("a.yaml"), text).unwrap_err().message;
            assert!(error.starts_with(expected) && !error.contains("Option<"), "{error}");
        }
    }
}
