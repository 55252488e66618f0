//! What was switched off or removed since the last good definitions were written, in a file beside them. A line is durable
//! before the change is acknowledged: a gateway that starts without its store must not serve what was refused. Where it
//! cannot be written, the change holds all the same, since the store has it; then the line waits, readiness says so, writing is
//! tried again and again, and the last good definitions go: none are better than what was refused.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::Intake;
use super::layer::Layer;
use crate::entry_key::EntryKey;
use crate::store::WriteFailure;

/// Between two attempts: each may write all definitions.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// The lines, and what they say.
pub(crate) struct Journal {
    file: PathBuf,
    /// The last good definitions, beside which it is.
    definitions: PathBuf,
    state: Mutex<JournalState>,
    /// Rings when lines begin to wait.
    bell: Notify,
}

#[derive(Default)]
struct JournalState {
    last: u64,
    /// What is off according to the lines.
    off: HashSet<EntryKey>,
    /// The lines that could not be written yet, the oldest first.
    waiting: Vec<JournalLine>,
    /// Why they could not; there while any waits.
    failure: Option<WriteFailure>,
}

/// What became of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fate {
    Off,
    Gone,
    On,
}

/// One change.
#[derive(Serialize, Deserialize)]
pub(crate) struct JournalLine {
    /// When, in microseconds since 1970; later ones have greater numbers.
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    name: String,
    way: Fate,
}

impl JournalLine {
    fn key(&self) -> EntryKey {
        EntryKey::new(self.tenant.as_deref().map(Into::into), &self.name)
    }
}

impl Journal {
    pub(crate) fn beside(file: &Path) -> Self {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".off");
        let definitions = file.to_owned();
        Self { file: file.with_file_name(name), definitions, state: Mutex::default(), bell: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next moment. Nothing that is asked for later has a smaller one.
    pub(crate) fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut state = self.state();
        state.last = u64::try_from(since.as_micros()).unwrap_or(u64::MAX).max(state.last + 1);
        state.last
    }

    /// What there is to write of keys that changed in a layer.
    pub(crate) fn lines(&self, layer: &Layer, changed: &[EntryKey]) -> Vec<JournalLine> {
        let at = self.now();
        let mut state = self.state();
        let line = |key: &EntryKey| {
            let way = match layer.entries.get(key) {
                None => Fate::Gone,
                Some(entry) if entry.live().is_none() => Fate::Off,
                Some(_) => Fate::On,
            };
            let is_news = match way {
                Fate::On => state.off.remove(key),
                Fate::Off | Fate::Gone => state.off.insert(key.clone()) || way == Fate::Gone,
            };
            let (tenant, name) = (key.tenant.as_deref().map(str::to_owned), key.name.to_string());
            is_news.then_some(JournalLine { at, tenant, name, way })
        };
        changed.iter().filter_map(line).collect()
    }

    /// Makes lines durable, or has them wait.
    pub(crate) fn append(&self, lines: Vec<JournalLine>) {
        if lines.is_empty() {
            return;
        }
        let mut state = self.state();
        state.waiting.extend(lines);
        self.write_waiting(&mut state);
    }

    /// Writes what waits, all of it and in order: of two lines about a definition the later one counts.
    fn write_waiting(&self, state: &mut JournalState) {
        match append(&self.file, &state.waiting) {
            Ok(()) => {
                state.waiting.clear();
                self.note_written(state);
            }
            Err(error) => {
                if state.failure.is_none() {
                    tracing::error!(
                        file = %self.file.display(), %error,
                        "what was switched off could not be kept for a start without the store; it is tried again and again"
                    );
                }
                if state.waiting.iter().any(|line| line.way != Fate::On) {
                    // They are written anew once there is room. Gone already is as good.
                    let _ = std::fs::remove_file(&self.definitions);
                }
                state.failure = Some(WriteFailure::going_on(state.failure.take(), error.to_string()));
                self.bell.notify_one();
            }
        }
    }

    /// Nothing waits any more.
    fn note_written(&self, state: &mut JournalState) {
        if state.failure.take().is_some() {
            tracing::info!(file = %self.file.display(), "what was switched off is kept again");
        }
    }

    /// What became of definitions from that moment on.
    pub(crate) fn since(&self, at: u64) -> HashMap<EntryKey, Fate> {
        let lines = read(&self.file).unwrap_or_default();
        lines.into_iter().filter(|line| line.at >= at).map(|line| (line.key(), line.way)).collect()
    }

    /// Forgets what was before that moment: it is in the last good definitions.
    pub(crate) fn forget_before(&self, at: u64) {
        let mut state = self.state();
        state.waiting.retain(|line| line.at >= at);
        if state.waiting.is_empty() {
            self.note_written(&mut state);
        }
        let lines = read(&self.file);
        let is_there = lines.is_ok();
        let later: Vec<JournalLine> =
            lines.unwrap_or_default().into_iter().filter(|line| line.at >= at).collect();
        let said = later.iter().chain(&state.waiting).map(|line| (line.key(), line.way));
        let said: HashMap<EntryKey, Fate> = said.collect();
        state.off = said.into_iter().filter(|(_, way)| *way != Fate::On).map(|(key, _)| key).collect();
        if !is_there {
            return;
        }
        let forgotten = if later.is_empty() {
            std::fs::remove_file(&self.file)
        } else {
            let draft = self.file.with_extension(format!("off.{}", std::process::id()));
            // Left from an attempt that failed, it would be continued.
            let _ = std::fs::remove_file(&draft);
            append(&draft, &later).and_then(|()| std::fs::rename(&draft, &self.file))
        };
        if let Err(error) = forgotten {
            tracing::warn!(file = %self.file.display(), %error, "what is known of old changes could not be cleared away");
        }
    }
}

impl Intake {
    /// Since when and why what was switched off cannot be kept for a start without the store, if it cannot.
    pub(crate) fn journal_failure(&self) -> Option<WriteFailure> {
        self.settings.last_good.as_ref()?.journal.state().failure.clone()
    }

    /// Writes the lines that wait until there are none, until the future is dropped.
    pub(crate) async fn follow_journal(&self) {
        let Some(last_good) = &self.settings.last_good else {
            return;
        };
        let journal = &last_good.journal;
        loop {
            journal.bell.notified().await;
            while self.journal_failure().is_some() {
                tokio::time::sleep(self.settings.limits.poll.max(SHORTEST_PAUSE)).await;
                // With the definitions as they are now, no line has to wait.
                last_good.note();
                self.keep_last_good().await;
                tokio::task::block_in_place(|| {
                    let mut state = journal.state();
                    if state.failure.is_some() {
                        journal.write_waiting(&mut state);
                    }
                });
            }
        }
    }
}

fn append(file: &Path, lines: &[JournalLine]) -> std::io::Result<()> {
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut text = Vec::new();
    for line in lines {
        // First, so that a line that was broken off spoils no other.
        text.push(b'\n');
        serde_json::to_writer(&mut text, line)?;
    }
    text.push(b'\n');
    let mut file = options.open(file)?;
    let length = file.metadata()?.len();
    let written = file.write_all(&text).and_then(|()| file.sync_data());
    if written.is_err() {
        // Else every further attempt would make it longer; what cannot be cut off does no harm.
        let _ = file.set_len(length);
    }
    written
}

/// The lines that are whole.
fn read(file: &Path) -> std::io::Result<Vec<JournalLine>> {
    let text = std::fs::read(file)?;
    let lines = text.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}
