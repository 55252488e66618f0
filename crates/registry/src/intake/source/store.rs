//! The store as a source: rows written by us or by any other program, read page by page.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;
use toolrail_core::{HistoryQuery, Revision, Row, Store, StoreError};

use super::{Draft, Loaded, Source, SourceError};
use crate::source_id::SourceId;

/// Definitions kept in a store.
pub struct StoreSource {
    store: Arc<dyn Store>,
    /// How the history ended at the revision that was read last, if it could be read.
    mark: Mutex<Option<Mark>>,
}

/// The newest version at or before a revision. Another one there later means another database, whatever its revision: one
/// that was restored and then changed as often, for example.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    at: Revision,
    newest: Option<Newest>,
}

/// A version's number and time, and the tenant and name of the definition.
type Newest = (Revision, String, Option<String>, String);

/// What became of a store since it was read.
enum Since {
    Unchanged,
    Changed,
    Replaced,
}

impl StoreSource {
    /// The definitions of that store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, mark: Mutex::default() }
    }

    async fn look(&self, seen: Revision) -> Result<Since, StoreError> {
        let now = self.store.revision().await?;
        if now < seen {
            return Ok(Since::Replaced);
        }
        let known = self.mark.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let known = known.filter(|known| known.at == seen);
        let found = self.mark_at(seen).await;
        match (known, found) {
            (Some(known), Some(found)) if known != found => {
                tracing::warn!(
                    revision = seen,
                    "the store has another history than before; all is read anew"
                );
                return Ok(Since::Replaced);
            }
            (None, found @ Some(_)) => self.remember(found),
            (Some(_) | None, _) => {}
        }
        Ok(if now == seen { Since::Unchanged } else { Since::Changed })
    }

    /// Nothing, if the history cannot be read: then the revision alone must tell.
    async fn mark_at(&self, at: Revision) -> Option<Mark> {
        let query = HistoryQuery { of: None, before: Some(at.saturating_add(1)), most: 1 };
        let versions = self.store.history(&query).await.ok()?;
        let newest = versions.into_iter().next();
        Some(Mark {
            at,
            newest: newest.map(|version| (version.revision, version.at, version.tenant, version.name)),
        })
    }

    fn remember(&self, mark: Option<Mark>) {
        *self.mark.lock().unwrap_or_else(PoisonError::into_inner) = mark;
    }
}

#[async_trait]
impl Source for StoreSource {
    fn id(&self) -> SourceId {
        SourceId::Store
    }

    fn describe(&self) -> String {
        self.store.describe()
    }

    async fn load(&self, since: Option<Revision>) -> Result<Option<Loaded>, SourceError> {
        let mut since = since;
        if let Some(seen) = since {
            match self.look(seen).await? {
                Since::Unchanged => return Ok(None),
                Since::Changed => {}
                Since::Replaced => since = None,
            }
        }
        let changes = self.store.changes_since(since.unwrap_or(0)).await?;
        self.remember(self.mark_at(changes.revision).await);
        let mut tenants = Tenants::default();
        Ok(Some(Loaded {
            revision: changes.revision,
            complete: since.is_none(),
            more: changes.more,
            drafts: changes.rows.into_iter().map(|row| draft_of(row, &mut tenants)).collect(),
            removed: changes.removed,
            problems: Vec::new(),
            age: changes.age,
        }))
    }

    async fn reconcile(&self) -> Result<(), SourceError> {
        self.store.reconcile().await?;
        Ok(())
    }

    async fn count(&self) -> Result<Option<u64>, SourceError> {
        Ok(Some(self.store.count().await?))
    }

    fn bell(&self) -> Option<Arc<Notify>> {
        self.store.bell()
    }
}

/// The tenants of one page: many rows share one name.
#[derive(Default)]
pub(crate) struct Tenants(HashMap<String, Arc<str>>);

impl Tenants {
    fn name(&mut self, tenant: String) -> Arc<str> {
        if let Some(known) = self.0.get(&tenant) {
            return Arc::clone(known);
        }
        let name: Arc<str> = tenant.as_str().into();
        self.0.insert(tenant, Arc::clone(&name));
        name
    }
}

pub(crate) fn draft_of(row: Row, tenants: &mut Tenants) -> Draft {
    Draft {
        tenant: row.tenant.map(|tenant| tenants.name(tenant)),
        text: row.config_json.into(),
        fault: None,
        origin: format!("store row {:?}", row.name),
        name: Some(row.name),
        enabled: row.enabled,
        version: Some(row.version),
        updated_at: Some(row.updated_at),
        updated_by: row.updated_by,
        good: None,
    }
}
