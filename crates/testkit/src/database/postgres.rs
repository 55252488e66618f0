//! How a PostgreSQL server is initialised and started. It refuses to be root.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::process::Signal;
use tokio::process::Command;

use super::install::{Account, find, run};
use super::server::{Durability, ServerOptions, Setup};

/// Debian keeps every release in a folder of its own, off the path.
const DEBIAN_RELEASES: &str = "/usr/lib/postgresql";

/// The folder with the newest release's programs.
pub(super) fn programs() -> Option<PathBuf> {
    let releases = std::fs::read_dir(DEBIAN_RELEASES).into_iter().flatten().flatten();
    let newest = releases
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .map(|release| (release, Path::new(DEBIAN_RELEASES).join(release.to_string()).join("bin")))
        .filter(|(_, folder)| folder.join("initdb").exists())
        .max();
    newest.map(|(_, folder)| folder).or_else(|| Some(find("initdb", &[])?.parent()?.to_owned()))
}

pub(super) fn setup(folder: &Path) -> Result<Setup> {
    let programs =
        programs().context("PostgreSQL is not installed; `cargo xtask test` as root installs it")?;
    let account = Account::for_postgres()?;
    if let Some(account) = account {
        account.own(folder)?;
    }
    Ok(Setup { programs, account, last_signal: ("QUIT", Signal::QUIT) })
}

pub(super) async fn initialise(setup: &Setup, data: &Path) -> Result<()> {
    let mut command = setup.command("initdb");
    // Small segments and no synchronising: a third of the time and of the space.
    command.args(["--username=postgres", "--auth=trust", "--no-sync", "--wal-segsize=1"]);
    command.args(["--encoding=UTF8", "--locale=C.UTF-8", "--pgdata"]).arg(data);
    run(command).await
}

pub(super) fn server(setup: &Setup, data: &Path, options: ServerOptions, port: u16) -> Command {
    let mut command = setup.command("postgres");
    command.arg("-D").arg(data).args(["-p", &port.to_string()]);
    // No connections set aside: the limit that a test names is the limit, for the superuser too. Shared memory in the data
    // folder goes with it, even if the server is killed.
    let always =
        ["listen_addresses=127.0.0.1", "unix_socket_directories=", "superuser_reserved_connections=0"];
    command.args(always.map(|setting| format!("--{setting}")));
    command.args(["--max_wal_senders=0", "--dynamic_shared_memory_type=mmap"]);
    command.arg(format!("--max_connections={}", options.max_connections));
    if options.durability == Durability::Fast {
        command.args(["--fsync=off", "--full_page_writes=off", "--autovacuum=off"]);
    }
    command
}

pub(super) fn url(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres")
}
