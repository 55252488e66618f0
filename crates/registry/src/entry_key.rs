//! What an entry is kept under: names are unique within a tenant, and among the shared ones.

use std::sync::Arc;

use toolrail_core::{ToolKey, ToolName};

/// Whose it is, and its folded name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct EntryKey {
    /// Everybody's if absent.
    pub(crate) tenant: Option<Arc<str>>,
    pub(crate) name: Arc<str>,
}

impl EntryKey {
    /// The key of that name, in any case.
    pub(crate) fn new(tenant: Option<Arc<str>>, name: &str) -> Self {
        Self { tenant, name: ToolName::fold(name).into() }
    }

    /// The same as stores write it.
    pub(crate) fn to_tool_key(&self) -> ToolKey {
        ToolKey { tenant: self.tenant.as_deref().map(str::to_owned), name: self.name.to_string() }
    }
}
