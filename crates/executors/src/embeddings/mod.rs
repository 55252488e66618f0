//! Vectors of texts from a server that speaks OpenAI's `/v1/embeddings`, as vLLM, Ollama, LM Studio, Text Embeddings
//! Inference and the clouds do. `wire` is the request and its answer, `vault` keeps what was asked for before on disk,
//! `recent` the vectors of the last queries, `health` when a server that fails is asked again.

mod health;
mod recent;
mod settings;
mod vault;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use toolrail_core::{EmbedError, Embedder, Embedding, Reach, async_trait};

use crate::runtime::Runtime;
use health::Health;
use recent::Recent;
use vault::{Vault, VectorKey};
use wire::{EmbeddingsEndpoint, Refusal};

pub use settings::EmbeddingsSettings;

/// An embedder that asks a server.
pub struct Embeddings {
    endpoint: EmbeddingsEndpoint,
    settings: EmbeddingsSettings,
    vault: Option<Arc<Mutex<Vault>>>,
    recent: Mutex<Recent>,
    /// How requests for tools fare, for which nobody waits.
    patient: Health,
    /// How requests for queries fare, which have little time.
    quick: Health,
}

impl Embeddings {
    /// An embedder with those settings, or what is wrong with them.
    pub fn new(settings: EmbeddingsSettings, runtime: &Runtime) -> Result<Self, String> {
        let endpoint = EmbeddingsEndpoint::new(&settings, runtime)?;
        let vault = settings.folder.as_deref().and_then(|folder| {
            let opened = Vault::open(folder, &settings.model, settings.dimensions);
            opened
                .inspect_err(|error| {
                    tracing::warn!(folder = %folder.display(), %error, "vectors cannot be kept on disk; they are asked for anew after a restart");
                })
                .ok()
        });
        Ok(Self {
            endpoint,
            vault: vault.map(|vault| Arc::new(Mutex::new(vault))),
            recent: Mutex::default(),
            patient: Health::new("tools without vectors are found by their words alone", health::PATIENT),
            quick: Health::new("queries are looked for by their words alone", health::QUICK),
            settings,
        })
    }

    fn key(&self, text: &str) -> VectorKey {
        VectorKey::of(&self.settings.model, self.settings.dimensions, text)
    }

    /// What is on disk already.
    async fn kept(&self, keys: &[VectorKey]) -> Vec<Option<Embedding>> {
        let Some(vault) = self.vault.clone() else { return vec![None; keys.len()] };
        let wanted = keys.to_vec();
        let reading = tokio::task::spawn_blocking(move || {
            let mut vault = vault.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.iter().map(|key| vault.find(key)).collect()
        });
        reading.await.unwrap_or_else(|_| vec![None; keys.len()])
    }

    async fn keep(&self, found: Vec<(VectorKey, Embedding)>) {
        let Some(vault) = self.vault.clone() else { return };
        let writing = tokio::task::spawn_blocking(move || {
            vault.lock().unwrap_or_else(PoisonError::into_inner).put(&found)
        });
        if let Ok(Err(error)) = writing.await {
            tracing::debug!(%error, "vectors cannot be written to disk");
        }
    }

    /// Asks for the vectors of those texts. A server that refuses what it was given is asked for halves of it, so that one
    /// text it cannot take does not keep the others from having a vector.
    async fn ask(&self, texts: &[&str]) -> Result<Vec<Option<Embedding>>, EmbedError> {
        let mut waiting = vec![texts];
        let mut vectors = Vec::with_capacity(texts.len());
        while let Some(part) = waiting.pop() {
            match self.endpoint.ask(part, self.settings.timeout).await {
                Ok(answered) => vectors.extend(answered),
                Err(Refusal::Texts(_)) if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    waiting.extend([second, first]);
                }
                // It is not the texts then.
                Err(Refusal::Texts(message)) if vectors.len() >= 2 && vectors.iter().all(Option::is_none) => {
                    return Err(self.patient.failed(message, None));
                }
                Err(Refusal::Texts(message)) => {
                    tracing::debug!(%message, "a description has no vector");
                    vectors.push(None);
                }
                Err(Refusal::Now { message, retry_after }) => {
                    return Err(self.patient.failed(message, retry_after));
                }
                Err(Refusal::Late(message)) => {
                    let message = format!("{message}; search.semantic.timeoutMs says how long it may take");
                    return Err(self.patient.failed(message, None));
                }
            }
        }
        self.patient.succeeded();
        Ok(vectors)
    }
}

#[async_trait]
impl Embedder for Embeddings {
    fn model(&self) -> &str {
        &self.settings.model
    }

    fn reach(&self) -> Reach {
        self.settings.reach
    }

    fn batch(&self) -> usize {
        self.settings.batch
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Option<Embedding>>, EmbedError> {
        let keys: Vec<VectorKey> = texts.iter().map(|text| self.key(text)).collect();
        let mut vectors = self.kept(&keys).await;
        let missing: Vec<usize> = (0..texts.len()).filter(|place| vectors[*place].is_none()).collect();
        for places in missing.chunks(self.settings.batch.max(1)) {
            self.patient.check()?;
            let asked: Vec<&str> = places.iter().map(|place| texts[*place].as_str()).collect();
            let answered = self.ask(&asked).await?;
            let mut found = Vec::new();
            for (place, vector) in places.iter().zip(answered) {
                found.extend(vector.clone().map(|vector| (keys[*place], vector)));
                vectors[*place] = vector;
            }
            self.keep(found).await;
        }
        Ok(vectors)
    }

    async fn embed_query(&self, text: &str) -> Result<Option<Embedding>, EmbedError> {
        let key = self.key(text);
        if let Some(vector) = self.recent.lock().unwrap_or_else(PoisonError::into_inner).find(&key) {
            return Ok(Some(vector));
        }
        self.quick.check()?;
        match self.endpoint.ask(&[text], self.settings.query_timeout).await {
            Ok(mut vectors) => {
                self.quick.succeeded();
                let vector = vectors.pop().flatten();
                if let Some(vector) = &vector {
                    let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
                    recent.put(key, vector.clone());
                }
                Ok(vector)
            }
            // This query has none; the next may have one.
            Err(Refusal::Texts(message)) => Err(EmbedError { message, retry_after: Duration::ZERO }),
            Err(Refusal::Now { message, retry_after }) => Err(self.quick.failed(message, retry_after)),
            Err(Refusal::Late(message)) => {
                let message =
                    format!("{message}; search.semantic.queryTimeoutMs says how long a search waits");
                Err(self.quick.failed(message, None))
            }
        }
    }

    fn failing(&self) -> Option<String> {
        self.quick.failure().or_else(|| self.patient.failure())
    }
}
