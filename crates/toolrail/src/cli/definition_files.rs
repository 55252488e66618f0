//! Definition files named on the command line: read whole, folders looked into, standard input as `-`.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;
use toolrail_registry::read_documents;

/// One definition and where it stands.
pub(super) struct Found {
    /// The file as the user named it.
    pub(super) file: String,
    /// JSON pointer from the root of the file to the definition.
    pub(super) pointer: String,
    pub(super) document: Value,
}

/// What one file gave: its definitions, or why there are none.
pub(super) struct ReadFile {
    pub(super) file: String,
    pub(super) found: Result<Vec<Found>, String>,
}

/// Reads every file; a folder stands for the definition files in it and below.
pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<ReadFile>> {
    let mut read = Vec::new();
    for path in paths {
        let mut files = Vec::new();
        expand(path, &mut files)?;
        if files.is_empty() {
            let fault = "has no definition file (*.yaml, *.yml, *.json) in it".to_owned();
            read.push(ReadFile { file: path.display().to_string(), found: Err(fault) });
        }
        read.extend(files.iter().map(|path| read_one(path)));
    }
    Ok(read)
}

fn expand(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let unreadable = || format!("the folder {} cannot be read", path.display());
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(path).with_context(unreadable)? {
        inside.push(entry.with_context(unreadable)?.path());
    }
    inside.sort();
    for path in inside {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && (path.is_dir() || is_definition_file(&path)) {
            expand(&path, files)?;
        }
    }
    Ok(())
}

fn is_definition_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

fn read_one(path: &Path) -> ReadFile {
    let from_input = path == Path::new("-");
    let file = if from_input { "standard input".to_owned() } else { path.display().to_string() };
    let text = if from_input {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let documents = text
        .map_err(|error| format!("cannot be read: {error}"))
        // YAML without an extension: every JSON text is YAML too.
        .and_then(|text| read_documents(path, &text));
    let found = documents.and_then(|documents| {
        if documents.is_empty() {
            return Err("has no definition in it".to_owned());
        }
        let found = documents.into_iter().map(|document| Found {
            file: file.clone(),
            pointer: document.pointer,
            document: document.value,
        });
        Ok(found.collect())
    });
    ReadFile { file, found }
}

/// A place in a file, for people: `tools.yaml#/tools/0/http/url`.
pub(super) fn place(file: &str, pointer: &str) -> String {
    if pointer.is_empty() { file.to_owned() } else { format!("{file}#{pointer}") }
}
