//! The ways in whose cost is measured: a key, a token, and a key under a rule that looks at arguments.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::issuer::{AUDIENCE, Issuer};

/// What callers show where they are asked who they are, and how a gateway is told to ask.
pub(super) struct WaysIn {
    pub(super) key: String,
    pub(super) token: String,
    /// Takes that token.
    pub(super) issued: Vec<String>,
    /// Has a rule that looks at arguments.
    pub(super) ruled: Vec<String>,
}

impl WaysIn {
    /// Makes a key in the store of that folder, and starts an issuer.
    pub(super) async fn make(toolrail: &Path, folder: &Path, data: &Path) -> Result<Self> {
        let mut keys = tokio::process::Command::new(toolrail);
        let made =
            keys.args(["keys", "create", "bench", "--role", "call", "--data"]).arg(data).output().await?;
        ensure!(made.status.success(), "no key can be made: {}", String::from_utf8_lossy(&made.stderr));
        let key = String::from_utf8(made.stdout)?.trim().to_owned();
        let configured = |name: &str, settings: &Value| -> Result<Vec<String>> {
            let file = folder.join(name);
            fs::write(&file, settings.to_string())?;
            Ok(vec!["--config".to_owned(), file.to_string_lossy().into_owned()])
        };
        let Issuer { url, token } = Issuer::start().await?;
        let grants = json!([{"claim": "sub", "value": "bench", "role": "call"}]);
        let issuer =
            json!({"issuer": url, "jwks": format!("{url}/keys"), "audiences": [AUDIENCE], "grants": grants});
        let issued = configured("issuer.json", &json!({"issuers": [issuer]}))?;
        let rule = json!({
            "name": "short", "effect": "allow", "tools": {"names": ["bench.*"]},
            "when": "args.city.size() < 40 && principal.name == 'bench'",
        });
        let rules = json!({"permissions": {"default": "deny", "rules": [rule]}});
        Ok(Self { key, token, issued, ruled: configured("rules.json", &rules)? })
    }
}
