//! Where things are, and running other programs: every chore starts from here.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The workspace as Cargo sees it.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    /// The output of `cargo metadata --no-deps`.
    pub(crate) metadata: Value,
}

impl Workspace {
    /// Asks Cargo, so that `CARGO_TARGET_DIR` and the like are respected.
    pub(crate) fn find() -> Result<Self> {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        let output = cargo()
            .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path", manifest])
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start cargo metadata")?;
        if !output.status.success() {
            bail!("cargo metadata failed ({}); mend the manifests first", output.status);
        }
        let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
        let path_at = |key: &str| -> Result<PathBuf> {
            Ok(PathBuf::from(metadata[key].as_str().with_context(|| format!("cargo metadata has no {key}"))?))
        };
        Ok(Self { root: path_at("workspace_root")?, target: path_at("target_directory")?, metadata })
    }
}

/// The Cargo that runs us, or the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a command with our own output and fails, naming it, when it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// What a command prints on stdout, or nothing when it is missing or fails.
pub(crate) fn answer_of(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A path as it is written from the root of the workspace.
pub(crate) fn relative<'a>(path: &'a Path, root: &Path) -> &'a Path {
    path.strip_prefix(root).unwrap_or(path)
}

/// A command as it would be typed.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
