//! The semantic tier that the configuration names: a table out of files, or a server. One that cannot be used keeps nothing
//! from starting: search goes on by words and says why.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use toolrail_core::Embedder;
use toolrail_executors::Runtime;
use toolrail_executors::embeddings::{Embeddings, EmbeddingsSettings};
use toolrail_search::semantic::StaticTable;

use crate::config::{SemanticSettings, ServerSettings};

/// The largest table, and the largest tokenizer, in bytes.
const MOST_TABLE: u64 = 1 << 30;
const MOST_TOKENIZER: u64 = 64 << 20;
/// Where vectors from a server are kept, within the data folder.
const FOLDER: &str = "embeddings";

/// The embedder, or why there is none, which the log has too.
pub(crate) fn embedder(
    settings: &SemanticSettings,
    data: &Path,
    runtime: &Runtime,
) -> Result<Arc<dyn Embedder>, String> {
    let made = match settings {
        SemanticSettings::Table { table, tokenizer, reach } => {
            let read =
                read(table, MOST_TABLE).and_then(|table| Ok((table, read(tokenizer, MOST_TOKENIZER)?)));
            let table = read.and_then(|(table, tokenizer)| {
                StaticTable::read(table, &tokenizer, *reach).map_err(|problem| problem.to_string())
            });
            table.map(|table| Arc::new(table) as Arc<dyn Embedder>)
        }
        SemanticSettings::Server(server) => {
            let embeddings = Embeddings::new(server_settings(server, data), runtime);
            embeddings.map(|embeddings| Arc::new(embeddings) as Arc<dyn Embedder>)
        }
    };
    made.inspect_err(|why| {
        tracing::warn!(%why, "semantic search cannot be used; correct search.semantic, until then tools are found by words alone");
    })
}

fn server_settings(server: &ServerSettings, data: &Path) -> EmbeddingsSettings {
    EmbeddingsSettings {
        url: server.url.clone(),
        model: server.model.clone(),
        api_key: server.api_key.clone(),
        dimensions: server.dimensions,
        batch: server.batch.unwrap_or(EmbeddingsSettings::BATCH),
        timeout: server.timeout.unwrap_or(EmbeddingsSettings::TIMEOUT),
        query_timeout: server.query_timeout.unwrap_or(EmbeddingsSettings::QUERY_TIMEOUT),
        reach: server.reach,
        folder: Some(data.join(FOLDER)),
    }
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let mut bytes = Vec::new();
    File::open(path).map_err(unreadable)?.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most {
        return Err(format!("{} is larger than {} MiB", path.display(), most >> 20));
    }
    Ok(bytes)
}
