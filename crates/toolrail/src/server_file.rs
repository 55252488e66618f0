//! `server.json` in the data folder: where the server that works on this folder listens. The command line and tests
//! find it there.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

/// The name of the file.
pub(crate) const FILE: &str = "server.json";

/// A running server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerFile {
    /// Where it listens, for example `http://127.0.0.1:8080`.
    pub(crate) url: String,
    /// Its process.
    pub(crate) pid: u32,
    /// Its version.
    pub(crate) version: String,
    /// Its store, without credentials, if that is not the one in the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<String>,
    /// A key that it takes for as long as it runs, from whoever can read this file, if it asks for keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// The SHA-256 of the certificate that it shows there, by which commands know it whatever its name, if it speaks TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fingerprint: Option<String>,
}

/// Removes the file when the server is done, unless another server has taken the folder over.
pub(crate) struct Announced {
    path: PathBuf,
    pid: u32,
}

impl ServerFile {
    /// Reads the file, if there is a readable one.
    pub(crate) fn read(data: &Path) -> Option<Self> {
        let bytes = std::fs::read(data.join(FILE)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Whether another process of that number lives. What was killed leaves its file behind.
    pub(crate) fn is_of_another_process(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        // Not permitted to signal it means that it is there.
        let lives = |pid| !matches!(test_kill_process(pid), Err(Errno::SRCH));
        self.pid != std::process::id() && pid.is_some_and(lives)
    }

    /// Writes the file in one step, so that no reader sees half of it.
    pub(crate) fn announce(&self, data: &Path) -> io::Result<Announced> {
        self.write(data)?;
        Ok(Announced { path: data.join(FILE), pid: self.pid })
    }

    fn write(&self, data: &Path) -> io::Result<()> {
        let draft = data.join(format!(".{FILE}.{}", self.pid));
        // It may hold a key.
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        std::fs::rename(&draft, data.join(FILE))
    }
}

impl Announced {
    /// Says that the certificate is another now.
    pub(crate) fn renew(&self, fingerprint: &str) -> io::Result<()> {
        let Some((data, file)) = self.ours() else {
            return Ok(());
        };
        ServerFile { fingerprint: Some(fingerprint.to_owned()), ..file }.write(data)
    }

    /// The file and its folder, unless another server has taken them over.
    fn ours(&self) -> Option<(&Path, ServerFile)> {
        let data = self.path.parent()?;
        let file = ServerFile::read(data).filter(|file| file.pid == self.pid)?;
        Some((data, file))
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        if self.ours().is_some()
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::warn!(file = %self.path.display(), %error, "server file could not be removed");
        }
    }
}
