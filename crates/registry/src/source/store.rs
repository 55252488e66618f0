//! The store as a source: rows written by us or by any other program, read page by page.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Notify;
use toolrail_core::{Revision, Row, Store};

use super::{Draft, Loaded, Source, SourceError};
use crate::entry::SourceId;

/// Definitions kept in a store.
pub struct StoreSource {
    store: Arc<dyn Store>,
}

impl StoreSource {
    /// The definitions of that store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
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
            let now = self.store.revision().await?;
            if now == seen {
                return Ok(None);
            }
            // A smaller revision means that the database was replaced: read it all again.
            since = Some(seen).filter(|seen| now > *seen);
        }
        let changes = self.store.changes_since(since.unwrap_or(0)).await?;
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
    }
}
