//! The block `search.semantic`: by what means the meaning of texts is known, a table in files or a server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolrail_core::{Embedding, Reach};

use super::wording;

/// What may stand under `search.semantic`: `table` and `tokenizer`, or `url` and `model`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SemanticFile {
    /// A table of vectors in the format safetensors, relative to this file, such as WordLlama's.
    pub(crate) table: Option<PathBuf>,
    /// The `tokenizer.json` of the table, relative to this file.
    pub(crate) tokenizer: Option<PathBuf>,
    /// A server that speaks OpenAI's `/v1/embeddings`: its address up to `/v1`.
    pub(crate) url: Option<String>,
    /// The model to ask that server for.
    pub(crate) model: Option<String>,
    /// The key for that server as a secret, such as `{{secrets.OPENAI_API_KEY}}`; none when left out.
    pub(crate) api_key: Option<String>,
    /// How many dimensions to ask for; what the model gives when left out.
    pub(crate) dimensions: Option<usize>,
    /// The most texts of one request (1 to 2048); 64 when left out.
    pub(crate) batch_size: Option<usize>,
    /// How long a request for the vectors of tools may take (100 to 600000); 30000 when left out.
    pub(crate) timeout_ms: Option<u64>,
    /// How long a search waits for the vector of its query (10 to 60000); 1000 when left out.
    pub(crate) query_timeout_ms: Option<u64>,
    /// Which texts are understood: `any`, or `latin` for those in Latin letters; `latin` for a table and `any` for a server
    /// when left out.
    pub(crate) scripts: Option<Scripts>,
}

/// Which texts are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Scripts {
    Any,
    Latin,
}

/// The semantic tier that is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SemanticSettings {
    /// A table in two files.
    Table { table: PathBuf, tokenizer: PathBuf, reach: Reach },
    /// A server.
    Server(ServerSettings),
}

/// A server for vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerSettings {
    pub(crate) url: String,
    pub(crate) model: String,
    /// The name of a secret.
    pub(crate) api_key: Option<String>,
    pub(crate) dimensions: Option<usize>,
    pub(crate) batch: Option<usize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) query_timeout: Option<Duration>,
    pub(crate) reach: Reach,
}

/// Everything that is wrong with the block beyond its keys.
pub(super) fn faults(members: &Map<String, Value>) -> Vec<String> {
    let read = serde_json::from_value::<SemanticFile>(Value::Object(members.clone()));
    // What single keys have wrong is told elsewhere.
    let Ok(file) = read else { return Vec::new() };
    let mut faults: Vec<String> = file
        .out_of_range()
        .into_iter()
        .map(|(key, fault)| wording::fault(&format!("/search/semantic/{key}"), &fault))
        .collect();
    if let Err(fault) = file.settle() {
        faults.push(wording::fault("/search/semantic", &fault));
    }
    faults
}

impl SemanticFile {
    /// Makes the paths relative to the folder of the file.
    pub(super) fn relative_to(&mut self, folder: &Path) {
        for path in self.table.iter_mut().chain(&mut self.tokenizer) {
            *path = folder.join(&path);
        }
    }

    /// What is meant: a table, or a server.
    pub(super) fn settle(&self) -> Result<SemanticSettings, String> {
        match (&self.table, &self.tokenizer, &self.url, &self.model) {
            (Some(table), Some(tokenizer), None, None) if !self.has_server_keys() => Ok(SemanticSettings::Table {
                table: table.clone(),
                tokenizer: tokenizer.clone(),
                reach: self.reach(Reach::Latin),
            }),
            (None, None, Some(url), Some(model)) => Ok(SemanticSettings::Server(ServerSettings {
                url: url.clone(),
                model: model.clone(),
                api_key: self.api_key.as_deref().map(secret_name).transpose()?,
                dimensions: self.dimensions,
                batch: self.batch_size,
                timeout: self.timeout_ms.map(Duration::from_millis),
                query_timeout: self.query_timeout_ms.map(Duration::from_millis),
                reach: self.reach(Reach::AnyScript),
            })),
            _ => Err("give either table and tokenizer, or url and model (with apiKey, dimensions, batchSize, timeoutMs, queryTimeoutMs if need be)".to_owned()),
        }
    }

    fn has_server_keys(&self) -> bool {
        self.api_key.is_some()
            || self.dimensions.is_some()
            || self.batch_size.is_some()
            || self.timeout_ms.is_some()
            || self.query_timeout_ms.is_some()
    }

    fn reach(&self, usual: Reach) -> Reach {
        match self.scripts {
            None => usual,
            Some(Scripts::Any) => Reach::AnyScript,
            Some(Scripts::Latin) => Reach::Latin,
        }
    }

    fn out_of_range(&self) -> Vec<(&'static str, String)> {
        let between = |key, value: Option<u64>, least: u64, most: u64| {
            let wrong = value.filter(|value| !(least..=most).contains(value));
            wrong.map(|value| (key, format!("{value} is not between {least} and {most}")))
        };
        let count = |value: Option<usize>| value.map(|value| value as u64);
        [
            between("dimensions", count(self.dimensions), 1, Embedding::MOST_DIMENSIONS as u64),
            between("batchSize", count(self.batch_size), 1, 2048),
            between("timeoutMs", self.timeout_ms, 100, 600_000),
            between("queryTimeoutMs", self.query_timeout_ms, 10, 60_000),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The name of the secret in `{{secrets.NAME}}`.
fn secret_name(text: &str) -> Result<String, String> {
    let inside = text.trim().strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
    let name =
        inside.and_then(|inside| inside.trim().strip_prefix("secrets.")).filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| {
        // Not repeated: it may be the key itself.
        "apiKey must name a secret, such as {{secrets.OPENAI_API_KEY}}; the key itself does not belong here"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(block: Value) -> Vec<String> {
        faults(block.as_object().unwrap())
    }

    #[test]
    fn it_is_a_table_or_a_server() {
        assert!(told(json!({"table": "t", "tokenizer": "k"})).is_empty());
        assert!(
            told(json!({"url": "u", "model": "m", "apiKey": "{{ secrets.KEY }}", "scripts": "latin"}))
                .is_empty()
        );
        for block in [
            json!({}),
            json!({"table": "t"}),
            json!({"url": "u"}),
            json!({"table": "t", "tokenizer": "k", "model": "m"}),
            json!({"table": "t", "tokenizer": "k", "apiKey": "{{secrets.KEY}}"}),
            json!({"url": "u", "model": "m", "table": "t", "tokenizer": "k"}),
        ] {
            assert!(told(block.clone())[0].contains("either table and tokenizer"), "{block}");
        }
    }

    #[test]
    fn a_key_is_the_name_of_a_secret_and_never_told() {
        let faults = told(json!({"url": "u", "model": "m", "apiKey": "sk-123456"}));
        assert!(
            faults[0].contains("secrets.OPENAI_API_KEY") && !faults[0].contains("sk-123456"),
            "{faults:?}"
        );
        assert_eq!(secret_name("{{secrets.A_B}}"), Ok("A_B".into()));
    }

    #[test]
    fn numbers_have_their_bounds() {
        let faults =
            told(json!({"url": "u", "model": "m", "dimensions": 0, "batchSize": 9999, "queryTimeoutMs": 1}));
        assert_eq!(faults.len(), 3, "{faults:?}");
    }
}
