//! One request for vectors and its answer.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use toolrail_core::{CallError, Embedding, ErrorCode};

use super::EmbeddingsSettings;
use crate::outbound::{Bound, Client, Incoming, Outgoing, SendLimits, Sensitive};
use crate::runtime::Runtime;

/// About the most bytes that one number takes in JSON.
const BYTES_PER_NUMBER: usize = 26;
/// How much of an error answer is told.
const MOST_TOLD: usize = 200;

/// Where vectors come from.
pub(super) struct EmbeddingsEndpoint {
    client: Arc<Client>,
    uri: Uri,
    headers: HeaderMap,
    sensitive: Sensitive,
    model: String,
    dimensions: Option<usize>,
    /// How many dimensions its vectors turned out to have.
    seen: OnceLock<usize>,
}

/// Why there are no vectors.
pub(super) enum Refusal {
    /// It does not take these texts, and never will.
    Texts(String),
    /// It cannot be used at the moment; it may say itself how long.
    Now { message: String, retry_after: Option<Duration> },
    /// It did not answer in time.
    Late(String),
}

#[derive(Serialize)]
struct EmbeddingsRequest<'a> {
    model: &'a str,
    input: &'a [&'a str],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with data")]
struct EmbeddingsResponse {
    data: Vec<One>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with an embedding")]
struct One {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl EmbeddingsEndpoint {
    pub(super) fn new(settings: &EmbeddingsSettings, runtime: &Runtime) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let mut sensitive = Sensitive::default();
        if let Some(name) = &settings.api_key {
            let secret = runtime.secrets.find(name);
            let secret = secret.ok_or_else(|| {
                format!("the secret {name} has no value; {}", runtime.secrets.how_to_set(name))
            })?;
            let value = HeaderValue::try_from(format!("Bearer {}", secret.reveal()))
                .map_err(|_| format!("the secret {name} cannot stand in a header; remove its line breaks"))?;
            headers.insert(AUTHORIZATION, value);
            sensitive = Sensitive::of([secret.reveal()]);
        }
        Ok(Self {
            client: Arc::clone(&runtime.client),
            uri: uri_of(&settings.url)?,
            headers,
            sensitive,
            model: settings.model.clone(),
            dimensions: settings.dimensions,
            seen: settings.dimensions.map(OnceLock::from).unwrap_or_default(),
        })
    }

    /// The vectors of those texts, in their order.
    pub(super) async fn ask(
        &self,
        texts: &[&str],
        within: Duration,
    ) -> Result<Vec<Option<Embedding>>, Refusal> {
        let asked = EmbeddingsRequest {
            model: &self.model,
            input: texts,
            encoding_format: "float",
            dimensions: self.dimensions,
        };
        let body = serde_json::to_vec(&asked).map_err(|error| self.now(&error.to_string()))?;
        let request = Outgoing {
            method: Method::POST,
            uri: self.uri.clone(),
            headers: self.headers.clone(),
            body: Bytes::from(body),
            secret_body: false,
            limits: SendLimits {
                connect: within,
                total: within,
                max_response_bytes: texts.len() * Embedding::MOST_DIMENSIONS * BYTES_PER_NUMBER,
                redirects: 0,
            },
            sensitive: self.sensitive.clone(),
            bound: Bound::default(),
        };
        let answer = self.client.send(request).await.map_err(|failure| self.not_reached(&failure.error))?;
        if answer.status != StatusCode::OK {
            return Err(self.refused(&answer));
        }
        self.vectors(&answer.body, texts.len())
    }

    fn vectors(&self, body: &[u8], count: usize) -> Result<Vec<Option<Embedding>>, Refusal> {
        let answered: EmbeddingsResponse = serde_json::from_slice(body)
            .map_err(|error| self.now(&format!("it answered something that has no embeddings: {error}")))?;
        let mut vectors = vec![None; count];
        for (place, one) in answered.data.iter().enumerate() {
            let dimensions = one.embedding.len();
            let wanted = *self.seen.get_or_init(|| dimensions);
            if wanted != dimensions {
                return Err(self.now(&format!(
                    "it answered with {dimensions} dimensions instead of {wanted}; correct search.semantic.dimensions"
                )));
            }
            if let Some(vector) = vectors.get_mut(one.index.unwrap_or(place)) {
                *vector = Embedding::towards(&one.embedding);
            }
        }
        if answered.data.len() != count {
            return Err(
                self.now(&format!("it answered {} embeddings for {count} texts", answered.data.len()))
            );
        }
        Ok(vectors)
    }

    fn refused(&self, answer: &Incoming) -> Refusal {
        let told = String::from_utf8_lossy(&answer.body[..answer.body.len().min(MOST_TOLD)]);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        let status = answer.status.as_u16();
        match answer.status {
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
                Refusal::Texts(format!("{} answered with status {status}: {told}", self.uri))
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                self.now(&format!("it answered with status {status}; check search.semantic.apiKey"))
            }
            StatusCode::NOT_FOUND => self.now(&format!(
                "it answered with status {status}: {told}; check search.semantic.url and model"
            )),
            _ => Refusal::Now {
                message: self.told(&format!("it answered with status {status}: {told}")),
                retry_after: retry_after(&answer.headers),
            },
        }
    }

    fn not_reached(&self, error: &CallError) -> Refusal {
        match error.code {
            ErrorCode::Timeout => Refusal::Late(self.told(&error.message)),
            _ => self.now(&error.message),
        }
    }

    fn now(&self, why: &str) -> Refusal {
        Refusal::Now { message: self.told(why), retry_after: None }
    }

    fn told(&self, why: &str) -> String {
        let authority = self.uri.authority().map_or("", http::uri::Authority::as_str);
        format!("no vectors from {authority}: {why}")
    }
}

/// `https://host/v1` and `https://host/v1/embeddings` mean the same.
fn uri_of(url: &str) -> Result<Uri, String> {
    let url = url.trim_end_matches('/');
    let whole = if url.ends_with("/embeddings") { url.to_owned() } else { format!("{url}/embeddings") };
    let uri: Uri = whole.parse().map_err(|error| format!("the URL {url} cannot be read: {error}"))?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    if !is_http || uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
        return Err("the URL must begin with http:// or https:// and have no password; give a key as apiKey"
            .to_owned());
    }
    Ok(uri)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse::<u32>().ok()?;
    Some(Duration::from_secs(seconds.into()))
}
