//! The key that a command shows to a gateway that asks for one: from the environment, or from a file.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use http::HeaderValue;

use super::super::Hinted;

const KEY: &str = "TOOLRAIL_KEY";

#[derive(Args)]
pub(in crate::cli) struct KeyArgs {
    /// File with the key to show to a server that asks for one [env: TOOLRAIL_KEY has the key itself]
    #[arg(long, global = true, env = "TOOLRAIL_KEY_FILE", value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl KeyArgs {
    /// The key that was given, if any. A flag goes before the environment.
    pub(in crate::cli) fn key(&self) -> anyhow::Result<Option<ClientKey>> {
        if let Some(file) = &self.key_file {
            return ClientKey::read(file).map(Some);
        }
        match std::env::var(KEY) {
            Ok(text) if !text.trim().is_empty() => ClientKey::of(&text, KEY).map(Some),
            _ => Ok(None),
        }
    }
}

/// A key, ready to be shown.
#[derive(Clone)]
pub(in crate::cli) struct ClientKey(HeaderValue);

impl ClientKey {
    fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("the key file {} cannot be read", file.display()))?;
        Self::of(&text, &file.display().to_string())
    }

    /// The key of that text, which was found there.
    pub(in crate::cli) fn of(text: &str, place: &str) -> anyhow::Result<Self> {
        let header = HeaderValue::from_str(&format!("Bearer {}", text.trim()));
        let mut header = header.map_err(|_| {
            Hinted::error(
                format!("{place} has no key"),
                "it holds one line, such as `toolrail keys create` prints",
            )
        })?;
        header.set_sensitive(true);
        Ok(Self(header))
    }

    pub(in crate::cli) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}
