//! How a MariaDB server is initialised and started.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::process::Signal;
use tokio::process::Command;

use super::install::{find, run};
use super::server::{Durability, ServerOptions, Setup};

/// Off the path of ordinary users.
const DEBIAN_PROGRAMS: &[&str] = &["/usr/sbin", "/usr/bin"];

/// The user that tests connect as; made at every start, which is simpler than making it once.
const MAKE_USER: &str = "CREATE USER IF NOT EXISTS 'toolrail'@'%' IDENTIFIED BY 'toolrail';\n\
                         GRANT ALL ON *.* TO 'toolrail'@'%' WITH GRANT OPTION;\n";

/// The folder with the server's program, if all that is needed is there.
pub(super) fn programs() -> Option<PathBuf> {
    find("mariadb-install-db", DEBIAN_PROGRAMS)?;
    find("my_print_defaults", DEBIAN_PROGRAMS)?;
    Some(find("mariadbd", DEBIAN_PROGRAMS)?.parent()?.to_owned())
}

pub(super) fn setup() -> Result<Setup> {
    let programs = programs().context("MariaDB is not installed; `cargo xtask test` as root installs it")?;
    Ok(Setup { programs, account: None, last_signal: ("KILL", Signal::KILL) })
}

pub(super) async fn initialise(data: &Path) -> Result<()> {
    let program = find("mariadb-install-db", DEBIAN_PROGRAMS).context("mariadb-install-db is missing")?;
    let mut command = Command::new(program);
    command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
    command.arg(format!("--datadir={}", data.display())).args(STORAGE).args(run_as()).arg(own_tmpdir(data));
    run(command).await?;
    Ok(std::fs::write(start_file(data), MAKE_USER)?)
}

/// Small files: a tenth of the time and of the space of the usual ones.
const STORAGE: &[&str] = &[
    "--innodb-data-file-path=ibdata1:4M:autoextend",
    "--innodb-autoextend-increment=1",
    "--innodb-log-file-size=16M",
];

pub(super) fn server(setup: &Setup, data: &Path, options: ServerOptions, port: u16) -> Command {
    let mut command = setup.command("mariadbd");
    command.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-log-bin", "--skip-name-resolve"]);
    command.args(STORAGE).args(run_as());
    command.arg(format!("--datadir={}", data.display())).arg(own_tmpdir(data));
    command.arg(format!("--init-file={}", start_file(data).display()));
    command.arg(format!("--socket={}", data.join("socket").display()));
    command.arg(format!("--pid-file={}", data.join("pid").display()));
    command.arg(format!("--port={port}"));
    command.arg(format!("--max-connections={}", options.max_connections));
    let flush = match options.durability {
        Durability::Fast => 0,
        Durability::Full => 1,
    };
    command.arg(format!("--innodb-flush-log-at-trx-commit={flush}"));
    command
}

pub(super) fn url(port: u16) -> String {
    format!("mysql://toolrail:toolrail@127.0.0.1:{port}/mysql")
}

fn start_file(data: &Path) -> PathBuf {
    data.with_extension("sql")
}

/// A server removes what others have left in its folder of temporary tables when it starts, even if they still use it.
fn own_tmpdir(data: &Path) -> String {
    format!("--tmpdir={}", data.parent().unwrap_or(data).display())
}

/// The server refuses to be root unless told to.
fn run_as() -> Option<&'static str> {
    rustix::process::geteuid().is_root().then_some("--user=root")
}
