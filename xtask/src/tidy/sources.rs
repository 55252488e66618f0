//! Rules about the text of single files: how they open, how long they are, and what must not stand in them.

use std::path::Path;

use super::{Fault, TextFile};

/// A file that is longer than this, before its tests, is split by meaning.
const MOST_LINES: usize = 450;

/// Words that mean unfinished work; written in halves so that this file passes its own check.
const UNFINISHED: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];
const IGNORED_TEST: &str = concat!("#[", "ignore");
/// Notes that live beside the repository: a clone does not have them.
const OUTSIDE_NOTES: &str = concat!("../", "shared");

pub(super) fn check(file: &TextFile) -> Vec<Fault> {
    let mut faults = Vec::new();
    if is_generated(&file.path) {
        return faults;
    }
    if is_rust(&file.path) {
        check_opening(file, &mut faults);
        check_length(file, &mut faults);
    }
    for (index, line) in file.text.lines().enumerate() {
        if let Some(text) = judge_line(&file.path, line) {
            faults.push(Fault { path: file.path.clone(), line: index + 1, text });
        }
    }
    faults
}

fn check_opening(file: &TextFile, faults: &mut Vec<Fault>) {
    if !file.text.starts_with("//!") {
        let text = "does not open with `//!`: say in one to three sentences what the file is for".to_owned();
        faults.push(Fault { path: file.path.clone(), line: 1, text });
    }
}

fn check_length(file: &TextFile, faults: &mut Vec<Fault>) {
    let is_test =
        file.path.components().any(|part| part.as_os_str() == "tests") || file.path.ends_with("tests.rs");
    let lines = file.text.lines().take_while(|line| *line != "#[cfg(test)]").count();
    if !is_test && lines > MOST_LINES {
        let text = format!("{lines} lines before the tests, at most {MOST_LINES}: split the file by meaning");
        faults.push(Fault { path: file.path.clone(), line: MOST_LINES + 1, text });
    }
}

fn judge_line(path: &Path, line: &str) -> Option<String> {
    if let Some(word) = UNFINISHED.iter().find(|word| has_word(line, word)) {
        return Some(format!("{word}: finish it, or open an issue and say here what holds today"));
    }
    if line.contains(OUTSIDE_NOTES) && !path.starts_with(".ci") {
        return Some(format!("mentions {OUTSIDE_NOTES}, which a clone does not have: say it here instead"));
    }
    if is_rust(path) {
        let code = line.trim_start();
        if code.starts_with(IGNORED_TEST) {
            return Some("an ignored test proves nothing: make it run everywhere or delete it".to_owned());
        }
        if is_attribute(code) && has_word(code, "allow") && code.contains("allow(") {
            return Some(
                "use `#[expect(…, reason = \"…\")]`, which complains when it is no longer needed".to_owned(),
            );
        }
    }
    None
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Lock files hold checksums, in which any word may turn up.
fn is_generated(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".lock") || name.ends_with("-lock.json")
}

fn is_attribute(code: &str) -> bool {
    code.starts_with("#[") || code.starts_with("#![")
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(path: &str, text: &str) -> Vec<String> {
        let file = TextFile { path: path.into(), text: text.to_owned() };
        check(&file).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn each_rule_names_the_line_and_what_to_do() {
        let unfinished = UNFINISHED[0];
        let cases = [
            ("a.rs", "use x;\n".to_owned(), "a.rs:1: does not open"),
            ("a.rs", format!("//! A.\n// {unfinished}: later\n"), "a.rs:2: "),
            ("a.md", format!("# A\n\n{unfinished}\n"), "a.md:3: "),
            ("a.rs", format!("//! A.\n{IGNORED_TEST}]\n"), "a.rs:2: an ignored test"),
            ("a.rs", format!("//! A.\n    {IGNORED_TEST} = \"slow\"]\n"), "a.rs:2: an ignored test"),
            ("a.rs", "//! A.\n#[allow(dead_code)]\n".to_owned(), "a.rs:2: use `#[expect"),
            ("a.rs", "//! A.\n#![cfg_attr(test, allow(dead_code))]\n".to_owned(), "a.rs:2: use `#[expect"),
            ("a.md", format!("see {OUTSIDE_NOTES}/x.md\n"), "a.md:1: mentions"),
            ("a.rs", format!("//! A.\n{}", "x\n".repeat(MOST_LINES)), "a.rs:451: 451 lines"),
        ];
        for (path, text, expected) in cases {
            let faults = faults_of(path, &text);
            assert_eq!(faults.len(), 1, "{expected}: {faults:?}");
            assert!(faults[0].starts_with(expected), "{expected}: {faults:?}");
        }
    }

    #[test]
    fn what_only_looks_like_a_fault_is_none() {
        let cases = [
            ("a.rs", "//! A.\nlet allow = allow(x);\n#[expect(dead_code, reason = \"b\")]\n".to_owned()),
            ("a.rs", format!("//! A.\n#[cfg(test)]\n{}", "x\n".repeat(MOST_LINES))),
            ("tests/it/a.rs", format!("//! A.\n{}", "x\n".repeat(MOST_LINES))),
            ("a.rs", format!("//! A.\nlet {}S = 1;\n", UNFINISHED[0])),
            ("Cargo.lock", UNFINISHED[0].to_owned()),
            (".ci/notes", format!("{OUTSIDE_NOTES}/x\n")),
        ];
        for (path, text) in cases {
            assert_eq!(faults_of(path, &text), Vec::<String>::new(), "{path}");
        }
    }
}
