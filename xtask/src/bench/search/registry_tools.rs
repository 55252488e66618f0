//! The source system's search, `registry-tools` from PyPI, in an environment of its own under the target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::super::workspace::{Workspace, answer_of, run, shown};

/// A Python that has the package.
pub(super) struct RegistryTools {
    python: PathBuf,
    script: PathBuf,
}

/// What one run of it gave.
pub(super) struct Ran {
    pub(super) build_ms: f64,
    pub(super) microseconds: Vec<f64>,
    pub(super) resident: u64,
    /// The names of the hits of each query.
    pub(super) ranked: Vec<Vec<String>>,
}

impl RegistryTools {
    /// Installs it, or says why not: a comparison that cannot be made does not stop the others.
    pub(super) fn install(workspace: &Workspace) -> Option<Self> {
        if answer_of("python3", &["-c", "import venv, ensurepip"]).is_none() {
            eprintln!("registry-tools is left out: Python 3 with venv is not installed");
            return None;
        }
        match Self::prepare(workspace) {
            Ok(ready) => Some(ready),
            Err(error) => {
                eprintln!("registry-tools is left out: {error:#}");
                None
            }
        }
    }

    fn prepare(workspace: &Workspace) -> Result<Self> {
        let source = workspace.root.join("xtask/registry-tools");
        let requirements = source.join("requirements.txt");
        let environment = workspace.target.join("bench/registry-tools");
        let python = environment.join("bin/python");
        let stamp = environment.join("installed-from");
        let wanted = fs::read_to_string(&requirements)?;
        if !fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            eprintln!("installing registry-tools into {}", environment.display());
            run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
            let pip = [
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "--requirement",
            ];
            run(Command::new(&python).args(pip).arg(&requirements))?;
            fs::write(&stamp, wanted)?;
        }
        Ok(Self { python, script: source.join("search.py") })
    }

    /// Indexes those tools and asks those queries.
    pub(super) fn run(&self, tools: &[Value], queries: &[&str], limit: usize) -> Result<Ran> {
        let folder = tempfile::tempdir()?;
        let (tools_file, queries_file) =
            (folder.path().join("tools.jsonl"), folder.path().join("queries.jsonl"));
        write_lines(&tools_file, tools)?;
        write_lines(&queries_file, &queries.iter().map(|query| Value::from(*query)).collect::<Vec<_>>())?;
        let mut command = Command::new(&self.python);
        command.arg(&self.script).arg(tools_file).arg(queries_file).arg(limit.to_string());
        let output = command.stderr(Stdio::inherit()).output().context("cannot start Python")?;
        ensure!(output.status.success(), "`{}` failed ({})", shown(&command), output.status);
        let answer: Value = serde_json::from_slice(&output.stdout).context("registry-tools gave no JSON")?;
        read_answer(&answer).context("registry-tools gave something else than asked for")
    }
}

fn write_lines(path: &Path, values: &[Value]) -> Result<()> {
    let lines = values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    fs::write(path, lines).with_context(|| format!("cannot write {}", path.display()))
}

fn read_answer(answer: &Value) -> Option<Ran> {
    let names = |hits: &Value| -> Option<Vec<String>> {
        hits.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
    };
    Some(Ran {
        build_ms: answer["buildMs"].as_f64()?,
        microseconds: answer["microseconds"].as_array()?.iter().filter_map(Value::as_f64).collect(),
        resident: answer["residentBytes"].as_u64()?,
        ranked: answer["ranked"].as_array()?.iter().map(names).collect::<Option<_>>()?,
    })
}
