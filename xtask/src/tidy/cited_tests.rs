//! Every test that the index of requirements cites is there: `` `store::rows_are_kept` `` is a function of that name among the
//! tests of `crates/store`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use regex::Regex;

use super::{Fault, REQUIREMENTS, TextFile, begin_of_tests};

const CITATION: &str = r"`(?<package>[a-z_-]+)::(?<name>\w+)`";
const FUNCTION: &str = r"\bfn (?<name>\w+)";

pub(super) fn check(files: &[TextFile]) -> Result<Vec<Fault>> {
    let Some(index) = files.iter().find(|file| file.path == Path::new(REQUIREMENTS)) else {
        return Ok(Vec::new());
    };
    let citation = Regex::new(CITATION)?;
    let tests = tests_of_all(files)?;
    let mut faults = Vec::new();
    for (line, text) in index.text.lines().enumerate() {
        for cited in citation.captures_iter(text) {
            let (package, name) = (&cited["package"], &cited["name"]);
            if !tests.contains(&(package, name)) {
                let text = format!(
                    "cites `{package}::{name}`, but crates/{package} has no such test: name the one that shows it now"
                );
                faults.push(Fault { path: index.path.clone(), line: line + 1, text });
            }
        }
    }
    Ok(faults)
}

/// The functions in all tests, each with the folder of its crate. Some become tests only through a macro that runs them on
/// every database, so an attribute cannot be asked for.
fn tests_of_all(files: &[TextFile]) -> Result<BTreeSet<(&str, &str)>> {
    let function = Regex::new(FUNCTION)?;
    let mut tests = BTreeSet::new();
    for file in files {
        let Some(package) = package(&file.path) else {
            continue;
        };
        for line in file.text.lines().skip(begin_of_tests(file)) {
            let found = function.captures(line).and_then(|found| found.name("name"));
            tests.extend(found.map(|name| (package, name.as_str())));
        }
    }
    Ok(tests)
}

fn package(path: &Path) -> Option<&str> {
    path.extension().filter(|extension| *extension == "rs")?;
    path.strip_prefix("crates").ok()?.iter().next()?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(cited: &str) -> Vec<String> {
        let files = [
            (REQUIREMENTS, format!("# Index\n\n| code | What | {cited} |\n")),
            ("crates/a/tests/it/rows.rs", "//! A.\nasync fn rows_are_kept() {}\n".to_owned()),
            (
                "crates/a/src/lib.rs",
                "fn product() {}\n#[cfg(test)]\nmod tests {\n    fn it_works() {}\n}\n".to_owned(),
            ),
        ];
        let files = files.map(|(path, text)| TextFile { path: path.into(), text });
        check(&files).unwrap().iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_cited_test_that_is_there_is_no_fault() {
        assert_eq!(faults_of("`a::rows_are_kept`, `a::it_works`"), [""; 0]);
    }

    #[test]
    fn a_cited_test_that_is_not_there_is_told() {
        for cited in ["a::rows_were_kept", "b::rows_are_kept", "a::product"] {
            let faults = faults_of(&format!("`a::it_works`, `{cited}`"));
            assert_eq!(faults.len(), 1, "{cited}: {faults:?}");
            let expected = format!("{REQUIREMENTS}:3: cites `{cited}`");
            assert!(faults[0].starts_with(&expected), "{cited}: {faults:?}");
        }
    }
}
