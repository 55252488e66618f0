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
        let beside = |name: &str| {
            let path = folder.join(name);
            path.is_file().then(|| read_bounded(&path, LARGEST))
        };
        let mut imports = BTreeSet::new();
        let mut no_tools = Vec::new();
        let mut files = BTreeMap::new();
        for path in scripts {
            let name = name_of(folder, path);
            let source = read_bounded(path, LARGEST);
            let unread = |message| ScriptFault { message, file: name.clone(), place: None };
            let read = source.map_err(unread).and_then(|source| reader.read(&name, source, &beside));
            let before = self.files.get(path).and_then(|file| file.draft.clone());
            match read {
                Ok(ReadScript { definition: Some(definition), imports: more }) => {
                    imports.extend(more);
                    files.insert(
                        path.clone(),
                        ScriptFile { draft: Some(draft_of(definition, name)), fault: None },
                    );
                }
                Ok(ReadScript { definition: None, imports: more }) => {
                    imports.extend(more);
                    no_tools.push((path.clone(), name));
                }
                Err(fault) => {
                    drop(files.insert(path.clone(), ScriptFile { draft: before, fault: Some(fault) }))
                }
            }
        }
        for (path, name) in no_tools.into_iter().filter(|(_, name)| !imports.contains(name)) {
            if is_typescript(&path) {
                let message = "is no tool, and no tool imports it: a tool has `export const schema = {name, description, …}` and `export default async function (request) { … }`";
                let fault = ScriptFault { message: message.to_owned(), file: name, place: None };
                files.insert(path, ScriptFile { draft: None, fault: Some(fault) });
            }
        }
        self.files = files;
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
pub(super) fn is_script(path: &Path) -> bool {
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
