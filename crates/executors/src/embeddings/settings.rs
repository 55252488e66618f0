//! What is said about a server for vectors.

use std::path::PathBuf;
use std::time::Duration;

use toolrail_core::Reach;

/// Which server to ask for vectors, and how.
#[derive(Clone, Debug)]
pub struct EmbeddingsSettings {
    /// Its address up to `/v1`, or with `/embeddings` behind that.
    pub url: String,
    /// The model to ask for.
    pub model: String,
    /// The name of the secret that is sent as bearer token, if any.
    pub api_key: Option<String>,
    /// How many dimensions to ask for, where the model leaves the choice.
    pub dimensions: Option<usize>,
    /// The most texts of one request.
    pub batch: usize,
    /// How long a request for the vectors of tools may take.
    pub timeout: Duration,
    /// How long a search waits for the vector of its query.
    pub query_timeout: Duration,
    /// Which texts the model understands.
    pub reach: Reach,
    /// Where vectors are kept; only in memory if absent.
    pub folder: Option<PathBuf>,
}

impl EmbeddingsSettings {
    /// The most texts of one request if nothing is said.
    pub const BATCH: usize = 64;
    /// How long a request for the vectors of tools may take if nothing is said.
    pub const TIMEOUT: Duration = Duration::from_secs(30);
    /// How long a search waits for the vector of its query if nothing is said.
    pub const QUERY_TIMEOUT: Duration = Duration::from_secs(1);
}
