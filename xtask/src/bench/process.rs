//! The processes of the benchmark: starting them, finding their address, and reading what they cost from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

const START_DEADLINE: Duration = Duration::from_secs(20);
const END_DEADLINE: Duration = Duration::from_mins(1);

/// A running process under test; dropping it ends the process.
pub(super) struct Process {
    child: Child,
    id: u32,
}

impl Process {
    pub(super) fn spawn(command: &mut Command) -> Result<Self> {
        let child =
            command.kill_on_drop(true).spawn().with_context(|| format!("cannot start {command:?}"))?;
        let id = child.id().context("the process has already ended")?;
        Ok(Self { child, id })
    }

    /// Starts one of this program's own servers and reads the address it announces.
    pub(super) async fn spawn_server(program: &Path, arguments: &[&str]) -> Result<(Self, SocketAddr)> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Self::spawn(&mut command)?;
        let stdout = process.child.stdout.take().context("the server has no stdout")?;
        let mut line = String::new();
        tokio::time::timeout(START_DEADLINE, BufReader::new(stdout).read_line(&mut line))
            .await
            .with_context(|| format!("{arguments:?} did not announce its address in {START_DEADLINE:?}"))??;
        let address = line.trim().parse().with_context(|| format!("{arguments:?} announced {line:?}"))?;
        Ok((process, address))
    }

    /// Fails when the process has ended by itself.
    pub(super) fn check_alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("the process ended early ({status})"),
            None => Ok(()),
        }
    }

    pub(super) async fn kill(mut self) -> Result<()> {
        self.child.kill().await.context("cannot end the process")
    }

    /// Asks the process to end, and waits until it has.
    pub(super) async fn end(mut self) -> Result<()> {
        let id = self.id.to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status().await?;
        ensure!(asked.success(), "the process cannot be asked to end");
        tokio::time::timeout(END_DEADLINE, self.child.wait())
            .await
            .with_context(|| format!("the process did not end within {END_DEADLINE:?}"))??;
        Ok(())
    }

    pub(super) fn cpu(&self) -> Result<CpuTime> {
        CpuTime::read(self.id)
    }

    pub(super) fn memory(&self) -> Result<Memory> {
        Memory::read(self.id)
    }
}

/// Nanoseconds on the CPU so far, by thread.
pub(super) struct CpuTime(HashMap<String, u64>);

impl CpuTime {
    pub(super) fn read(id: u32) -> Result<Self> {
        let folder = format!("/proc/{id}/task");
        let mut threads = HashMap::new();
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {folder}"))? {
            let entry = entry?;
            // A thread may end between the two reads.
            let Ok(line) = fs::read_to_string(entry.path().join("schedstat")) else { continue };
            let nanoseconds = line.split_whitespace().next().and_then(|field| field.parse().ok());
            let nanoseconds = nanoseconds.with_context(|| format!("cannot read CPU time from {line:?}"))?;
            threads.insert(entry.file_name().to_string_lossy().into_owned(), nanoseconds);
        }
        if threads.is_empty() {
            bail!("{folder}/*/schedstat is missing: the benchmark needs a kernel with scheduler statistics");
        }
        Ok(Self(threads))
    }

    /// What the process used since an earlier reading.
    pub(super) fn since(&self, earlier: &Self) -> Duration {
        let used = self
            .0
            .iter()
            .map(|(thread, now)| now.saturating_sub(earlier.0.get(thread).copied().unwrap_or(0)));
        Duration::from_nanos(used.sum())
    }
}

/// Resident memory in bytes, now and at its highest.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub(super) resident: u64,
    pub(super) highest: u64,
}

impl Memory {
    pub(super) fn read(id: u32) -> Result<Self> {
        let path = format!("/proc/{id}/status");
        let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let field = |name: &str| -> Result<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
            kilobytes.map(|kilobytes| kilobytes * 1024).with_context(|| format!("{path} has no {name}"))
        };
        Ok(Self { resident: field("VmRSS:")?, highest: field("VmHWM:")? })
    }
}

/// Listens on a free port, prints the address on stdout and serves connections until stdin closes, which
/// happens when the measuring process ends, however it ends.
pub(super) async fn announce_and_accept<F>(serve: impl Fn(TcpStream) -> F) -> Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on loopback")?;
    println!("{}", listener.local_addr()?);
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(serve(stream));
    }
}
