//! The scripts of a folder: files in TypeScript or JavaScript that are tools, beside those that they import. What a script
//! says about itself is found out by whoever can run it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use toolrail_core::{Problem, Severity, Spot};

use super::files::{Stamp, draft_of};
use super::{Draft, read_bounded};

/// The largest file of a script.
const LARGEST: u64 = 4 << 20;

const NO_TOOL: &str = "is no tool, and no tool imports it: a tool has `export const schema = {name, description, …}` and `export default async function (request) { … }`";

/// Finds out what a script says about itself.
pub trait ScriptReader: Send + Sync {
    /// Reads the script of that name; `read` gives the files that it imports.
    fn read(&self, name: &str, source: String, read: ReadFile<'_>) -> Result<ReadScript, ScriptFault>;
}

/// Gives a file of the same folder by its name, if there is one.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Option<Result<String, String>>;

/// What a script says about itself.
#[derive(Clone, Debug)]
pub struct ReadScript {
    /// The definition of the tool, with its sources inside; nothing if the file is no tool.
    pub definition: Option<Value>,
    /// The files that it imports.
    pub imports: Vec<String>,
}

/// Why a script is no tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFault {
    /// What is wrong.
    pub message: String,
    /// The file in which it is wrong.
    pub file: String,
    /// Line and column, where they are known.
    pub place: Option<(u32, u32)>,
}

/// A file that is a tool, or should be one.
#[derive(Clone, Debug)]
pub struct FoundScript {
    /// The file.
    pub path: PathBuf,
    /// Its name in the folder.
    pub name: String,
    /// Its definition, or what is wrong with it.
    pub read: Result<Value, ScriptFault>,
}

/// Reads the scripts of a folder; files that only others import are left out.
pub fn read_scripts(reader: &dyn ScriptReader, folder: &Path, scripts: &[PathBuf]) -> Vec<FoundScript> {
    let beside = |name: &str| {
        // Where links lead counts: a script sees its folder only.
        let path = std::fs::canonicalize(folder.join(name)).ok()?;
        let is_inside = std::fs::canonicalize(folder).is_ok_and(|folder| path.starts_with(folder));
        (is_inside && path.is_file()).then(|| read_bounded(&path, LARGEST))
    };
    let (mut imports, mut no_tools, mut found) = (BTreeSet::new(), Vec::new(), Vec::new());
    for path in scripts {
        let (path, name) = (path.clone(), name_of(folder, path));
        let unread = |message| ScriptFault { message, file: name.clone(), place: None };
        let source = read_bounded(&path, LARGEST).map_err(unread);
        match source.and_then(|source| reader.read(&name, source, &beside)) {
            Ok(ReadScript { definition, imports: more }) => {
                imports.extend(more);
                match definition {
                    Some(definition) => found.push(FoundScript { path, name, read: Ok(definition) }),
                    None => no_tools.push((path, name)),
                }
            }
            Err(fault) => found.push(FoundScript { path, name, read: Err(fault) }),
        }
    }
    for (path, name) in
        no_tools.into_iter().filter(|(path, name)| is_typescript(path) && !imports.contains(name))
    {
        let fault = ScriptFault { message: NO_TOOL.to_owned(), file: name.clone(), place: None };
        found.push(FoundScript { path, name, read: Err(fault) });
    }
    found
}

/// The scripts of a folder as they were read last.
#[derive(Default)]
pub(super) struct ScriptFolder {
    reader: Option<Arc<dyn ScriptReader>>,
    /// Of all files that are scripts or may be imported by them.
    stamp: Option<u64>,
    files: BTreeMap<PathBuf, ScriptFile>,
}

#[derive(Clone, Default)]
struct ScriptFile {
    draft: Option<Draft>,
    fault: Option<ScriptFault>,
}

impl ScriptFolder {
    pub(super) fn new(reader: Option<Arc<dyn ScriptReader>>) -> Self {
        Self { reader, ..Self::default() }
    }

    /// Reads the scripts again if any file has changed; says whether that changed anything.
    pub(super) fn refresh(&mut self, folder: &Path, scripts: &[PathBuf], imported: &[PathBuf]) -> bool {
        let Some(reader) = self.reader.clone().filter(|_| !(scripts.is_empty() && self.files.is_empty()))
        else {
            return false;
        };
        let stamp = stamp_of(scripts.iter().chain(imported));
        if self.stamp == Some(stamp) {
            return false;
        }
        self.stamp = Some(stamp);
        self.read(&*reader, folder, scripts);
        true
    }

    fn read(&mut self, reader: &dyn ScriptReader, folder: &Path, scripts: &[PathBuf]) {
        let read =
            read_scripts(reader, folder, scripts).into_iter().map(|FoundScript { path, name, read }| {
                let file = match read {
                    Ok(definition) => ScriptFile { draft: Some(draft_of(definition, name)), fault: None },
                    Err(fault) => {
                        let before = self.files.get(&path).and_then(|file| file.draft.clone());
                        ScriptFile { draft: before, fault: Some(fault) }
                    }
                };
                (path, file)
            });
        self.files = read.collect();
    }

    /// The tools.
    pub(super) fn drafts(&self) -> impl Iterator<Item = Draft> {
        self.files.values().filter_map(|file| file.draft.clone())
    }

    /// What is wrong with files that should be tools.
    pub(super) fn problems(&self) -> impl Iterator<Item = Problem> {
        self.files.values().filter_map(|file| {
            let ScriptFault { message, file: name, place } = file.fault.clone()?;
            let kept = if file.draft.is_some() { "; its last good version stays in place" } else { "" };
            Some(Problem {
                severity: Severity::Error,
                tool: None,
                origin: Some(name.clone()),
                pointer: String::new(),
                message: format!("{message}{kept}"),
                spot: place.map(|(line, column)| Spot { file: name, line, column }),
            })
        })
    }
}

/// Whether a file may be a script that is a tool.
pub fn is_script(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_declaration = name.ends_with(".d.ts") || name.ends_with(".d.mts");
    let is_test = [".test.ts", ".test.js", ".spec.ts", ".spec.js"].iter().any(|end| name.ends_with(end));
    let known = [".ts", ".mts", ".js", ".mjs"];
    known.iter().any(|end| name.ends_with(end)) && !is_declaration && !is_test
}

fn is_typescript(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ts" || extension == "mts")
}

fn name_of(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

/// What tells that any of the files has changed. A file that may change again without another stamp is looked into.
fn stamp_of<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in paths {
        let stamp = Stamp::of(path);
        (path, &stamp).hash(&mut hasher);
        if stamp.is_some_and(|stamp| stamp.is_fresh()) {
            read_bounded(path, LARGEST).ok().hash(&mut hasher);
        }
    }
    hasher.finish()
}
