//! The file itself: locked against other processes, read whole and within bounds, and replaced in one step.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use toolrail_core::StoreError;

use super::contents::Contents;

/// The largest file that is read or written.
const LARGEST: usize = 256 * 1024 * 1024;
/// How long the file of a process that is just ending is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A file that no other process uses meanwhile.
pub(super) struct Held {
    file: PathBuf,
    lock: File,
}

/// What tells one state of the file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: SystemTime,
    length: u64,
    number: u64,
}

impl Stamp {
    /// Whether nothing is in the file.
    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn of(file: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(file).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let number = 0;
        Some(Self { modified: metadata.modified().ok()?, length: metadata.len(), number })
    }
}

impl Held {
    /// Takes the file, whether or not it is there yet.
    pub(super) async fn open(file: &Path) -> Result<Self, StoreError> {
        let failed = |error: io::Error| failed(file, error);
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        // What a link leads to is replaced, not the link.
        let file = if file.exists() { std::fs::canonicalize(file).map_err(failed)? } else { file.to_owned() };
        let lock = private().open(beside(&file, "lock")).map_err(failed)?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { file, lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(TryLockError::WouldBlock) => {
                    let reason = "another gateway uses it; end that one, or ask it with --url. \
                                  Several may share a database: --store sqlite:, postgres: or mysql:";
                    return Err(unavailable(&file, reason));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    pub(super) fn describe(&self) -> String {
        described(&self.file)
    }

    pub(super) fn failed(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        unavailable(&self.file, error)
    }

    /// The state of the file; nothing if it is not there.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        Stamp::of(&self.file)
    }

    /// What is in the file. What is wrong in it is told with line and column.
    pub(super) async fn read(&self) -> Result<Contents, StoreError> {
        let file = self.file.clone();
        let read = tokio::task::spawn_blocking(move || read(&file)).await;
        read.unwrap_or_else(|error| Err(error.to_string())).map_err(|fault| self.failed(fault))
    }

    /// Replaces the file, unless somebody else has changed it since that state; returns its new state.
    pub(super) async fn replace(&self, before: Option<Stamp>, text: String) -> Result<Stamp, StoreError> {
        if text.len() > LARGEST {
            let reason = format!(
                "the file would have more than {} MiB; use --store sqlite:FILE for so much",
                LARGEST / 1024 / 1024
            );
            return Err(StoreError::Refused { store: self.describe(), reason });
        }
        let file = self.file.clone();
        let written = tokio::task::spawn_blocking(move || replace(&file, before, &text)).await;
        written.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| self.failed(error))
    }

    /// Lets another process have the file.
    pub(super) fn release(&self) {
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(%error, "the lock of the store could not be released");
        }
    }
}

fn read(file: &Path) -> Result<Contents, String> {
    let mut text = String::new();
    let limit = LARGEST as u64 + 1;
    let opened = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("the file was removed while it was in use; put it back or restart".to_owned());
        }
        opened => opened.map_err(|error| error.to_string())?,
    };
    opened.take(limit).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() > LARGEST {
        return Err(format!("the file has more than {} MiB", LARGEST / 1024 / 1024));
    }
    Contents::parse(&text)
}

fn replace(file: &Path, before: Option<Stamp>, text: &str) -> io::Result<Stamp> {
    let draft = beside(file, &std::process::id().to_string());
    let written = write(&draft, text).and_then(|()| {
        if Stamp::of(file) != before {
            return Err(io::Error::other("the file was edited at the same time; try again"));
        }
        std::fs::rename(&draft, file)?;
        sync_folder(file)?;
        Stamp::of(file).ok_or_else(|| io::Error::other("the file was removed at once; try again"))
    });
    if written.is_err() {
        // What could not be put in place is of no use; the error of the writing says more.
        let _ = std::fs::remove_file(&draft);
    }
    written
}

fn write(draft: &Path, text: &str) -> io::Result<()> {
    let mut options = private();
    let mut written = options.truncate(true).open(draft)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()
}

/// Makes the new name of the file last too.
#[cfg(unix)]
fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// For its owner only: keys are in it.
fn private() -> std::fs::OpenOptions {
    let mut options = File::options();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A hidden file in the same folder.
fn beside(file: &Path, what: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.{what}"))
}

fn described(file: &Path) -> String {
    format!("json {}", file.display())
}

fn failed(file: &Path, error: io::Error) -> StoreError {
    unavailable(file, error)
}

fn unavailable(file: &Path, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Unavailable { store: described(file), source: error.into() }
}
