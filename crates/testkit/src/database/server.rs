//! A database server of one's own, in a temporary folder and on a free port. It dies with the thread that started it.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::install::Account;
use super::{Connection, Database, DatabaseKind, mariadb, postgres, processes};
use crate::wait::wait_until;

/// Recovery after a crash included.
const START_WITHIN: Duration = Duration::from_mins(1);
const END_WITHIN: Duration = Duration::from_secs(15);
/// Killed in earnest if it takes longer.
const DROP_WITHIN: Duration = Duration::from_secs(5);
/// How often another port is tried when somebody was quicker.
const PORTS_TRIED: usize = 5;

/// Whether what is committed survives a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// As it is run in earnest.
    Full,
    /// Nothing is written through to the disk: for all tests that are not about this.
    Fast,
}

/// How a server is to be started.
#[derive(Clone, Copy, Debug)]
pub struct ServerOptions {
    /// Which kind.
    pub kind: DatabaseKind,
    /// Whether commits survive.
    pub durability: Durability,
    /// How many connections it takes.
    pub max_connections: u32,
}

impl ServerOptions {
    /// As it is run in earnest.
    pub fn new(kind: DatabaseKind) -> Self {
        Self { kind, durability: Durability::Full, max_connections: 100 }
    }

    /// Starts a server with an empty data folder and waits until it answers.
    pub async fn start(self) -> Result<Server> {
        let folder = tempfile::Builder::new().prefix("toolrail-db-").tempdir()?;
        let data = folder.path().join("data");
        let setup = match self.kind {
            DatabaseKind::Postgres => postgres::setup(folder.path())?,
            DatabaseKind::Mysql => mariadb::setup()?,
            DatabaseKind::Sqlite => bail!("SQLite has no server"),
        };
        match self.kind {
            DatabaseKind::Postgres => postgres::initialise(&setup, &data).await?,
            DatabaseKind::Mysql | DatabaseKind::Sqlite => mariadb::initialise(&data).await?,
        }
        let mut server = Server { options: self, setup, data, port: 0, child: None, folder };
        for tried in 1.. {
            server.port = free_port()?;
            match server.launch().await {
                Ok(()) => break,
                Err(error) if tried == PORTS_TRIED => return Err(error),
                Err(_) => server.end().await?,
            }
        }
        Ok(server)
    }
}

/// What starting a program of the server needs.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) programs: PathBuf,
    /// Another account to run it as.
    pub(super) account: Option<Account>,
    /// What ends it at once and lets it tidy up if there is anything to; by name and by number.
    pub(super) last_signal: (&'static str, Signal),
}

impl Setup {
    /// A program that ends with the thread that starts it, even if that is killed.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", self.last_signal.0]);
        if let Some(Account { user, group }) = self.account {
            command.arg(format!("--reuid={user}")).arg(format!("--regid={group}")).arg("--clear-groups");
        }
        // The test's own folder may be closed to that account.
        command.arg(self.programs.join(program)).current_dir("/");
        command
    }
}

/// A running server; killed and removed with all its data when dropped.
#[derive(Debug)]
pub struct Server {
    options: ServerOptions,
    setup: Setup,
    data: PathBuf,
    port: u16,
    child: Option<Child>,
    folder: TempDir,
}

impl Server {
    /// A server as it is run in earnest.
    pub async fn start(kind: DatabaseKind) -> Result<Self> {
        ServerOptions::new(kind).start().await
    }

    /// Whether the programs of such a server are installed.
    pub fn is_installed(kind: DatabaseKind) -> bool {
        match kind {
            DatabaseKind::Sqlite => true,
            DatabaseKind::Postgres => postgres::programs().is_some(),
            DatabaseKind::Mysql => mariadb::programs().is_some(),
        }
    }

    /// The URL of the database that every such server has, for somebody who may do everything.
    pub fn url(&self) -> String {
        match self.options.kind {
            DatabaseKind::Postgres => postgres::url(self.port),
            DatabaseKind::Mysql | DatabaseKind::Sqlite => mariadb::url(self.port),
        }
    }

