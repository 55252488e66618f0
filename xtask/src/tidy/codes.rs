//! Codes of requirements stand in tests, and in the one document that explains them. Anywhere else they tell a reader nothing.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use regex::Regex;

use super::{Fault, REQUIREMENTS, TextFile, begin_of_tests};

/// What was written about earlier releases stays as it was.
const CHANGELOG: &str = "CHANGELOG.md";

/// In prose outside of tests. A letter with a single digit has other meanings too, so there it must stand as a reference does;
/// what follows a `%` is an encoded character.
const IN_PROSE: &str = r"(?x)
    \( [RC]\d{1,3} (?: (?: ,\s | \sto\s | \sand\s | – | - ) [RC]\d{1,3} )* \)
    | (?: ^ | [^%\w] ) (?:
        [RC]\d{1,3} (?: \sto\s | – ) [RC]\d{1,3} \b
        | (?: \d+\.\d+ | [RC]\d{1,3} ) \s of \s the \s requirements \b
        | [RC]\d{2,3} \b
    )";
/// A code in a comment of a test, or a whole row of them.
const IN_TEST_COMMENT: &str =
    r"(?:^|[^%\w])(?<letter>[RC])(?<first>\d{1,3})(?:(?:–| to )[RC](?<last>\d{1,3}))?\b";
/// A code at the beginning of what an assertion says.
const IN_TEST_MESSAGE: &str = r#""(?<letter>[RC])(?<first>\d{2,3})\b"#;
const TEST_NAME: &str = r"\bfn (?<name>\w+)";
const INDEX_ROW: &str = r"(?m)^\| (?<code>[RC]\d{1,3}) \|";

pub(super) fn check(files: &[TextFile]) -> Result<Vec<Fault>> {
    let patterns = Patterns::new()?;
    let explained = explained(files)?;
    let mut faults = Vec::new();
    let may_have_any =
        |file: &&TextFile| [REQUIREMENTS, CHANGELOG].iter().any(|path| file.path == Path::new(path));
    for file in files.iter().filter(|file| !may_have_any(file)) {
        let begin_of_tests = begin_of_tests(file);
        for (index, line) in file.text.lines().enumerate() {
            let text = if index < begin_of_tests {
                patterns.judge_product(&file.path, line)
            } else {
                patterns.judge_test(&file.path, line, &explained)
            };
            faults.extend(text.map(|text| Fault { path: file.path.clone(), line: index + 1, text }));
        }
    }
    Ok(faults)
}

struct Patterns {
    in_prose: Regex,
    in_test_comment: Regex,
    in_test_message: Regex,
    test_name: Regex,
}

impl Patterns {
    fn new() -> Result<Self> {
        Ok(Self {
            in_prose: Regex::new(IN_PROSE)?,
            in_test_comment: Regex::new(IN_TEST_COMMENT)?,
            in_test_message: Regex::new(IN_TEST_MESSAGE)?,
            test_name: Regex::new(TEST_NAME)?,
        })
    }

    fn judge_product(&self, path: &Path, line: &str) -> Option<String> {
        let found = self.in_prose.find(prose(path, line)?)?;
        let code = found.as_str().trim_matches(|character: char| !character.is_alphanumeric());
        Some(format!("names {code}, which tells a reader nothing: say in words what is meant, or drop it"))
    }

    fn judge_test(&self, path: &Path, line: &str, explained: &BTreeSet<String>) -> Option<String> {
        let codes = self.codes_of_test(path, line);
        let missing: Vec<&str> = codes.difference(explained).map(String::as_str).collect();
        (!missing.is_empty()).then(|| {
            let missing = missing.join(", ");
            format!("{missing} is not explained: add a row to {REQUIREMENTS}, with what is asked and the tests that show it")
        })
    }

    /// The codes in a comment, in the message of an assertion and in the name of a test (`r99_limits_are_kept`).
    fn codes_of_test(&self, path: &Path, line: &str) -> BTreeSet<String> {
        let comment = prose(path, line).unwrap_or_default();
        let in_message = self.in_test_message.captures_iter(line);
        let mut codes = BTreeSet::new();
        for found in self.in_test_comment.captures_iter(comment).chain(in_message) {
            let number = |name| found.name(name).and_then(|digits| digits.as_str().parse::<u16>().ok());
            let first = number("first").unwrap_or_default();
            let last = number("last").unwrap_or(first);
            codes.extend((first..=last).map(|number| format!("{}{number}", &found["letter"])));
        }
        if let Some(found) = self.test_name.captures(line) {
            codes.extend(found["name"].split('_').filter(|word| is_code(word)).map(str::to_uppercase));
        }
        codes
    }
}

fn explained(files: &[TextFile]) -> Result<BTreeSet<String>> {
    let row = Regex::new(INDEX_ROW)?;
    let text = files.iter().find(|file| file.path == Path::new(REQUIREMENTS)).map_or("", |file| &file.text);
    Ok(row.captures_iter(text).map(|found| found["code"].to_owned()).collect())
}

