//! A store that is opened when it can be: a gateway starts while its database is away, and everything that needs it fails
//! until it is back.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::time::Instant;
use toolrail_core::{
    AuditEntry, AuditHead, AuditStore, Author, Change, Changes, DefinitionStore, Forget, HistoryQuery,
    HistoryStore, LearntQuery, News, NewsKind, QueryPage, Record, RecordStore, RecordWrite, RecordWritten,
    ReplicaStore, Retention, Revision, Row, Store, StoreError, Usage, UseStore, Uses, Version, async_trait,
};

/// How long after an attempt the next is made.
const REST: Duration = Duration::from_secs(1);

/// Opens the store.
pub type OpenStore = Box<dyn Fn() -> OpeningStore + Send + Sync>;
/// The store, once it is open.
pub type OpeningStore = Pin<Box<dyn Future<Output = Result<Arc<dyn Store>, StoreError>> + Send>>;

/// A store that may not be open yet.
pub struct LateStore {
    description: String,
    open: OpenStore,
    opened: OnceLock<Arc<dyn Store>>,
    /// When and why the last attempt failed; held while one is made.
    failed: Mutex<Option<(Instant, String)>>,
}

impl LateStore {
    /// The store that `open` opens; `description` is what it is, for people, without credentials.
    pub fn new(description: impl Into<String>, open: OpenStore) -> Self {
        Self { description: description.into(), open, opened: OnceLock::new(), failed: Mutex::default() }
    }

    /// The store, opening it if that was not tried a moment ago.
    pub async fn opened(&self) -> Result<&Arc<dyn Store>, StoreError> {
        if let Some(store) = self.opened.get() {
            return Ok(store);
        }
        let mut failed = self.failed.lock().await;
        if let Some(store) = self.opened.get() {
            return Ok(store);
        }
        if let Some((_, error)) = failed.as_ref().filter(|(at, _)| at.elapsed() < REST) {
            return Err(StoreError::Unavailable {
                store: self.description.clone(),
                source: error.as_str().into(),
            });
        }
        match (self.open)().await {
            Ok(store) => Ok(self.opened.get_or_init(|| store)),
            Err(error) => {
                *failed = Some((Instant::now(), told(&error)));
                Err(error)
            }
        }
    }
}

/// Why it could not be opened, without what [`StoreError::Unavailable`] says before that.
fn told(error: &StoreError) -> String {
    match error {
        StoreError::Unavailable { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

#[async_trait]
impl DefinitionStore for LateStore {
    fn bell(&self) -> Option<Arc<Notify>> {
        self.opened.get().and_then(|store| store.bell())
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.opened().await?.revision().await
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.opened().await?.count().await
    }

    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError> {
        self.opened().await?.changes_since(since).await
    }

    async fn find(&self, tenant: Option<&str>, name: &str) -> Result<Option<Row>, StoreError> {
        self.opened().await?.find(tenant, name).await
    }

    async fn write(&self, changes: &[Change], author: &Author) -> Result<Revision, StoreError> {
        self.opened().await?.write(changes, author).await
    }

    async fn reconcile(&self) -> Result<u64, StoreError> {
        self.opened().await?.reconcile().await
    }
}

#[async_trait]
impl HistoryStore for LateStore {
    async fn history(&self, query: &HistoryQuery) -> Result<Vec<Version>, StoreError> {
        self.opened().await?.history(query).await
    }

    async fn state_at(&self, revision: Revision) -> Result<Vec<Version>, StoreError> {
        self.opened().await?.state_at(revision).await
    }

    async fn forget(&self, retention: &Retention) -> Result<u64, StoreError> {
        self.opened().await?.forget(retention).await
    }
}

#[async_trait]
impl AuditStore for LateStore {
    async fn audit(&self, after: i64, most: u32) -> Result<Vec<AuditEntry>, StoreError> {
        self.opened().await?.audit(after, most).await
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        self.opened().await?.audit_head().await
    }
}

#[async_trait]
impl UseStore for LateStore {
    async fn record_uses(&self, uses: &[Uses]) -> Result<(), StoreError> {
        self.opened().await?.record_uses(uses).await
    }

    async fn learnt_number(&self) -> Result<i64, StoreError> {
        self.opened().await?.learnt_number().await
    }

    async fn usage_after(&self, number: i64) -> Result<Vec<Usage>, StoreError> {
        self.opened().await?.usage_after(number).await
    }

    async fn record_queries(&self, learnt: &[LearntQuery]) -> Result<(), StoreError> {
        self.opened().await?.record_queries(learnt).await
    }

    async fn queries_after(&self, number: i64) -> Result<QueryPage, StoreError> {
        self.opened().await?.queries_after(number).await
    }

    async fn forget_queries(&self, what: &Forget) -> Result<u64, StoreError> {
        self.opened().await?.forget_queries(what).await
    }
}

#[async_trait]
impl ReplicaStore for LateStore {
    async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError> {
        self.opened().await?.shared_key(name).await
    }

    async fn leave(&self, topic: &str, body: &[u8]) -> Result<(), StoreError> {
        self.opened().await?.leave(topic, body).await
    }

    async fn collect(&self, topic: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        self.opened().await?.collect(topic).await
    }

    async fn announce(&self, kind: NewsKind, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        self.opened().await?.announce(kind, bodies).await
    }

    async fn news_after(&self, number: i64) -> Result<Vec<News>, StoreError> {
        self.opened().await?.news_after(number).await
    }
}

#[async_trait]
impl RecordStore for LateStore {
    async fn record_number(&self) -> Result<i64, StoreError> {
        self.opened().await?.record_number().await
    }

    async fn records_after(&self, number: i64, kinds: &[&str]) -> Result<Vec<Record>, StoreError> {
        self.opened().await?.records_after(number, kinds).await
    }

    async fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, StoreError> {
        self.opened().await?.record(kind, id).await
    }

    async fn write_record(&self, write: &RecordWrite) -> Result<RecordWritten, StoreError> {
        self.opened().await?.write_record(write).await
    }
}

#[async_trait]
impl Store for LateStore {
    fn describe(&self) -> String {
        self.description.clone()
    }

    async fn close(&self) {
        if let Some(store) = self.opened.get() {
            store.close().await;
        }
    }
}