    /// An empty database on this server.
    pub async fn database(&self) -> Result<Database> {
        Database::on_server(self.options.kind, &self.url()).await
    }

    /// A connection that may do everything.
    pub async fn connect(&self) -> Result<Connection> {
        Connection::open(self.options.kind, &self.url()).await
    }

    /// Ends it and all its processes without warning (SIGKILL), as a power cut would.
    pub async fn kill(&mut self) -> Result<()> {
        self.end().await
    }

    /// Starts it again on the same data and port, ending it first (SIGKILL) if it still runs, and waits until it answers.
    pub async fn restart(&mut self) -> Result<()> {
        self.end().await?;
        self.launch().await
    }

    /// Stops all its processes where they are (SIGSTOP): connections stay open, nothing is answered.
    pub fn pause(&self) -> Result<()> {
        processes::signal(self.pid()?, Signal::STOP);
        Ok(())
    }

    /// Lets it go on after [`Server::pause`].
    pub fn resume(&self) -> Result<()> {
        processes::signal(self.pid()?, Signal::CONT);
        Ok(())
    }

    /// Where its data and its log are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The end of its log, for the message of a failed test.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.log_file()).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(4096)..]).into_owned()
    }

    async fn launch(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.log_file())?;
        let (data, options) = (&self.data, self.options);
        let mut command = match options.kind {
            DatabaseKind::Postgres => postgres::server(&self.setup, data, options, self.port),
            DatabaseKind::Mysql | DatabaseKind::Sqlite => {
                mariadb::server(&self.setup, data, options, self.port)
            }
        };
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        // A group of its own: Ctrl-C is for whoever started us, who then stops us in order.
        let mut child =
            command.process_group(0).kill_on_drop(true).spawn().context("cannot start setpriv")?;
        let (kind, url) = (self.options.kind, self.url());
        let answered = wait_until("the database server to answer", START_WITHIN, async || {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(Err(anyhow::anyhow!("it ended at once with {status}")));
            }
            Connection::open(kind, &url).await.is_ok().then_some(Ok(()))
        })
        .await;
        self.child = Some(child);
        answered.and_then(|answer| answer).with_context(|| format!("{kind} did not start:\n{}", self.log()))
    }

    async fn end(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let Some(server) = pid_of(&child) else { return Ok(()) };
        let members = stop_for_good(server);
        child.kill().await?;
        wait_until("all processes of the database server to end", END_WITHIN, async || {
            (!members.iter().any(|member| processes::is_alive(*member))).then_some(())
        })
        .await
    }

    fn pid(&self) -> Result<Pid> {
        self.child.as_ref().and_then(pid_of).context("the database server does not run")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Ok(server) = self.pid() else { return };
        let mut members = processes::children(server);
        members.push(server);
        processes::send(server, self.setup.last_signal.1);
        processes::signal(server, Signal::CONT);
        // Their folder is removed next: nobody may still write there.
        let deadline = Instant::now() + DROP_WITHIN;
        while members.iter().any(|member| processes::is_alive(*member)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        stop_for_good(server);
    }
}

/// Kills a server and its processes, and returns those processes. Halted first, so that it starts none meanwhile.
fn stop_for_good(server: Pid) -> Vec<Pid> {
    processes::signal(server, Signal::STOP);
    let members = processes::children(server);
    processes::signal(server, Signal::KILL);
    for member in &members {
        processes::send(*member, Signal::KILL);
    }
    members
}

fn pid_of(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()?).ok()?)
}

/// A free port below those that the system gives to outgoing connections: while the server is down, nobody else gets it, and
/// nobody who tries to connect to it can meet himself.
fn free_port() -> Result<u16> {
    const FIRST: u16 = 15_000;
    const COUNT: u16 = 15_000;
    for _ in 0..100 {
        let mut random = [0; 2];
        getrandom::fill(&mut random)?;
        let port = FIRST + u16::from_ne_bytes(random) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port found for a database server")
}
