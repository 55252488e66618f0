//! System packages that the tests need: installed on a Debian run as root, named otherwise. No service is started by that.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::{answer_of, run};

/// What Debian asks before it starts a service; 101 means no.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs packages, if any; `purpose` says what needs them.
pub(crate) fn install(packages: &[&str], purpose: &str) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    let is_root = answer_of("id", &["-u"]).is_some_and(|user| user == "0");
    if !is_root || answer_of("apt-get", &["--version"]).is_none() {
        bail!("{purpose} need {list}; install them and run `cargo xtask test` again");
    }
    println!("installing system packages for {purpose}: {list}");
    let _policy = NoServices::begin(Path::new(POLICY))?;
    run(Command::new("apt-get").args(["update", "-qq"]))?;
    run(Command::new("apt-get")
        .args(["install", "-y", "-qq", "--no-install-recommends"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive"))
}

/// While this is held, packages start no service; a policy that is there already stays as it is.
struct NoServices<'a>(Option<&'a Path>);

impl<'a> NoServices<'a> {
    fn begin(policy: &'a Path) -> Result<Self> {
        if policy.exists() {
            return Ok(Self(None));
        }
        let written = || {
            fs::write(policy, "#!/bin/sh\nexit 101\n")?;
            fs::set_permissions(policy, fs::Permissions::from_mode(0o755))
        };
        written().with_context(|| format!("cannot write {}", policy.display()))?;
        Ok(Self(Some(policy)))
    }
}

impl Drop for NoServices<'_> {
    fn drop(&mut self) {
        if let Some(policy) = self.0
            && let Err(error) = fs::remove_file(policy)
        {
            eprintln!("cannot remove {}: {error}; do it by hand", policy.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_refused_only_meanwhile_and_a_policy_of_others_stays() {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy-rc.d");
        let held = NoServices::begin(&policy).unwrap();
        assert_eq!(Command::new(&policy).status().unwrap().code(), Some(101));
        drop(held);
        assert!(!policy.exists());
        fs::write(&policy, "#!/bin/sh\nexit 0\n").unwrap();
        drop(NoServices::begin(&policy).unwrap());
        assert_eq!(fs::read_to_string(&policy).unwrap(), "#!/bin/sh\nexit 0\n");
    }
}
