//! A folder of `*.yaml`, `*.yml` and `*.json` files and of scripts as a source, watched for changes. A file that cannot be read or
//! parsed, has nothing in it or is half-written keeps its last good definitions and becomes a problem.

use std::collections::{BTreeMap, HashSet};
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use notify::{RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::Instant;
use toolrail_core::{Problem, Revision, Severity, Spot};

use super::half_written::{DraftVerdict, HOLD, judge};
use super::scripts::{ScriptFolder, ScriptReader, is_script};
use super::{Draft, FileFault, Loaded, Places, Registration, Source, SourceError, read_documents};
use crate::source_id::SourceId;

/// The largest file that is read.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;
/// The deepest folder that is looked into.
const DEEPEST: usize = 8;
/// The fault of a file with nothing in it. An editor that is saving may have emptied it first; whoever means it deletes it.
const EMPTY: &str = "has no definition in it; write one, or delete the file";
/// The faults of a file that is half-written.
const ENDS_INSIDE: &str = "ends in the middle of a definition, as a file that is being written does; write it to its end, or delete it";
const ENDS_BETWEEN: &str = "has lost the definitions at its end, as a file that is being written does; if nobody goes on writing, \
    they are removed in a moment";

/// Definitions kept in a folder of files.
pub struct FileSource {
    folder: PathBuf,
    bell: Arc<Notify>,
    state: Mutex<FilesState>,
    watcher: Mutex<Option<notify::RecommendedWatcher>>,
}

#[derive(Default)]
struct FilesState {
    revision: Revision,
    files: BTreeMap<PathBuf, File>,
    scripts: ScriptFolder,
}

/// What one file gave the last time it could be read.
#[derive(Clone, Default)]
struct File {
    stamp: Option<Stamp>,
    /// Of its text, if that could be read.
    digest: Option<u64>,
    drafts: Vec<Draft>,
    fault: Option<FileFault>,
    /// What was found half-written, and when first.
    held: Option<(Option<Stamp>, Instant)>,
    /// Where its values stand; found out when the first problem asks.
    places: Arc<OnceLock<Places>>,
}

/// What tells that a file has changed. Whoever writes a file can set the time of its modification, but not the time at which
/// its entry changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    modified: std::time::SystemTime,
    length: u64,
    changed: (i64, i64),
    entry: (u64, u64),
}

