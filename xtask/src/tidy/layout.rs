//! How the files of a crate lie: folders that one can overlook, and no two parts of a crate that need each other. A part is a
//! folder or a file directly under `src`; files alone may lean on each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Fault, TextFile};

/// The most source files that lie in one folder.
const MOST_FILES: usize = 30;

/// What each part of a crate names of the others, with a file that does.
type Needs<'f> = BTreeMap<&'f str, BTreeMap<&'f str, &'f Path>>;

pub(super) fn check(files: &[TextFile]) -> Vec<Fault> {
    let mut folders: BTreeMap<&Path, usize> = BTreeMap::new();
    let mut crates: BTreeMap<&Path, Vec<(Vec<&str>, &TextFile)>> = BTreeMap::new();
    for file in files {
        if let Some(folder) = folder(&file.path) {
            *folders.entry(folder).or_default() += 1;
        }
        if let Some((root, module)) = source(&file.path).filter(|(_, module)| !is_test(module)) {
            crates.entry(root).or_default().push((module, file));
        }
    }
    let crowded = folders.into_iter().filter(|(_, count)| *count > MOST_FILES).map(|(folder, count)| {
        let text =
            format!("{count} source files lie in one folder, {MOST_FILES} at most: make folders by concern");
        fault(folder, text)
    });
    crowded.chain(crates.values().flat_map(|modules| circles(modules))).collect()
}

/// The folder that a source file lies in, also one of tests.
fn folder(path: &Path) -> Option<&Path> {
    let is_source = path.iter().any(|part| part == "src" || part == "tests")
        && path.extension().is_some_and(|extension| extension == "rs");
    path.parent().filter(|_| is_source)
}

/// The folder `src` that a source file is in, and its module from there; the root has none.
fn source(path: &Path) -> Option<(&Path, Vec<&str>)> {
    let root = path.ancestors().filter(|above| above.file_name().is_some_and(|name| name == "src")).last()?;
    let mut module: Vec<&str> =
        path.strip_prefix(root).ok()?.iter().filter_map(|part| part.to_str()).collect();
    let last = module.pop()?.strip_suffix(".rs")?;
    if !matches!(last, "mod" | "lib" | "main") {
        module.push(last);
    }
    Some((root, module))
}

fn is_test(module: &[&str]) -> bool {
    module.iter().any(|part| *part == "tests" || part.ends_with("_tests"))
}

fn circles(modules: &[(Vec<&str>, &TextFile)]) -> Vec<Fault> {
    let parts: BTreeSet<&str> = modules.iter().filter_map(|(module, _)| module.first().copied()).collect();
    let folders: BTreeSet<&str> = modules
        .iter()
        .filter(|(module, _)| module.len() > 1)
        .filter_map(|(module, _)| module.first().copied())
        .collect();
    let mut needs = Needs::new();
    for (module, file) in modules {
        let Some(part) = module.first() else {
            continue;
        };
        for named in named_at_root(&file.text, module.len()) {
            if let Some(other) = parts.get(named.as_str()).filter(|other| *other != part) {
                needs.entry(part).or_default().entry(other).or_insert(&file.path);
            }
        }
    }
    let mut faults = Vec::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for part in &folders {
        if told.contains(part) {
            continue;
        }
        let Some(circle) = shortest_circle(part, &needs) else {
            continue;
        };
        told.extend(circle.iter().map(|(part, _)| *part));
        let steps: Vec<String> =
            circle.iter().map(|(part, file)| format!("{part} (in {})", file.display())).collect();
        let text = format!(
            "a circle of imports: {} → {part}; move what both need below them, or what needs both above",
            steps.join(" → ")
        );
        faults.push(fault(circle[0].1, text));
    }
    faults
}

/// From a part back to itself: each part with the file in which it names the next.
fn shortest_circle<'f>(start: &'f str, needs: &Needs<'f>) -> Option<Vec<(&'f str, &'f Path)>> {
    let mut from: BTreeMap<&str, (&'f str, &'f Path)> = BTreeMap::new();
    let mut next = vec![start];
    while !next.is_empty() {
        let mut further = Vec::new();
        for part in next {
            for (&other, &file) in needs.get(part).into_iter().flatten() {
                if from.contains_key(other) {
                    continue;
                }
                from.insert(other, (part, file));
                if other == start {
                    return Some(way_back(start, &from));
                }
                further.push(other);
            }
        }
        next = further;
    }
    None
}

