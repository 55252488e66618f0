//! How tools are used: what calls left behind (`calls/`) is written to the store and read back from every replica (`counts.rs`,
//! `learning.rs`). `temperature.rs` says what all that makes of a tool.

mod counts;
mod learning;
mod temperature;

pub use learning::Learning;
pub use temperature::{Temperature, ToolUse};

use std::sync::Arc;

use toolrail_core::UseStore;

use crate::calls::UseLog;
use crate::catalog::Catalog;
use crate::store::WriteHealth;

/// How the tools of a catalog are used, here and on every replica.
pub struct Usage {
    catalog: Arc<Catalog>,
    /// What calls leave behind.
    log: Arc<UseLog>,
    store: Arc<dyn UseStore>,
    writes: Arc<WriteHealth>,
}

impl Usage {
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        log: Arc<UseLog>,
        store: Arc<dyn UseStore>,
        writes: Arc<WriteHealth>,
    ) -> Self {
        Self { catalog, log, store, writes }
    }
}
