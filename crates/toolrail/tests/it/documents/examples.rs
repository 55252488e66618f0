//! The examples and documents stay true: every complete definition in them validates without a warning, and every `sh`
//! block, run as it stands, prints what its `# →` lines say.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use toolrail_testkit::Gateway;

use crate::support::{BINARY, gateway, run_in};

/// Fences of complete definitions, and the extension of the file that each would be.
const DEFINITION_FENCES: [(&str, &str); 2] = [("```yaml definition", "yaml"), ("```json definition", "json")];

/// The only warning a good example may have: secrets have no value where it is checked.
const MISSING_SECRET: &str = "has no value here, so calls fail";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[tokio::test]
async fn every_definition_under_examples_is_good() -> Result<()> {
    // Each by itself: two stories may tell of the same tool.
    for folder in std::fs::read_dir(repository().join("examples"))? {
        let folder = folder?.path();
        if folder.join("Cargo.toml").exists() {
            continue;
        }
        validate(&folder).await.with_context(|| folder.display().to_string())?;
    }
    Ok(())
}

#[tokio::test]
async fn every_complete_definition_in_the_documents_is_good() -> Result<()> {
    let mut found = 0;
    for document in files_in(&repository().join("docs"), "md")? {
        let text = std::fs::read_to_string(&document)?;
        for (fence, extension) in DEFINITION_FENCES {
            for block in blocks(&text, fence) {
                let folder = tempfile::tempdir()?;
                std::fs::write(folder.path().join(format!("definition.{extension}")), &block)?;
                validate(folder.path()).await.with_context(|| format!("{}:\n{block}", document.display()))?;
                found += 1;
            }
        }
    }
    ensure!(
        found >= 5,
        "the documents have only {found} complete definitions; is the marker still the same?"
    );
    Ok(())
}

/// Fails on every problem of the definitions in `folder`, two of the same name included.
async fn validate(folder: &Path) -> Result<()> {
    let ran = run_in(folder, &["validate", "--json", "."]).await?;
    let report: Value = serde_json::from_str(&ran.stdout).with_context(|| ran.stderr.clone())?;
    let problems: Vec<&Value> = report["problems"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|problem| !problem["message"].as_str().is_some_and(|text| text.contains(MISSING_SECRET)))
        .collect();
    ensure!(problems.is_empty(), "{problems:#?}");
    ensure!(ran.code == Some(0) && report["definitions"] != json!(0), "{}{}", ran.stdout, ran.stderr);
    Ok(())
}

#[tokio::test]
async fn the_commands_of_every_example_do_what_they_say() -> Result<()> {
    for folder in std::fs::read_dir(repository().join("examples"))? {
        let folder = folder?;
        // Those are binaries of their own, with tests of their own.
        if folder.path().join("Cargo.toml").exists() {
            continue;
        }
        let readme = folder.path().join("README.md");
        let steps = steps(&std::fs::read_to_string(&readme).with_context(|| readme.display().to_string())?);
        let calls = steps.iter().filter(|step| step.command.contains("toolrail tools call")).count();
        ensure!(calls > 0, "{} calls none of its tools", readme.display());
        // An example with a folder `tools` is about serving it; the others register their definitions.
        let served = Path::new("examples").join(folder.file_name()).join("tools");
        let served = folder.path().join("tools").is_dir().then_some(served);
        Reader::start(served).await?.follow(&readme, steps).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_commands_of_every_document_do_what_they_say() -> Result<()> {
    let mut found = 0;
    for document in files_in(&repository().join("docs"), "md")? {
        let steps = steps(&std::fs::read_to_string(&document)?);
        found += steps.len();
        Reader::start(None).await?.follow(&document, steps).await?;
    }
    ensure!(found >= 20, "the documents have only {found} commands; is the fence still the same?");
    Ok(())
}

/// Somebody who pastes commands: in a copy of the examples, beside a gateway with the demonstration.
struct Reader {
    gateway: Gateway,
    folder: TempDir,
    /// Host and port of the demonstration's service, which the texts have at port 8081.
    service: String,
}

impl Reader {
    /// `served` is the folder of definitions that the gateway watches, if any.
    async fn start(served: Option<PathBuf>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let examples = folder.path().join("examples");
        copy(&repository().join("examples"), &examples, "127.0.0.1:8081")?;
        let mut builder = gateway()
            .arg("--demo")
            .env("TOOLRAIL_SECRETS", "DEMO_KEY@127.0.0.1,DEMO_PASSWORD@127.0.0.1")
            .env("TOOLRAIL_SECRET_DEMO_KEY", "k-12345678")
            .env("TOOLRAIL_SECRET_DEMO_PASSWORD", "p-12345678");
        if let Some(served) = served {
            builder = builder.arg("--tools").arg(folder.path().join(served));
        }
        let gateway = builder.start().await?;
        let shown = gateway.get("/admin/tools/weather.current").await?.json()?;
        let url = shown["configJson"]["http"]["url"].as_str().context("the demonstration's address")?;
        let service = url.trim_start_matches("http://").trim_end_matches("/weather").to_owned();
        copy(&repository().join("examples"), &examples, &service)?;
        gateway.post_json("/admin/refresh", &Value::Null).await?;
        Ok(Self { gateway, folder, service })
    }

    /// Runs the steps in order; they may rest on each other.
    async fn follow(&self, file: &Path, steps: Vec<Step>) -> Result<()> {
        for Step { command, expected } in steps {
            let printed = self.run(&self.here(&command)).await?;
            for part in expected {
                let part = self.here(&part);
                ensure!(
                    printed.contains(&part),
                    "{}: {command}\nprinted {printed}\nnot {part}",
                    file.display()
                );
            }
        }
        Ok(())
    }

    async fn run(&self, command: &str) -> Result<String> {
        let binaries = Path::new(BINARY).parent().context("the folder of the binary")?;
        let path = std::env::var("PATH").unwrap_or_default();
        let running = Command::new("sh")
            .args(["-c", command])
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}", binaries.display()))
            .env("TOOLRAIL_DATA", self.gateway.data())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(Duration::from_secs(30), running)
            .await
            .with_context(|| format!("{command} does not end"))??;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The text with the addresses that are in use here.
    fn here(&self, text: &str) -> String {
        let gateway = self.gateway.url().trim_start_matches("http://");
        text.replace("127.0.0.1:8080", gateway).replace("127.0.0.1:8081", &self.service)
    }
}

/// A command, and parts of what it says comes back.
struct Step {
    command: String,
    expected: Vec<String>,
}

/// The commands of every `sh` block; one ends where its `# →` lines do.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks(text, "```sh") {
        let mut open = false;
        for line in block.lines() {
            match (line.strip_prefix("# → "), steps.last_mut()) {
                (Some(expected), Some(step)) => {
                    step.expected.push(expected.to_owned());
                    open = false;
                }
                (None, Some(step)) if open => step.command.extend(["\n", line]),
                _ => {
                    steps.push(Step { command: line.to_owned(), expected: Vec::new() });
                    open = true;
                }
            }
        }
    }
    steps
}

/// What stands between a fence with exactly this opening and its end.
fn blocks(text: &str, fence: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while lines.by_ref().any(|line| line == fence) {
        let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(inside.join("\n"));
    }
    blocks
}

fn files_in(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Copies a folder, with the demonstration's service at `service`.
fn copy(from: &Path, to: &Path, service: &str) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().context("a file has a name")?);
        if path.is_dir() {
            copy(&path, &target, service)?;
        } else {
            let text = std::fs::read_to_string(&path)?;
            std::fs::write(target, text.replace("127.0.0.1:8081", service))?;
        }
    }
    Ok(())
}
