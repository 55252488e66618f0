//! Where a store of SQLite is: a file, which must stay the one that was opened, or memory.

use std::path::{Path, PathBuf};

use toolrail_core::StoreError;

/// Where a store is.
#[derive(Debug)]
pub(super) enum Place {
    File {
        file: PathBuf,
        /// Which file it was when it was opened.
        identity: Option<(u64, u64)>,
    },
    Memory,
}

impl Place {
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File { file, .. } => Some(file),
            Self::Memory => None,
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::File { file, .. } => format!("sqlite {}", file.display()),
            Self::Memory => "memory".to_owned(),
        }
    }

    pub(super) fn failed(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        StoreError::Unavailable { store: self.describe(), source: error.into() }
    }

    /// Remembers which file it is.
    pub(super) fn identify(&mut self) {
        if let Self::File { file, identity } = self {
            *identity = identity_of(file);
        }
    }

    /// A file that was removed or replaced under an open connection still takes writes, which nobody would find again.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match self {
            Self::File { file, identity } if identity_of(file) != *identity => {
                let reason = "the file was removed or replaced while it was in use; put it back or restart";
                Err(self.failed(reason))
            }
            Self::File { .. } | Self::Memory => Ok(()),
        }
    }
}

#[cfg(unix)]
fn identity_of(file: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(file).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity_of(file: &Path) -> Option<(u64, u64)> {
    file.exists().then_some((0, 0))
}
