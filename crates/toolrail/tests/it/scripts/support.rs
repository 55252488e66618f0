//! A gateway with a folder of scripts.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolrail_testkit::{Gateway, GatewayBuilder, wait_until};

use crate::support::gateway;

/// A gateway with a folder of scripts.
pub(super) struct Workshop {
    pub(super) gateway: Gateway,
    pub(super) folder: TempDir,
}

impl Workshop {
    pub(super) async fn with(files: &[(&str, &str)]) -> Result<Self> {
        Self::started(files, |builder| builder).await
    }

    pub(super) async fn started(
        files: &[(&str, &str)],
        settle: impl FnOnce(GatewayBuilder) -> GatewayBuilder,
    ) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for (name, text) in files {
            write(folder.path(), name, text)?;
        }
        let builder = gateway().arg("--discovery=off").arg("--tools").arg(folder.path());
        Ok(Self { gateway: settle(builder).start().await?, folder })
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<()> {
        write(self.folder.path(), name, text)
    }

    /// The result of a call.
    pub(super) async fn call(&self, name: &str, arguments: Value) -> Result<Value> {
        let called = self.gateway.mcp("tools/call", json!({"name": name, "arguments": arguments})).await?;
        let answer = called.json()?;
        // Without a revision a failure is an error, with the result in its data.
        if let Some(error) = answer.get("error").filter(|error| error["code"] == -32000) {
            let mut result = error["data"].clone();
            result["isError"] = json!(true);
            result["content"] = json!([{"type": "text", "text": error["message"]}]);
            return Ok(result);
        }
        answer.get("result").cloned().with_context(|| answer.to_string())
    }

    /// The text of its first block.
    pub(super) async fn text(&self, name: &str, arguments: Value) -> Result<String> {
        let result = self.call(name, arguments).await?;
        Ok(result["content"][0]["text"].as_str().with_context(|| result.to_string())?.to_owned())
    }

    /// Waits until a call gives this text.
    pub(super) async fn gives(&self, name: &str, text: &str) -> Result<()> {
        wait_until(text, Duration::from_secs(20), async || {
            self.text(name, json!({})).await.ok().filter(|given| given == text).map(drop)
        })
        .await
    }

    pub(super) async fn problems(&self) -> Result<String> {
        Ok(self.gateway.get("/admin/problems").await?.text())
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().context("a folder")?)?;
    Ok(std::fs::write(path, text)?)
}

/// A tool whose function has this body.
pub(super) fn tool(name: &str, body: &str) -> String {
    format!(
        "export const schema = {{ name: '{name}', description: 'A tool of the tests', type: 'object', properties: {{}} }};\nexport default async function (request: any, context: any) {{\n{body}\n}}\n"
    )
}
