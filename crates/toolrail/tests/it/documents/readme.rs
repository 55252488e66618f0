//! The README's commands do what the README says: each `sh` block is run as it stands, and what follows `# →` must be
//! part of the output.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::support::gateway;

/// A command of the README and what it says comes back.
struct Step {
    command: String,
    expected: String,
}

#[tokio::test]
async fn r155_the_eight_steps_work_when_pasted() -> Result<()> {
    for file in ["README.md", "README.zh-CN.md"] {
        let gateway = gateway().args(["--demo"]).start().await?;
        let shown = gateway.get("/admin/tools/weather.current").await?.json()?;
        let service = shown["configJson"]["http"]["url"].as_str().context("the demonstration's address")?;
        let service = service.trim_end_matches("/weather");
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file))?;
        let steps = steps(&text);
        ensure!(steps.len() >= 10, "{file} has only {} steps", steps.len());
        for Step { command, expected } in steps {
            let here = command
                .replace("http://127.0.0.1:8080", gateway.url())
                .replace("http://127.0.0.1:8081", service);
            let output = Command::new("sh").args(["-c", &here]).output().await?;
            let printed = String::from_utf8_lossy(&output.stdout);
            ensure!(printed.contains(&expected), "{file}: {command}\nprinted {printed}\nnot {expected}");
        }
    }
    Ok(())
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut command = String::new();
    let mut inside = false;
    for line in text.lines() {
        match line.trim() {
            "```sh" => inside = true,
            "```" => inside = false,
            expected if inside && expected.starts_with("# → ") => {
                let expected = expected.trim_start_matches("# → ").to_owned();
                steps.push(Step { command: std::mem::take(&mut command), expected });
            }
            _ if inside => {
                command.push_str(line);
                command.push('\n');
            }
            _ => {}
        }
    }
    steps
}