/// What of a line is for people: all of a document, the comment in anything else.
fn prose<'a>(path: &Path, line: &'a str) -> Option<&'a str> {
    let mark = match path.extension().and_then(|extension| extension.to_str()) {
        Some("md") => return Some(line),
        Some("rs" | "js" | "mjs" | "ts") => "//",
        Some("sql") => "--",
        Some("py" | "toml" | "txt" | "yaml" | "yml") | None => "#",
        Some(_) => return None,
    };
    let begins = |start: &usize| line[..*start].chars().next_back().is_none_or(char::is_whitespace);
    line.match_indices(mark).map(|(start, _)| start).find(begins).map(|start| &line[start..])
}

fn is_code(word: &str) -> bool {
    let number = word.strip_prefix(['r', 'c']).unwrap_or_default();
    (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands for the letter of a code, so that this file passes its own check.
    const LETTER: &str = "@";

    /// `rows` are the codes that the document explains.
    fn faults_of(rows: &[&str], path: &str, text: &str) -> Vec<String> {
        let written = |text: &str| text.replace(LETTER, "R");
        let rows: Vec<String> =
            rows.iter().map(|row| format!("| {} | A. | `a::b` |", written(row))).collect();
        let index = rows.join("\n");
        let file = |path: &str, text: String| TextFile { path: path.into(), text };
        let files = [file(REQUIREMENTS, index), file(path, written(text))];
        check(&files).unwrap().iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_code_outside_of_tests_is_a_fault() {
        let cases = [
            ("src/a.rs", "//! A (@81, @1).\n", "src/a.rs:1: names R81, R1,"),
            ("src/a.rs", "//! A.\n    /// B (@4).\n", "src/a.rs:2: names R4,"),
            ("src/a.rs", "//! A.\nlet a = 1; // as @60 says\n", "src/a.rs:2: names R60,"),
            ("src/a.rs", "//! A (@1 to @7 of the\n//! others).\n", "src/a.rs:1: names R1 to R7,"),
            ("src/a.rs", "//! A, 15.3 of the requirements.\n", "src/a.rs:1: names 15.3 of the requirements,"),
            ("src/a.rs", "//! A.\n#[cfg(test)]\nmod tests;\n/// @60\nfn a() {}\n", "src/a.rs:4: names R60,"),
            ("src/a.sql", "SELECT 1; -- @85–@88\n", "src/a.sql:1: names R85–R88,"),
            ("a.yaml", "a: 1\n# (@9)\n", "a.yaml:2: names R9,"),
            ("docs/a.md", "# A\n\nAs @118 asks.\n", "docs/a.md:3: names R118,"),
        ];
        for (path, text, expected) in cases {
            let faults = faults_of(&["@1", "@60"], path, text);
            assert_eq!(faults.len(), 1, "{expected}: {faults:?}");
            assert!(faults[0].starts_with(expected), "{expected}: {faults:?}");
        }
    }

    #[test]
    fn a_code_in_a_test_is_to_be_explained() {
        let cases = [
            ("src/a.rs", "//! A.\n#[cfg(test)]\nmod tests {\n    /// @3.\n", "src/a.rs:4: R3 is not"),
            ("src/a/tests.rs", "//! A (@60, @61).\n", "src/a/tests.rs:1: R61 is not"),
            ("tests/it/a.rs", "//! A (@59–@62).\n", "tests/it/a.rs:1: R59, R61, R62 is not"),
            ("tests/it/a.rs", "//! A.\nassert!(is_so, \"@63: {a}\");\n", "tests/it/a.rs:2: R63 is not"),
            ("tests/it/a.rs", "//! A.\nasync fn r99_limits_are_kept() {\n", "tests/it/a.rs:2: R99 is not"),
        ];
        for (path, text, expected) in cases {
            let faults = faults_of(&["@60"], path, text);
            assert_eq!(faults.len(), 1, "{expected}: {faults:?}");
            assert!(faults[0].starts_with(expected), "{expected}: {faults:?}");
            assert_eq!(faults_of(&["@3", "@59", "@60", "@61", "@62", "@63", "@99"], path, text), [""; 0]);
        }
    }

    #[test]
    fn what_only_looks_like_a_code_is_none() {
        let cases = [
            ("src/a.rs", "//! Control characters of C0 and C1, and @2.\nlet a = \"@60\";\n"),
            ("docs/a.md", "`?city=S%C3%A3o`, `%C311`, SHA@60 and @2D2\n"),
            ("src/a.json", "{\"a\": \"(@60)\"}\n"),
            ("a.toml", "a = \"b#(@60)\"\n"),
            (CHANGELOG, "- (@60)\n"),
            ("tests/it/a.rs", "//! A.\nlet cell = \"@3\";\nfn a_colour_of_r2d2() {}\n"),
        ];
        for (path, text) in cases {
            assert_eq!(faults_of(&[], path, text), [""; 0], "{path}");
        }
    }
}