impl Stamp {
    /// How coarse the clocks of file systems are at worst.
    const COARSE_SECONDS: i64 = 2;

    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            modified: metadata.modified().ok()?,
            length: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            entry: (metadata.dev(), metadata.ino()),
        })
    }

    /// Whether the file may change again without another stamp, since the clock has not moved on.
    pub(super) fn is_fresh(&self) -> bool {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.as_secs()).is_ok_and(|now| now - self.changed.0 <= Self::COARSE_SECONDS)
    }
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

    /// The same with the scripts in that folder, which `reader` can read.
    #[must_use]
    pub fn with_scripts(self, reader: Arc<dyn ScriptReader>) -> Self {
        let state =
            Mutex::new(FilesState { scripts: ScriptFolder::new(Some(reader)), ..FilesState::default() });
        Self { state, ..self }
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
        let found = DefinitionFiles::under(&self.folder)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files = BTreeMap::new();
        let unreadable = |path: &Path| found.unreadable.iter().any(|(folder, _)| path.starts_with(folder));
        let kept = state
            .files
            .iter()
            .filter(|(path, _)| unreadable(path))
            .map(|(path, file)| (path.clone(), file.clone()));
        files.extend(kept);
        let mut changed = found.files.len() + files.len() != state.files.len();
        for (folder, fault) in &found.unreadable {
            let file = File { fault: Some(fault.clone().into()), ..File::default() };
            changed |= state.files.get(folder).is_none_or(|before| before.fault != file.fault);
            files.insert(folder.clone(), file);
        }
        changed |= state.scripts.refresh(&self.folder, &found.scripts, &found.files);
        for path in found.files {
            let before = state.files.get(&path);
            let file = self.file(&path, before);
            changed |= before.is_none_or(|before| {
                before.stamp != file.stamp || before.digest != file.digest || before.fault != file.fault
            });
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
            drafts: state
                .files
                .values()
                .flat_map(|file| file.drafts.iter().cloned())
                .chain(state.scripts.drafts())
                .collect(),
            problems: state
                .files
                .iter()
                .filter_map(|(path, file)| self.problem(path, file))
                .chain(state.scripts.problems())
                .collect(),
            ..Loaded::default()
        }))
    }

    fn file(&self, path: &Path, before: Option<&File>) -> File {
        let stamp = Stamp::of(path);
        let same = before.filter(|before| before.stamp == stamp && stamp.is_some());
        if let Some(before) = same.filter(|_| !stamp.is_some_and(|stamp| stamp.is_fresh())) {
            return before.clone();
        }
        let text = read_bounded(path, LARGEST_FILE);
        let digest = text.as_deref().ok().map(digest_of);
        if let Some(before) = same.filter(|before| before.digest == digest) {
            return before.clone();
        }
        match text.map_err(FileFault::from).and_then(|text| self.drafts(path, &text)) {
            Ok(drafts) => {
                // JSON that is cut off is no JSON.
                let before = before.filter(|_| path.extension().is_none_or(|extension| extension != "json"));
                let file = half_written(before, stamp, &drafts);
                file.unwrap_or(File { stamp, digest, drafts, ..File::default() })
            }
            Err(fault) => {
                let drafts = before.map(|before| before.drafts.clone()).unwrap_or_default();
                File { stamp, digest, drafts, fault: Some(fault), ..File::default() }
            }
        }
    }

    fn drafts(&self, path: &Path, text: &str) -> Result<Vec<Draft>, FileFault> {
        let name = self.name(path);
        if text.trim().is_empty() {
            return Err(EMPTY.to_owned().into());
        }
        let documents = read_documents(path, text)?;
        if documents.is_empty() {
            return Err(EMPTY.to_owned().into());
        }
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
            spot: fault.place.map(|(line, column)| Spot { file: self.name(path), line, column }),
        })
    }

    /// The file of an origin, which may name a place in it, and the pointer to that place.
    fn file_of<'o>(&self, origin: &'o str) -> Option<(PathBuf, Arc<OnceLock<Places>>, &'o str)> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = std::iter::once((origin, ""));
        let parts = origin.rmatch_indices("#/").map(|(end, _)| (&origin[..end], &origin[end + 1..]));
        whole.chain(parts).find_map(|(name, pointer)| {
            let path = self.folder.join(name);
            let places = Arc::clone(&state.files.get(&path)?.places);
            Some((path, places, pointer))
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

    fn spot(&self, origin: &str, pointer: &str) -> Option<Spot> {
        let (path, places, base) = self.file_of(origin)?;
        // Read again, since few files have problems. Should it have changed meanwhile, it is soon loaded anew.
        let places =
            places.get_or_init(|| Places::of(&path, &read_bounded(&path, LARGEST_FILE).unwrap_or_default()));
        let (line, column) = places.find(&within(places, base, pointer));
        Some(Spot { file: self.name(&path), line, column })
    }

    fn bell(&self) -> Option<Arc<Notify>> {
        Some(Arc::clone(&self.bell))
    }
}

fn digest_of(text: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The file as it was, if what is there now seems to be half-written. It has no stamp, so that it is looked at again.
fn half_written(before: Option<&File>, stamp: Option<Stamp>, now: &[Draft]) -> Option<File> {
    let before = before.filter(|before| !before.drafts.is_empty())?;
    let seen = before.held.filter(|(held, _)| *held == stamp).map_or_else(Instant::now, |(_, seen)| seen);
    let fault = match judge(&before.drafts, now) {
        DraftVerdict::Whole => return None,
        DraftVerdict::EndsBetween if seen.elapsed() >= HOLD => return None,
        DraftVerdict::EndsBetween => ENDS_BETWEEN,
        DraftVerdict::EndsInside => ENDS_INSIDE,
    };
    Some(File {
        drafts: before.drafts.clone(),
        fault: Some(fault.to_owned().into()),
        held: Some((stamp, seen)),
        ..File::default()
    })
}

/// A definition may stand in a file as it does in a request: bare, or as `{name, enabled, tenant, configJson}`.
pub(super) fn draft_of(value: serde_json::Value, origin: String) -> Draft {
    let written = value.to_string();
    let (text, fault, enabled, name, tenant) = match Registration::from_file(value) {
        Ok(Registration { document, enabled, name, tenant, .. }) => {
            (document.to_string(), None, enabled, name, tenant)
        }
        Err(problems) => {
            let told: Vec<_> = problems.iter().map(ToString::to_string).collect();
            (written, Some(told.join("; ")), None, None, None)
        }
    };
    Draft {
        tenant: tenant.map(Into::into),
        name,
        text: text.into(),
        fault,
        origin,
        enabled: enabled.unwrap_or(true),
        version: None,
        updated_at: None,
        updated_by: None,
        good: None,
    }
}

/// The pointer from the root of the file: the definition stands there, or in a wrapper that does.
fn within(places: &Places, base: &str, pointer: &str) -> String {
    let wrapped = ["/configJson", "/config_json"].map(|field| format!("{base}{field}"));
    let holder = wrapped.iter().find(|holder| places.exactly(holder).is_some());
    format!("{}{pointer}", holder.map_or(base, String::as_str))
}

/// The definition files in a folder and below it, but for hidden ones.
#[derive(Debug, Default)]
pub struct DefinitionFiles {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Files that may be scripts.
    pub scripts: Vec<PathBuf>,
    /// Folders inside it that cannot be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
    /// The folders that were looked into, so that links cannot lead in circles.
    seen: HashSet<PathBuf>,
}

impl DefinitionFiles {
    /// Looks into a folder. Each folder is looked into once, whatever links lead there, and not too deeply.
    pub fn under(folder: &Path) -> std::io::Result<Self> {
        let mut found = Self::default();
        found.look_into(folder, 0)?;
        Ok(found)
    }

    fn look_into(&mut self, folder: &Path, depth: usize) -> std::io::Result<()> {
        if !self.seen.insert(std::fs::canonicalize(folder)?) {
            return Ok(());
        }
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let hidden = path
                .file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b".") || name == "node_modules");
            if hidden {
                continue;
            }
            if !path.is_dir() {
                if is_definition_file(&path) {
                    self.files.push(path);
                } else if is_script(&path) {
                    self.scripts.push(path);
                }
            } else if depth < DEEPEST
                && let Err(error) = self.look_into(&path, depth + 1)
            {
                self.unreadable.push((path, format!("cannot be read: {error}")));
            }
        }
        Ok(())
    }
}

/// The text of a regular file of at most so many bytes; a pipe or a device would never end.
pub fn read_bounded(path: &Path, most: u64) -> Result<String, String> {
    let told = |error: std::io::Error| format!("cannot be read: {error}");
    if !std::fs::metadata(path).map_err(told)?.is_file() {
        return Err("is not a regular file; remove it".to_owned());
    }
    read_at_most(std::fs::File::open(path).map_err(told)?, most)
}

/// The text of something that may never end, unless it has more than so many bytes.
pub fn read_at_most(reader: impl Read, most: u64) -> Result<String, String> {
    let mut text = String::new();
    let read = reader.take(most + 1).read_to_string(&mut text);
    if text.len() as u64 > most {
        return Err(too_large(most));
    }
    read.map_err(|error| format!("cannot be read: {error}"))?;
    Ok(text)
}

fn too_large(most: u64) -> String {
    format!("the file is larger than {} MiB; split it", most / 1024 / 1024)
}

fn is_definition_file(path: &Path) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| {
        ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}
