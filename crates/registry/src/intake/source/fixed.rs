//! A source whose definitions are given once and do not change, such as those of the demonstration.

use async_trait::async_trait;
use serde_json::Value;
use toolrail_core::Revision;

use super::{Draft, Loaded, Source, SourceError};
use crate::source_id::SourceId;

/// Definitions that do not change.
pub struct FixedSource {
    id: SourceId,
    description: String,
    documents: Vec<Value>,
}

impl FixedSource {
    /// Those definitions, under that name.
    pub fn new(id: SourceId, description: impl Into<String>, documents: Vec<Value>) -> Self {
        Self { id, description: description.into(), documents }
    }
}

#[async_trait]
impl Source for FixedSource {
    fn id(&self) -> SourceId {
        self.id
    }

    fn describe(&self) -> String {
        self.description.clone()
    }

    async fn load(&self, since: Option<Revision>) -> Result<Option<Loaded>, SourceError> {
        if since.is_some() {
            return Ok(None);
        }
        let drafts = self.documents.iter().map(|document| Draft {
            tenant: None,
            name: None,
            text: document.to_string().into(),
            fault: None,
            origin: self.description.clone(),
            enabled: true,
            version: None,
            updated_at: None,
            updated_by: None,
            good: None,
        });
        Ok(Some(Loaded { revision: 1, complete: true, drafts: drafts.collect(), ..Loaded::default() }))
    }
}
