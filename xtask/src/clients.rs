//! Installs the official MCP clients, the conformance suites and the foreign servers that the tests drive the binary with,
//! at the versions pinned in `clients/`, into the target folder. Nothing outside it changes, except missing system packages on
//! a Debian run as root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::packages;
use crate::workspace::{Workspace, answer_of, run};

/// The conformance suite and the inspector ask for this; Debian 12 has 18.
const OLDEST_NODE: (u32, u32) = (22, 19);
/// A Node.js that npm can install where the system's is too old.
const PACKAGED_NODE: &str = "22.23.3";

/// The releases of FastMCP whose servers the tests run; each has its pins in `clients/fastmcp`.
const FASTMCP: [&str; 3] = ["2", "3", "4"];

/// Where the clients and the servers are, for the tests to find.
pub(crate) struct Clients {
    python: PathBuf,
    node: PathBuf,
    node_modules: PathBuf,
    /// Has one environment of Python for each release.
    fastmcp: PathBuf,
}

impl Clients {
    pub(crate) fn environment(&self) -> [(&'static str, &Path); 4] {
        [
            ("TOOLRAIL_TEST_PYTHON", &self.python),
            ("TOOLRAIL_TEST_NODE", &self.node),
            ("TOOLRAIL_TEST_NODE_MODULES", &self.node_modules),
            ("TOOLRAIL_TEST_FASTMCP", &self.fastmcp),
        ]
    }
}

/// Does nothing but read a few files when the pinned versions are already there.
pub(crate) fn install(workspace: &Workspace) -> Result<Clients> {
    let pins = workspace.root.join("clients");
    let folder = workspace.target.join("clients");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    install_system_packages()?;
    let python = install_python(&pins.join("python/requirements.txt"), &folder.join("venv"))?;
    let fastmcp = folder.join("fastmcp");
    fs::create_dir_all(&fastmcp).with_context(|| format!("cannot create {}", fastmcp.display()))?;
    for release in FASTMCP {
        let requirements = pins.join(format!("fastmcp/requirements-{release}.txt"));
        install_python(&requirements, &fastmcp.join(release))?;
    }
    let node = find_node(&folder)?;
    let node_modules = install_typescript(&pins.join("typescript"), &folder)?;
    Ok(Clients { python, node, node_modules, fastmcp })
}

/// An environment with what `requirements` pins.
fn install_python(requirements: &Path, environment: &Path) -> Result<PathBuf> {
    let python = environment.join("bin/python");
    let stamp = Stamp::new(environment, &[requirements])?;
    if !stamp.is_current() {
        println!("installing what {} pins into {}", requirements.display(), environment.display());
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(environment))?;
        run(Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-compile",
                "--requirement",
            ])
            .arg(requirements))?;
        stamp.write()?;
    }
    Ok(python)
}

fn install_typescript(pins: &Path, folder: &Path) -> Result<PathBuf> {
    let project = folder.join("node");
    let files = ["package.json", "package-lock.json"];
    let stamp = Stamp::new(&project, &files.map(|file| pins.join(file)).each_ref().map(PathBuf::as_path))?;
    if !stamp.is_current() {
        println!(
            "installing the TypeScript MCP clients and servers and the conformance suites into {}",
            project.display()
        );
        fs::create_dir_all(&project).with_context(|| format!("cannot create {}", project.display()))?;
        for file in files {
            fs::copy(pins.join(file), project.join(file)).with_context(|| format!("cannot copy {file}"))?;
        }
        // Not `ci`: it refuses a lock that leaves out the packages of other platforms, as npm writes it.
        run(npm(&project).args(["install", "--no-save"]))?;
        stamp.write()?;
    }
    Ok(project.join("node_modules"))
}

fn find_node(folder: &Path) -> Result<PathBuf> {
    let version = answer_of("node", &["--version"]).unwrap_or_default();
    if release(&version) >= OLDEST_NODE {
        return Ok(PathBuf::from("node"));
    }
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let package = format!("node-linux-{architecture}");
    let project = folder.join("node-runtime");
    let node = project.join("node_modules").join(&package).join("bin/node");
    if !node.exists() {
        let (major, minor) = OLDEST_NODE;
        println!(
            "Node.js {major}.{minor} or newer is needed, found {version:?}: installing {package} {PACKAGED_NODE}"
        );
        fs::create_dir_all(&project).with_context(|| format!("cannot create {}", project.display()))?;
        run(npm(&project).args(["install", "--no-save"]).arg(format!("{package}@{PACKAGED_NODE}")))?;
    }
    Ok(node)
}

fn npm(project: &Path) -> Command {
    let mut command = Command::new("npm");
    command
        .args(["--no-fund", "--no-audit", "--loglevel=error", "--prefix"])
        .arg(project)
        .current_dir(project);
    command
}

/// Installs Python and Node.js where they are missing and we may; otherwise says what to install.
fn install_system_packages() -> Result<()> {
    let present = |program: &str, arguments: &[&str]| answer_of(program, arguments).is_some();
    let mut missing = Vec::new();
    // Debian ships python3 without ensurepip, and only the latter tells whether venv will work.
    if !present("python3", &["-c", "import venv, ensurepip"]) {
        missing.extend(["python3", "python3-venv"]);
    }
    if !present("npm", &["--version"]) {
        missing.extend(["nodejs", "npm"]);
    }
    packages::install(&missing, "the client tests")
}

/// Remembers which pins a folder was installed from.
struct Stamp {
    file: PathBuf,
    pins: String,
}

impl Stamp {
    fn new(folder: &Path, pins: &[&Path]) -> Result<Self> {
        let contents = pins
            .iter()
            .map(|path| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display())))
            .collect::<Result<String>>()?;
        Ok(Self { file: folder.join("installed-from"), pins: contents })
    }

    fn is_current(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|installed| installed == self.pins)
    }

    fn write(&self) -> Result<()> {
        fs::write(&self.file, &self.pins).with_context(|| format!("cannot write {}", self.file.display()))
    }
}

/// The major and the minor number of a version; zeros for what is none.
fn release(version: &str) -> (u32, u32) {
    let mut numbers = version.trim_start_matches('v').split('.').map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_versions_are_read_by_their_first_two_numbers() {
        let cases = [
            ("v20.20.2", (20, 20)),
            ("v18.19.0", (18, 19)),
            ("22.1.0", (22, 1)),
            ("", (0, 0)),
            ("nightly", (0, 0)),
        ];
        for (version, expected) in cases {
            assert_eq!(release(version), expected, "{version:?}");
        }
    }

    #[test]
    fn changed_pins_make_a_stamp_stale() {
        let folder = tempfile::tempdir().unwrap();
        let pins = folder.path().join("requirements.txt");
        fs::write(&pins, "mcp==2.3.0\n").unwrap();
        let stamp = Stamp::new(folder.path(), &[&pins]).unwrap();
        assert!(!stamp.is_current());
        stamp.write().unwrap();
        assert!(stamp.is_current());
        fs::write(&pins, "mcp==2.3.1\n").unwrap();
        assert!(!Stamp::new(folder.path(), &[&pins]).unwrap().is_current());
    }
}
