//! Definition files named on the command line: read whole, folders looked into, standard input as `-`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use serde_json::Value;
use toolrail_core::{Problem, Severity, Spot};
use toolrail_registry::{FileFault, Places, read_documents};

/// One definition and where it stands.
pub(super) struct Found {
    pub(super) file: Arc<FileText>,
    /// JSON pointer from the root of the file to the definition.
    pub(super) pointer: String,
    pub(super) document: Value,
}

/// A file as it was read.
pub(super) struct FileText {
    /// The file as the user named it.
    pub(super) name: String,
    path: PathBuf,
    text: String,
    places: OnceLock<Places>,
}

impl FileText {
    /// Where that pointer, from the root of the file, leads.
    pub(super) fn spot(&self, pointer: &str) -> Spot {
        let places = self.places.get_or_init(|| Places::of(&self.path, &self.text));
        let (line, column) = places.find(pointer);
        Spot { file: self.name.clone(), line, column }
    }
}

/// What one file gave: its definitions, or why there are none.
pub(super) struct ReadFile {
    pub(super) file: String,
    pub(super) found: Result<Vec<Found>, FileFault>,
}

/// A file without definitions, as a problem.
pub(super) fn unreadable(file: &str, fault: FileFault) -> Problem {
    Problem {
        severity: Severity::Error,
        tool: None,
        origin: Some(file.to_owned()),
        pointer: String::new(),
        spot: fault.place.map(|(line, column)| Spot { file: file.to_owned(), line, column }),
        message: fault.message,
    }
}

/// Reads every file; a folder stands for the definition files in it and below.
pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<ReadFile>> {
    let mut read = Vec::new();
    for path in paths {
        let mut files = Vec::new();
        expand(path, &mut files)?;
        if files.is_empty() {
            let fault = "has no definition file (*.yaml, *.yml, *.json) in it".to_owned().into();
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
    let text = match text {
        Ok(text) => text,
        Err(error) => return ReadFile { file, found: Err(format!("cannot be read: {error}").into()) },
    };
    // YAML without an extension: every JSON text is YAML too.
    let found = read_documents(path, &text).and_then(|documents| {
        if documents.is_empty() {
            return Err("has no definition in it".to_owned().into());
        }
        let (name, path) = (file.clone(), path.to_owned());
        let text = Arc::new(FileText { name, path, text, places: OnceLock::new() });
        let found = documents.into_iter().map(|document| Found {
            file: Arc::clone(&text),
            pointer: document.pointer,
            document: document.value,
        });
        Ok(found.collect())
    });
    ReadFile { file, found }
}

/// A place in a file, for people: `tools.yaml:3:5 /tools/0/http/url`, or without the line where nobody knows it.
pub(super) fn place(origin: &str, spot: Option<&Spot>, pointer: &str) -> String {
    match (spot, pointer) {
        (Some(spot), "") => spot.to_string(),
        (Some(spot), pointer) => format!("{spot} {pointer}"),
        (None, "") => origin.to_owned(),
        (None, pointer) => format!("{origin}#{pointer}"),
    }
}

/// The same of a problem in an answer of the REST face.
pub(super) fn place_of(problem: &Value) -> String {
    let text = |field: &str| problem[field].as_str().unwrap_or_default();
    let spot: Option<Spot> = serde_json::from_value(problem.clone()).ok();
    place(text("origin"), spot.as_ref(), text("pointer"))
}
