//! Definition files named on the command line: read whole, folders looked into, standard input as `-`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use serde_json::Value;
use toolrail_core::{Problem, Severity, Spot};
use toolrail_registry::{
    DefinitionFiles, FileFault, FoundScript, Places, is_script, read_at_most, read_bounded, read_documents,
};

use crate::scripts;

/// The largest file that is read. More than a server reads of a watched one: all of a large store may be in it.
const LARGEST: u64 = 256 * 1024 * 1024;

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
        if !path.is_dir() {
            if is_script(path) {
                read.extend(read_scripts(
                    path.parent().unwrap_or(Path::new(".")),
                    std::slice::from_ref(path),
                ));
            } else {
                read.push(read_file(path));
            }
            continue;
        }
        let mut inside = DefinitionFiles::under(path)
            .with_context(|| format!("the folder {} cannot be read", path.display()))?;
        inside.files.sort();
        inside.scripts.sort();
        if inside.files.is_empty() && inside.scripts.is_empty() && inside.unreadable.is_empty() {
            let fault = "has no definition file (*.yaml, *.yml, *.json) and no script (*.ts, *.js) in it"
                .to_owned()
                .into();
            read.push(ReadFile { file: path.display().to_string(), found: Err(fault) });
        }
        read.extend(inside.files.iter().map(|path| read_one(path, read_bounded(path, LARGEST))));
        read.extend(read_scripts(path, &inside.scripts));
        let unreadable = inside.unreadable.into_iter();
        read.extend(unreadable.map(|(folder, fault)| ReadFile {
            file: folder.display().to_string(),
            found: Err(fault.into()),
        }));
    }
    Ok(read)
}

/// Reads scripts, as the gateway would if that were a folder of tools.
fn read_scripts(folder: &Path, paths: &[PathBuf]) -> Vec<ReadFile> {
    let read = scripts::read(folder, paths).into_iter().map(|FoundScript { path, read, .. }| {
        let name = path.display().to_string();
        let found =
            read.map_err(|fault| FileFault { message: fault.message, place: fault.place }).map(|document| {
                let text =
                    FileText { name: name.clone(), path, text: String::new(), places: OnceLock::new() };
                vec![Found { file: Arc::new(text), pointer: String::new(), document }]
            });
        ReadFile { file: name, found }
    });
    read.collect()
}

/// Reads one file, or standard input.
pub(super) fn read_file(path: &Path) -> ReadFile {
    read_one(path, named(path))
}

/// The text of a file that the user named: it may be a pipe too, such as `-` or what a shell makes of `<(…)`.
fn named(path: &Path) -> Result<String, String> {
    if path == Path::new("-") {
        return read_at_most(std::io::stdin().lock(), LARGEST);
    }
    let file = std::fs::File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    read_at_most(file, LARGEST)
}

fn read_one(path: &Path, text: Result<String, String>) -> ReadFile {
    let from_input = path == Path::new("-");
    let file = if from_input { "standard input".to_owned() } else { path.display().to_string() };
    let text = match text {
        Ok(text) => text,
        Err(fault) => return ReadFile { file, found: Err(fault.into()) },
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
