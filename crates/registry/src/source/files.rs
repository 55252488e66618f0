//! A folder of `*.yaml`, `*.yml` and `*.json` files as a source, watched for changes. A file that cannot be read or
//! parsed keeps its last good definitions and becomes a problem.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use notify::{RecursiveMode, Watcher};
use tokio::sync::Notify;
use toolrail_core::{Problem, Revision, Severity};

use super::{Draft, Loaded, Source, SourceError, read_documents};
use crate::entry::SourceId;
use crate::write::Registration;

/// The largest file that is read.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;
/// The deepest folder that is looked into.
const DEEPEST: usize = 8;

/// Definitions kept in a folder of files.
pub struct FileSource {
    folder: PathBuf,
    bell: Arc<Notify>,
    state: Mutex<State>,
    watcher: Mutex<Option<notify::RecommendedWatcher>>,
}

#[derive(Default)]
struct State {
    revision: Revision,
    files: BTreeMap<PathBuf, File>,
}

/// What one file gave the last time it could be read.
#[derive(Clone, Default)]
struct File {
    stamp: Option<Stamp>,
    drafts: Vec<Draft>,
    fault: Option<String>,
}

/// What tells that a file has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: std::time::SystemTime,
    length: u64,
}

impl FileSource {
    /// The definitions in that folder and the folders below it.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let source = Self {
            folder: folder.into(),
            bell: Arc::new(Notify::new()),
            state: Mutex::default(),
            watcher: Mutex::new(None),
        };
        source.watch();
        source
    }

    /// Watching only makes changes faster to see: the registry looks again at every poll all the same.
    fn watch(&self) {
        let bell = Arc::clone(&self.bell);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !event.kind.is_access()) {
                bell.notify_one();
            }
        })
        .and_then(|mut watcher| watcher.watch(&self.folder, RecursiveMode::Recursive).map(|()| watcher));
        match watcher {
            Ok(watcher) => *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher),
            Err(error) => {
                tracing::warn!(folder = %self.folder.display(), %error, "tools folder is polled, not watched");
            }
        }
    }

    /// Reads what changed; nothing if nothing did.
    fn read(&self, since: Option<Revision>) -> std::io::Result<Option<Loaded>> {
        let mut paths = Vec::new();
        find_files(&self.folder, 0, &mut paths)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files = BTreeMap::new();
        let mut changed = paths.len() != state.files.len();
        for path in paths {
            let before = state.files.get(&path);
            let file = self.file(&path, before);
            changed |= before.is_none_or(|before| before.stamp != file.stamp || before.fault != file.fault);
            files.insert(path, file);
        }
        if !changed && since == Some(state.revision) {
            return Ok(None);
        }
        state.revision += 1;
        state.files = files;
        Ok(Some(Loaded {
            revision: state.revision,
            complete: true,
            drafts: state.files.values().flat_map(|file| file.drafts.iter().cloned()).collect(),
            removed: Vec::new(),
            problems: state.files.iter().filter_map(|(path, file)| self.problem(path, file)).collect(),
        }))
    }

    fn file(&self, path: &Path, before: Option<&File>) -> File {
        let stamp = std::fs::metadata(path)
            .ok()
            .and_then(|metadata| Some(Stamp { modified: metadata.modified().ok()?, length: metadata.len() }));
        if let Some(before) = before.filter(|before| before.stamp == stamp && stamp.is_some()) {
            return before.clone();
        }
        match self.drafts(path, stamp) {
            Ok(drafts) => File { stamp, drafts, fault: None },
            Err(fault) => {
                let drafts = before.map(|before| before.drafts.clone()).unwrap_or_default();
                File { stamp, drafts, fault: Some(fault) }
            }
        }
    }

    fn drafts(&self, path: &Path, stamp: Option<Stamp>) -> Result<Vec<Draft>, String> {
        if stamp.is_some_and(|stamp| stamp.length > LARGEST_FILE) {
            return Err(format!("the file is larger than {} MiB; split it", LARGEST_FILE / 1024 / 1024));
        }
        let text = std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
        let name = self.name(path);
        let documents = read_documents(path, &text)?;
        let drafts = documents.into_iter().map(|document| {
            let origin = if document.pointer.is_empty() {
                name.clone()
            } else {
                format!("{name}#{}", document.pointer)
            };
            draft_of(document.value, origin)
        });
        Ok(drafts.collect())
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.folder).unwrap_or(path).display().to_string()
    }

    fn problem(&self, path: &Path, file: &File) -> Option<Problem> {
        let fault = file.fault.as_ref()?;
        let kept = match file.drafts.len() {
            0 => String::new(),
            kept => format!("; its last good definitions ({kept}) stay in place"),
        };
        Some(Problem {
            severity: Severity::Error,
            tool: None,
            origin: Some(self.name(path)),
            pointer: String::new(),
            message: format!("{fault}{kept}"),
        })
    }
}

#[async_trait]
impl Source for FileSource {
    fn id(&self) -> SourceId {
        SourceId::Files
    }

    fn describe(&self) -> String {
        format!("folder {}", self.folder.display())
    }

    async fn load(&self, since: Option<Revision>) -> Result<Option<Loaded>, SourceError> {
        tokio::task::block_in_place(|| self.read(since))
            .map_err(|source| SourceError::Folder { folder: self.folder.display().to_string(), source })
    }

    fn bell(&self) -> Option<Arc<Notify>> {
        Some(Arc::clone(&self.bell))
    }
}

/// A definition may stand in a file as it does in a request: bare, or as `{name, enabled, configJson}`.
fn draft_of(value: serde_json::Value, origin: String) -> Draft {
    let written = value.to_string();
    let (text, fault, enabled, name) = match Registration::from_request(value, "") {
        Ok(Registration { document, enabled, name, .. }) => (document.to_string(), None, enabled, name),
        Err(problems) => {
            let told: Vec<_> = problems.iter().map(ToString::to_string).collect();
            (written, Some(told.join("; ")), None, None)
        }
    };
    Draft {
        name,
        text: text.into(),
        fault,
        origin,
        enabled: enabled.unwrap_or(true),
        version: None,
        updated_at: None,
        updated_by: None,
    }
}

fn find_files(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if hidden {
            continue;
        }
        if path.is_dir() {
            if depth < DEEPEST {
                find_files(&path, depth + 1, found)?;
            }
        } else if is_definition_file(&path) {
            found.push(path);
        }
    }
    Ok(())
}

fn is_definition_file(path: &Path) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| {
        ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}
