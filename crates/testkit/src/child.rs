//! A child process that is killed when dropped, and the end of what it wrote, for the message of a failed test.

use std::collections::VecDeque;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::watch;

/// More than any test needs to see; a child that writes without end must not fill the memory.
const KEPT_BYTES: usize = 256 * 1024;

const STOP_WITHIN: Duration = Duration::from_secs(15);

const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// The end of what a child wrote to one of its streams.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    // Nothing is ever sent: the task holds the sender until the stream ends.
    following: watch::Receiver<()>,
}

impl Tail {
    pub(crate) fn follow(stream: Option<impl AsyncRead + Unpin + Send + 'static>) -> Self {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let (alive, following) = watch::channel(());
        let filled = kept.clone();
        // Ends by itself when the child closes the stream.
        tokio::spawn(async move {
            let _alive = alive;
            let Some(mut stream) = stream else { return };
            let mut buffer = vec![0; 8192];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                let mut kept = filled.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&buffer[..count]);
                let excess = kept.len().saturating_sub(KEPT_BYTES);
                kept.drain(..excess);
            }
        });
        Self { kept, following }
    }

    /// What has been written so far.
    pub(crate) fn text(&self) -> String {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous()).into_owned()
    }

    /// What has been written once the stream has ended, or after a short while.
    pub(crate) async fn last_text(&mut self) -> String {
        // Either way the text is what there is.
        drop(tokio::time::timeout(LAST_WORDS_WITHIN, self.following.changed()).await);
        self.text()
    }
}

/// A command that runs `binary` with the test's environment, except the variables that would configure it. Without the
/// discovery tools: most tests count tools, and those that want them say so.
pub(crate) fn command(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TOOLRAIL_") {
            command.env_remove(name);
        }
    }
    command.env("TOOLRAIL_DISCOVERY", "off");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Asks the child to end, as an operator would, and waits until it has.
pub(crate) async fn terminate(child: &mut Child) -> Result<ExitStatus> {
    if let Some(pid) = child.id() {
        // The shell's own `kill` exists everywhere; a system call would need unsafe code or another dependency.
        let asked = Command::new("sh").args(["-c", "kill -TERM \"$0\"", &pid.to_string()]).status().await?;
        ensure!(asked.success(), "cannot send SIGTERM to process {pid}");
    }
    exit_of(child).await
}

/// Waits until the child has ended by itself.
pub(crate) async fn exit_of(child: &mut Child) -> Result<ExitStatus> {
    let status = tokio::time::timeout(STOP_WITHIN, child.wait()).await;
    Ok(status.with_context(|| format!("the process did not end within {STOP_WITHIN:?}"))??)
}