fn way_back<'f>(start: &str, from: &BTreeMap<&str, (&'f str, &'f Path)>) -> Vec<(&'f str, &'f Path)> {
    let mut way = Vec::new();
    let mut at = start;
    while let Some(&(before, file)) = from.get(at) {
        way.push((before, file));
        at = before;
        if at == start {
            break;
        }
    }
    way.reverse();
    way
}

/// The names directly under the root of the crate that a file so deep below it writes, outside of its tests and comments.
fn named_at_root(text: &str, depth: usize) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let to_root = "super::".repeat(depth);
    let begins = |word: &str| -> Vec<usize> {
        let found = code.match_indices(word).filter(|(at, _)| begins_a_path(&code, *at));
        found.map(|(at, word)| at + word.len()).collect()
    };
    let paths = begins("crate::").into_iter().chain(begins(&to_root));
    paths.flat_map(|at| heads(&code[at..])).map(str::to_owned).collect()
}

fn begins_a_path(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | ':' | '$'))
}

/// The first names of a path, or of each path in braces.
fn heads(rest: &str) -> Vec<&str> {
    let Some(list) = rest.strip_prefix('{') else {
        return name_at(rest).into_iter().collect();
    };
    let mut heads = Vec::new();
    let (mut depth, mut begins) = (1, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && c == ',') {
            heads.extend(name_at(list[begins..at].trim_start()));
            begins = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

fn name_at(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    text.get(..end).filter(|name| !name.is_empty())
}

fn fault(path: &Path, text: String) -> Fault {
    Fault { path: PathBuf::from(path), line: 1, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile { path: path.into(), text: (*text).to_owned() })
            .collect();
        check(&files).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_circle_between_folders_is_told_with_its_files() {
        let planted = [
            ("crates/a/src/lib.rs", "mod one;\nmod two;\nmod three;"),
            ("crates/a/src/one/mod.rs", "mod deep;"),
            ("crates/a/src/one/deep.rs", "use crate::{three, two::Two};"),
            ("crates/a/src/two.rs", "use super::three;"),
            ("crates/a/src/three/mod.rs", "use super::one::One;"),
        ];
        let faults = faults_of(&planted);
        assert_eq!(faults.len(), 1, "{faults:?}");
        let circle = "one (in crates/a/src/one/deep.rs) → three (in crates/a/src/three/mod.rs) → one;";
        assert!(faults[0].contains(circle), "{faults:?}");
    }

    #[test]
    fn folders_in_one_direction_tests_words_and_other_crates_are_no_circle() {
        let fine = [
            ("crates/a/src/one/mod.rs", "use crate::two;\n/// Like crate::one.\nuse other_crate::two;"),
            (
                "crates/a/src/two/mod.rs",
                "use super::three;\n// use crate::one;\n#[cfg(test)]\nmod tests { use crate::one; }",
            ),
            ("crates/a/src/two/inner.rs", "use super::one;"),
            ("crates/a/src/two/tests.rs", "use crate::one;"),
            ("crates/a/src/three.rs", "use crate::four;"),
            ("crates/a/src/four.rs", "use crate::three;"),
            ("crates/b/src/two/mod.rs", "use crate::one;"),
        ];
        assert_eq!(faults_of(&fine), Vec::<String>::new());
    }

    #[test]
    fn a_folder_with_too_many_files_is_told() {
        for folder in ["crates/a/src/flat", "crates/a/tests/it"] {
            let names: Vec<String> = (0..=MOST_FILES).map(|n| format!("{folder}/f{n}.rs")).collect();
            let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
            let faults = faults_of(&files);
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert!(faults[0].starts_with(&format!("{folder}:1: 31 source files")), "{faults:?}");
            files[0].0 = "crates/a/tests/it/folder/one.rs";
            assert_eq!(faults_of(&files), Vec::<String>::new());
        }
    }
}
