//! The real binary as an MCP client starts it: JSON lines in and out, and nothing else on stdout.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::child::{self, Tail};
use crate::wait::{SAID_WITHIN, wait_until};

const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A process that speaks MCP on its standard streams; killed when dropped.
#[derive(Debug)]
pub struct Stdio {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Tail,
    // Messages that came while the answer to another request was awaited.
    early: VecDeque<Value>,
    next_id: u64,
}

impl Stdio {
    /// Starts `binary` with these arguments, for example `["stdio", "--data", …]`.
    pub fn spawn(
        binary: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Self> {
        let binary = binary.as_ref();
        let mut child = child::command(binary)
            .args(arguments)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let stdout = child.stdout.take().context("no stdout")?;
        let stderr = Tail::follow(child.stderr.take());
        let stdin = child.stdin.take();
        let stdout = BufReader::new(stdout).lines();
        Ok(Self { child, stdin, stdout, stderr, early: VecDeque::new(), next_id: 1 })
    }

    /// Sends one line as it is.
    pub async fn send_line(&mut self, line: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().context("stdin is closed")?;
        stdin.write_all(format!("{line}\n").as_bytes()).await?;
        Ok(stdin.flush().await?)
    }

    /// Sends one message.
    pub async fn send(&mut self, message: &Value) -> Result<()> {
        self.send_line(&message.to_string()).await
    }

    /// The next message, in the order they came; fails if anything but JSON is on stdout.
    pub async fn receive(&mut self) -> Result<Value> {
        match self.early.pop_front() {
            Some(message) => Ok(message),
            None => self.read().await,
        }
    }

    /// Sends a request and returns the answer to it; whatever else comes meanwhile is kept for `receive`.
    pub async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        loop {
            let message = self.read().await?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
            self.early.push_back(message);
        }
    }

    /// Waits until it has written these words to stderr, which comes by another way than its answers; gives everything that
    /// stands there.
    pub async fn said(&self, words: &str) -> Result<String> {
        let told = async || Some(self.stderr()).filter(|text| text.contains(words));
        wait_until(&format!("{words:?} on stderr"), SAID_WITHIN, told).await.with_context(|| self.stderr())
    }

    /// The end of what it has written to stderr.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Closes its stdin, as a client that leaves does, and waits until it has ended.
    pub async fn finish(mut self) -> Result<ExitStatus> {
        drop(self.stdin.take());
        child::exit_of(&mut self.child).await.with_context(|| format!("its stderr: {}", self.stderr()))
    }

    async fn read(&mut self) -> Result<Value> {
        let line = match tokio::time::timeout(ANSWER_WITHIN, self.stdout.next_line()).await {
            Err(_) => bail!("nothing on stdout within {ANSWER_WITHIN:?}; its stderr: {}", self.stderr()),
            Ok(line) => line?.with_context(|| format!("stdout is closed; its stderr: {}", self.stderr()))?,
        };
        serde_json::from_str(&line).with_context(|| format!("not a message on stdout: {line:?}"))
    }
}
