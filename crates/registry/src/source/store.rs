//! The store as a source: rows written by us or by any other program.

use std::sync::Arc;

use async_trait::async_trait;
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
        Ok(Some(Loaded {
            revision: changes.revision,
            complete: since.is_none(),
            drafts: changes.rows.into_iter().map(draft_of).collect(),
            removed: changes.removed.into_iter().map(|key| key.name).collect(),
            problems: Vec::new(),
        }))
    }
}

fn draft_of(row: Row) -> Draft {
    Draft {
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
