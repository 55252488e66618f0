//! No two types of one crate have the same name: whoever reads a name, or searches for it, finds one thing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use regex::Regex;

use super::{Fault, TextFile, begin_of_tests};

/// Folders that mirror each other: the same role has the same name in each, and the folder says whose it is.
const MIRRORS: [&str; 4] = ["json", "mysql", "postgres", "sqlite"];

/// A type that stands at the top of a file; one inside a function is its own business.
const TYPE: &str = r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum|union|trait|type) (?<name>\w+)";

pub(super) fn check(files: &[TextFile]) -> Result<Vec<Fault>> {
    let pattern = Regex::new(TYPE)?;
    let mut known: BTreeMap<(&Path, &str), (&Path, usize)> = BTreeMap::new();
    let mut faults = Vec::new();
    for file in files {
        let Some(source) = source_folder(&file.path) else {
            continue;
        };
        for (index, line) in file.text.lines().take(begin_of_tests(file)).enumerate() {
            let Some(name) = pattern.captures(line).and_then(|found| found.name("name")) else {
                continue;
            };
            let place = (file.path.as_path(), index + 1);
            let (first, at) = *known.entry((source, name.as_str())).or_insert(place);
            if (first, at) != place {
                let text = format!(
                    "{} is the name of another type of this crate, in {}:{at}: say in both what they are",
                    name.as_str(),
                    first.display()
                );
                faults.push(Fault { path: file.path.clone(), line: index + 1, text });
            }
        }
    }
    Ok(faults)
}

/// The folder in which names are to differ: `src` of a crate, or that of a driver of its stores.
fn source_folder(path: &Path) -> Option<&Path> {
    path.extension().filter(|extension| *extension == "rs")?;
    let is_named = |folder: &&Path, names: &[&str]| {
        folder.file_name().and_then(OsStr::to_str).is_some_and(|name| names.contains(&name))
    };
    let source = path.ancestors().filter(|above| is_named(above, &["src"])).last()?;
    let mirror = path.ancestors().find(|above| above.parent() == Some(source) && is_named(above, &MIRRORS));
    Some(mirror.filter(|_| source.ends_with("store/src")).unwrap_or(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile { path: path.into(), text: (*text).to_owned() })
            .collect();
        check(&files).unwrap().iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_second_type_of_the_same_name_is_told_with_the_first() {
        let faults = faults_of(&[
            ("crates/a/src/one.rs", "//! A.\npub(super) struct Reader<'a> {}\n"),
            ("crates/a/src/two.rs", "//! A.\n\nenum Reader {}\n"),
        ]);
        assert_eq!(faults.len(), 1, "{faults:?}");
        let expected = "crates/a/src/two.rs:3: Reader is the name of another type of this crate, in crates/a/src/one.rs:2:";
        assert!(faults[0].starts_with(expected), "{faults:?}");
    }

    #[test]
    fn other_crates_functions_and_tests_may_use_a_name_again() {
        let fine = [
            ("crates/a/src/one.rs", "struct Reader;\nstruct ReaderOfLines;\n"),
            ("crates/b/src/one.rs", "struct Reader;\n"),
            ("crates/a/src/two.rs", "fn read() {\n    struct Reader;\n}\n"),
            ("crates/a/src/three.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\nstruct Reader;\n}\n"),
            ("crates/a/src/tests.rs", "struct Reader;\n"),
            ("crates/a/tests/it/main.rs", "struct Reader;\n"),
            ("crates/store/src/mysql/pool.rs", "struct Lease;\n"),
            ("crates/store/src/postgres/pool.rs", "struct Lease;\n"),
        ];
        assert_eq!(faults_of(&fine), [""; 0]);
    }
}
