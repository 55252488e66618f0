//! `cargo xtask tidy`: the house rules that the compiler and clippy do not know.

mod changelog;
mod cited_tests;
mod codes;
mod hidden;
mod layout;
mod levels;
mod links;
mod sources;
mod type_names;

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// The index of requirements, and of the tests that show them.
const REQUIREMENTS: &str = "docs/requirements.md";

/// One thing to mend, and how.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    path: PathBuf,
    line: usize,
    text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path.display(), self.line, self.text)
    }
}

/// A tracked file, with its path from the root of the workspace.
struct TextFile {
    path: PathBuf,
    text: String,
}

pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::find()?;
    let files = read_files(&workspace)?;
    let mut faults = levels::check(&workspace)?;
    for file in &files {
        faults.extend(sources::check(file));
        faults.extend(links::check(file, &workspace.root));
    }
    faults.extend(codes::check(&files)?);
    faults.extend(cited_tests::check(&files)?);
    faults.extend(changelog::check(&files));
    faults.extend(layout::check(&files));
    faults.extend(type_names::check(&files)?);
    faults.extend(hidden::check(&workspace.root)?);
    for fault in &faults {
        println!("{fault}");
    }
    match faults.len() {
        0 => {
            println!("tidy: {} files, no faults", files.len());
            Ok(())
        }
        count => bail!("tidy found {count} fault(s) in {} files", files.len()),
    }
}

/// Tracked and new files, without what `.gitignore` names; files that are not UTF-8 are no text.
fn read_files(workspace: &Workspace) -> Result<Vec<TextFile>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&workspace.root)
        .output()
        .context("cannot start git, which lists the files to check")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let listed = String::from_utf8(output.stdout).context("git lists a path that is not UTF-8")?;
    let paths = listed.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from);
    Ok(paths
        .filter_map(|path| {
            let text = fs::read_to_string(workspace.root.join(&path)).ok()?;
            Some(TextFile { path, text })
        })
        .collect())
}

/// How many lines come before the tests: none in a file of tests, all where there are none.
fn begin_of_tests(file: &TextFile) -> usize {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    let in_folder = file.path.components().any(|part| part.as_os_str() == "tests");
    if in_folder || name == "tests.rs" || name.ends_with("_tests.rs") {
        return 0;
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let begins = |index: &usize| {
        let is_test = lines[*index].starts_with("#[cfg(") && lines[*index].contains("test");
        let item = lines[*index..].iter().find(|line| !line.starts_with("#["));
        is_test && item.is_some_and(|item| item.starts_with("mod ") && item.ends_with('{'))
    };
    (0..lines.len()).find(begins).unwrap_or(lines.len())
}
