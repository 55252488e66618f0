//! A worker as a process: started with nothing but its channel, ended with everything it might have started.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::worker::WORKER_COMMAND;

/// The command of a worker, and the gateway's end of its channel.
pub(super) fn command(binary: &Path) -> io::Result<(Command, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(binary);
    command
        .arg(WORKER_COMMAND)
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok((command, ours))
}
