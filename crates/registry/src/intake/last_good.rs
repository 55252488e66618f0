//! The last good definitions of the store, in a file: a gateway that starts while its database is away serves those. Written
//! now and then, beside everything else; one JSON object a line, the first about the file itself.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, Notify};
use tokio::time::Instant;
use toolrail_core::{Revision, Row};

use super::Intake;
use super::journal::{Fate, Journal};
use super::source::{Draft, Loaded, Tenants, draft_of};
use crate::catalog::{Entry, Serving};
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// How long after one writing the next may begin.
const REST: Duration = Duration::from_secs(10);
/// How many times as long as it took, if that is longer.
const REST_TIMES: u32 = 20;
/// The longest line that is read.
const LONGEST_LINE: u64 = 32 * 1024 * 1024;

/// The file, and whether it is behind.
pub(crate) struct LastGood {
    file: PathBuf,
    /// What was taken off since the file was written.
    pub(crate) journal: Journal,
    behind: AtomicBool,
    bell: Notify,
    /// Held while it is written.
    writing: Mutex<()>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    store: String,
    revision: Revision,
    rows: usize,
    /// The moment of the journal at which these were the definitions.
    #[serde(default)]
    at: u64,
}

/// Any other line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'l> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<Cow<'l, str>>,
    name: Cow<'l, str>,
    enabled: bool,
    config: Cow<'l, str>,
    version: Revision,
    #[serde(default)]
    updated_at: Cow<'l, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_by: Option<Cow<'l, str>>,
    /// What is served instead, where the newest version is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    serving: Option<ServingLine<'l>>,
}

#[derive(Serialize, Deserialize)]
struct ServingLine<'l> {
    version: Revision,
    config: Cow<'l, str>,
    since: Cow<'l, str>,
}

impl LastGood {
    pub(crate) fn new(file: PathBuf) -> Self {
        let journal = Journal::beside(&file);
        Self { file, journal, behind: AtomicBool::new(false), bell: Notify::new(), writing: Mutex::new(()) }
    }

    /// Notes that the store's definitions changed.
    pub(crate) fn note(&self) {
        self.behind.store(true, Ordering::Release);
        self.bell.notify_one();
    }

    /// What is in the file, unless it is of another store, not whole, or not there.
    pub(crate) fn read(&self, store: &str) -> Option<Loaded> {
        match read(&self.file, store).map(|(head, loaded)| self.without_what_was_taken_off(head.at, loaded)) {
            Ok(loaded) => {
                let (file, definitions) = (self.file.display(), loaded.drafts.len());
                tracing::warn!(%file, revision = loaded.revision, definitions, "the last good definitions are served");
                Some(loaded)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(file = %self.file.display(), %error, "the last good definitions cannot be used");
                None
            }
        }
    }
}

impl LastGood {
    fn without_what_was_taken_off(&self, at: u64, mut loaded: Loaded) -> Loaded {
        let taken_off = self.journal.since(at);
        loaded.drafts.retain_mut(|draft| {
            let key = EntryKey::new(draft.tenant.clone(), draft.name.as_deref().unwrap_or_default());
            match taken_off.get(&key) {
                Some(Fate::Gone) => return false,
                Some(Fate::Off) => draft.enabled = false,
                Some(Fate::On) | None => {}
            }
            true
        });
        loaded
    }
}

impl Intake {
    /// Writes the last good definitions of the store to their file, if they changed since the last time.
    pub async fn keep_last_good(&self) {
        let Some(last_good) = &self.settings.last_good else {
            return;
        };
        let _writing = last_good.writing.lock().await;
        if !last_good.behind.swap(false, Ordering::AcqRel) {
            return;
        }
        let Some((head, entries)) = self.stored_definitions() else {
            return;
        };
        let (file, at) = (last_good.file.clone(), head.at);
        let written = tokio::task::spawn_blocking(move || write(&file, &head, &entries)).await;
        let written = written.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        if written.is_ok() {
            tokio::task::block_in_place(|| last_good.journal.forget_before(at));
        }
        if let Err(error) = written {
            // Tried again after the rest, whether or not anything changes until then.
            last_good.note();
            tracing::warn!(file = %last_good.file.display(), %error, "the last good definitions could not be kept");
        }
    }

