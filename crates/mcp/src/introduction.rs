//! How the server introduces itself.

use serde_json::{Value, json};
use toolrail_protocol::meta::SERVER_INFO;

/// How the server introduces itself.
#[derive(Clone, Debug)]
pub struct ServerInfo {
    /// Its name for machines.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// What a model should know about using it.
    pub instructions: Option<String>,
}

/// That, and what is made of it once.
pub(crate) struct Introduction {
    pub(crate) info: ServerInfo,
    /// What every modern result ends with, but for the two last braces.
    pub(crate) modern_tail: Vec<u8>,
}

impl Introduction {
    pub(crate) fn new(info: ServerInfo) -> Self {
        let me = Self { info, modern_tail: Vec::new() };
        let tail =
            format!("\"resultType\":\"complete\",\"_meta\":{{\"{SERVER_INFO}\":{}", me.implementation());
        Self { modern_tail: tail.into_bytes(), ..me }
    }

    /// The same as JSON.
    pub(crate) fn implementation(&self) -> Value {
        let ServerInfo { name, title, version, .. } = &self.info;
        let mut implementation = json!({"name": name, "version": version});
        if let Some(title) = title {
            implementation["title"] = title.as_str().into();
        }
        implementation
    }
}
