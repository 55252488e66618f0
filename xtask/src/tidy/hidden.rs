//! No source is hidden by `.gitignore`: it would build here, and be missing in every clone.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Fault;

/// Where sources stand.
const FOLDERS: [&str; 4] = ["crates", "xtask", "examples", "clients"];
/// How the names of sources end.
const SOURCES: [&str; 5] = ["rs", "sql", "json", "yaml", "yml"];
/// Folders that tools fill.
const FILLED: [&str; 2] = ["node_modules", "__pycache__"];
/// What marks a folder of build output, whatever it is called.
const MARK: &str = "CACHEDIR.TAG";

pub(super) fn check(root: &Path) -> Result<Vec<Fault>> {
    let hidden = ignored(root)?.into_iter().filter(|path| is_source(path) && !is_made(path, root));
    let fault = |path: PathBuf| {
        let text =
            "is hidden by .gitignore, so no clone has it: narrow the pattern, or move the file".to_owned();
        Fault { path, line: 1, text }
    };
    Ok(hidden.map(fault).collect())
}

/// The files that are ignored, from the root.
fn ignored(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--"])
        .args(FOLDERS)
        .current_dir(root)
        .output()
        .context("cannot start git, which lists the files that are ignored")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(listed.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect())
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| SOURCES.iter().any(|known| extension == *known))
}

/// Whether some tool made it: it stands below a folder that one fills.
fn is_made(path: &Path, root: &Path) -> bool {
    path.ancestors().skip(1).any(|folder| {
        let is_filled = folder.file_name().is_some_and(|name| FILLED.iter().any(|known| name == *known));
        // The workspace itself is no build output, whatever stands in it.
        is_filled || (folder != Path::new("") && root.join(folder).join(MARK).exists())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_source_that_git_ignores_is_a_fault_and_what_tools_make_is_none() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let made = Command::new("git").args(["init", "-q"]).current_dir(root.path()).status().unwrap();
        assert!(made.success());
        write(".gitignore", "target/\nnode_modules/\n__pycache__/\n*.log\n");
        for seen in ["crates/a/src/cli/target.rs", "examples/b/tool.yaml"] {
            write(seen, "");
        }
        for made in [
            "crates/a/target/debug/build/out.rs",
            "clients/node_modules/x/package.json",
            "examples/b/__pycache__/c.json",
            "crates/a/src/target/notes.txt",
            "crates/a/build.log",
            "elsewhere/target/d.rs",
        ] {
            write(made, "");
        }
        write("crates/a/target/CACHEDIR.TAG", "");
        assert_eq!(check(root.path()).unwrap(), []);

        for hidden in ["crates/a/src/cli/target/supplies.rs", "examples/b/target/tool.yaml"] {
            write(hidden, "");
        }
        let faults: Vec<String> = check(root.path()).unwrap().iter().map(Fault::to_string).collect();
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(
            faults[0].starts_with("crates/a/src/cli/target/supplies.rs:1: is hidden by .gitignore"),
            "{faults:?}"
        );
        assert!(faults[1].starts_with("examples/b/target/tool.yaml:1: "), "{faults:?}");
    }
}