    /// Keeps the file up to date until the future is dropped.
    pub(crate) async fn follow_last_good(&self) {
        let Some(last_good) = &self.settings.last_good else {
            return;
        };
        loop {
            last_good.bell.notified().await;
            let began = Instant::now();
            self.keep_last_good().await;
            let rest = began.elapsed().saturating_mul(REST_TIMES).max(REST);
            tokio::time::sleep(rest).await;
        }
    }

    fn stored_definitions(&self) -> Option<(Head, Vec<Arc<Entry>>)> {
        let store = self.sources.iter().find(|tracked| tracked.source.id() == SourceId::Store)?;
        let state = self.state();
        let layer = &state.layers[store.index];
        let entries: Vec<_> = layer.entries.values().cloned().collect();
        let at = self.settings.last_good.as_ref()?.journal.now();
        let head =
            Head { store: store.source.describe(), revision: layer.revision?, rows: entries.len(), at };
        Some((head, entries))
    }
}

fn write(file: &Path, head: &Head, entries: &[Arc<Entry>]) -> std::io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    // Two processes may share a folder; each writes a file of its own before it puts that in place.
    name.push(format!(".{}", std::process::id()));
    let beside = file.with_file_name(name);
    let written = write_to(&beside, head, entries).and_then(|()| std::fs::rename(&beside, file));
    if written.is_err() {
        // What could not be put in place is of no use; the error of the writing says more.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn write_to(file: &Path, head: &Head, entries: &[Arc<Entry>]) -> std::io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut lines = BufWriter::new(options.open(file)?);
    serde_json::to_writer(&mut lines, head)?;
    for entry in entries {
        lines.write_all(b"\n")?;
        serde_json::to_writer(&mut lines, &line_of(entry))?;
    }
    lines.write_all(b"\n")?;
    lines.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
}

fn line_of(entry: &Entry) -> Line<'_> {
    Line {
        tenant: entry.tenant.as_deref().map(Cow::Borrowed),
        name: entry.name.as_str().into(),
        enabled: entry.switched_on,
        config: Cow::Borrowed(&entry.document),
        version: entry.version.unwrap_or(0),
        updated_at: entry.updated_at.as_deref().unwrap_or_default().into(),
        updated_by: entry.updated_by.as_deref().map(Cow::Borrowed),
        serving: entry.serving.as_ref().map(|serving| ServingLine {
            version: serving.version,
            config: Cow::Borrowed(&serving.document),
            since: Cow::Borrowed(&serving.since),
        }),
    }
}

fn read(file: &Path, store: &str) -> std::io::Result<(Head, Loaded)> {
    let mut lines = BufReader::new(File::open(file)?);
    let mut line = String::new();
    read_line(&mut lines, &mut line)?;
    let head: Head = serde_json::from_str(&line)?;
    if head.store != store {
        return Err(std::io::Error::other(format!("it is of another store: {}", head.store)));
    }
    let mut tenants = Tenants::default();
    let mut drafts = Vec::new();
    while read_line(&mut lines, &mut line)? {
        drafts.push(draft(serde_json::from_str(&line)?, &mut tenants));
    }
    if drafts.len() != head.rows {
        return Err(std::io::Error::other(format!("it has {} definitions of {}", drafts.len(), head.rows)));
    }
    let loaded = Loaded { revision: head.revision, complete: true, drafts, ..Loaded::default() };
    Ok((head, loaded))
}

/// Whether there was another line.
fn read_line(lines: &mut BufReader<File>, line: &mut String) -> std::io::Result<bool> {
    line.clear();
    std::io::Read::take(lines, LONGEST_LINE).read_line(line).map(|length| length > 0)
}

fn draft(line: Line<'_>, tenants: &mut Tenants) -> Draft {
    let good = line.serving.map(|serving| Serving {
        version: serving.version,
        document: serving.config.as_ref().into(),
        since: serving.since.into_owned(),
    });
    let row = Row {
        tenant: line.tenant.map(Cow::into_owned),
        name: line.name.into_owned(),
        enabled: line.enabled,
        config_json: line.config.into_owned(),
        version: line.version,
        updated_at: line.updated_at.into_owned(),
        updated_by: line.updated_by.map(Cow::into_owned),
    };
    Draft { good, ..draft_of(row, tenants) }
}
