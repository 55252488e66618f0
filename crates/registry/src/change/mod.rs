//! Changing what is in the store: registering, switching and removing (`write.rs`), plans (`plan.rs`, `sync.rs`), the history
//! and the way back (`history.rs`, `rollback.rs`), and the audit record (`audit.rs`, `contradictions.rs`).

mod audit;
mod contradiction;
mod contradictions;
mod error;
mod history;
mod plan;
mod retention;
mod rollback;
mod stored_form;
mod sync;
mod write;

pub use audit::{AuditReport, Noted, Stray};
pub use contradiction::{Contradiction, HistoryFault};
pub use error::{Conflict, WriteError};
pub use history::Comparison;
pub use plan::{Applied, Covers, Desired, Plan, PlanMode, Step, StepKind};
pub use rollback::{RollbackOutcome, RolledBack};
pub use stored_form::{document_of, stored_form};
pub use sync::{Refusal, SyncPlan};
pub use write::{BatchMode, Done, Registered, Which, Written};

use std::sync::Arc;

use toolrail_core::Store;

use crate::catalog::Catalog;
use crate::intake::Intake;
use crate::store::WriteHealth;

/// Changes what is in the store, and publishes that before it answers.
pub struct Changes {
    catalog: Arc<Catalog>,
    intake: Arc<Intake>,
    store: Arc<dyn Store>,
    writes: Arc<WriteHealth>,
}

impl Changes {
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        intake: Arc<Intake>,
        store: Arc<dyn Store>,
        writes: Arc<WriteHealth>,
    ) -> Self {
        Self { catalog, intake, store, writes }
    }
}
