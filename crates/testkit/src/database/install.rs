//! Finding the programs of a database server, and the account that may run them.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::process::Command;

/// Longer than any preparation takes on a busy machine.
const PREPARE_WITHIN: Duration = Duration::from_mins(1);

/// A program on the path or in one of those folders.
pub(super) fn find(program: &str, folders: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let folders = on_path.into_iter().chain(folders.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Runs a preparation to its end; the error shows what it wrote.
pub(super) async fn run(mut command: Command) -> Result<()> {
    let shown = command.as_std().get_program().display().to_string();
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = tokio::time::timeout(PREPARE_WITHIN, output).await;
    let output = output
        .with_context(|| format!("{shown} took longer than {PREPARE_WITHIN:?}"))?
        .context(shown.clone())?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{shown} ended with {}:\n{said}", output.status);
    Ok(())
}

/// The account of a server that must not be root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Account {
    /// The package's own account, or nobody's; none is needed by who is not root.
    pub(super) fn for_postgres() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let accounts = std::fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
        match ["postgres", "nobody"].into_iter().find_map(|name| Self::read(&accounts, name)) {
            Some(account) => Ok(Some(account)),
            None => bail!("PostgreSQL refuses to run as root, and there is no account postgres or nobody"),
        }
    }

    fn read(accounts: &str, name: &str) -> Option<Self> {
        let mut fields = accounts
            .lines()
            .map(|line| line.split(':'))
            .find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
        Some(Self { user: fields.nth(1)?.parse().ok()?, group: fields.next()?.parse().ok()? })
    }

    pub(super) fn own(self, folder: &Path) -> Result<()> {
        chown(folder, Some(self.user), Some(self.group))
            .with_context(|| format!("cannot give {} to the server's account", folder.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_by_its_whole_name() {
        let accounts =
            "root:x:0:0::/root:/bin/sh\npostgresql:x:7:8::/:\npostgres:x:101:104:A,,:/:/bin/bash\n";
        let account = Account::read(accounts, "postgres").unwrap();
        assert_eq!((account.user, account.group), (101, 104));
        assert!(Account::read(accounts, "nobody").is_none());
    }
}
