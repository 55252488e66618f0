//! What was switched off or removed since the last good definitions were written, in a file beside them. A line is durable
//! before the change is acknowledged: a gateway that starts without its store must not serve what was refused.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::layer::Layer;
use crate::entry_key::EntryKey;

/// The lines, and what they say.
pub(crate) struct Journal {
    file: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    /// What is off according to the lines.
    off: HashSet<EntryKey>,
}

/// What became of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Way {
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
    way: Way,
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
        Self { file: file.with_file_name(name), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
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
                None => Way::Gone,
                Some(entry) if entry.live().is_none() => Way::Off,
                Some(_) => Way::On,
            };
            let is_news = match way {
                Way::On => state.off.remove(key),
                Way::Off | Way::Gone => state.off.insert(key.clone()) || way == Way::Gone,
            };
            let (tenant, name) = (key.tenant.as_deref().map(str::to_owned), key.name.to_string());
            is_news.then_some(JournalLine { at, tenant, name, way })
        };
        changed.iter().filter_map(line).collect()
    }

    /// Makes lines durable.
    pub(crate) fn append(&self, lines: &[JournalLine]) {
        if lines.is_empty() {
            return;
        }
        let _state = self.state();
        if let Err(error) = append(&self.file, lines) {
            tracing::error!(
                file = %self.file.display(), %error,
                "what was switched off could not be kept for a start without the store"
            );
        }
    }

    /// What became of definitions from that moment on.
    pub(crate) fn since(&self, at: u64) -> HashMap<EntryKey, Way> {
        let lines = read(&self.file).unwrap_or_default();
        lines.into_iter().filter(|line| line.at >= at).map(|line| (line.key(), line.way)).collect()
    }

    /// Forgets what was before that moment: it is in the last good definitions.
    pub(crate) fn forget_before(&self, at: u64) {
        let mut state = self.state();
        let Ok(lines) = read(&self.file) else { return };
        let later: Vec<JournalLine> = lines.into_iter().filter(|line| line.at >= at).collect();
        state.off = later.iter().filter(|line| line.way != Way::On).map(JournalLine::key).collect();
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
    file.write_all(&text)?;
    file.sync_data()
}

/// The lines that are whole.
fn read(file: &Path) -> std::io::Result<Vec<JournalLine>> {
    let lines = BufReader::new(File::open(file)?).lines();
    let whole = |line: std::io::Result<String>| serde_json::from_str(&line.ok()?).ok();
    Ok(lines.filter_map(whole).collect())
}
