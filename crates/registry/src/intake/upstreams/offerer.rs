//! Who offers something: an upstream, with what its tools have of it.

use std::sync::Arc;

use toolrail_core::{Approval, Problem, Severity, Upstream};

use crate::approvals::{ApprovalDesk, NeededApproval};
use crate::calls::UseLog;
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// Who offers something.
#[derive(Clone)]
pub(crate) struct Offerer {
    /// What its definition is kept under; whose it is, its tools are.
    pub(crate) key: EntryKey,
    /// The name of its definition, or of the native tools.
    pub(crate) name: String,
    /// The kind that reaches it.
    pub(crate) kind: Arc<str>,
    /// What its tools are shown to come from: `Native` or `Upstream`.
    pub(crate) source: SourceId,
    /// Where its definition stands, for people.
    pub(crate) origin: String,
    pub(crate) upstream: Arc<dyn Upstream>,
    /// Hears which of its tools are called.
    pub(crate) uses: Arc<UseLog>,
    /// That a person must approve of each call, if one must, and where calls wait for that.
    pub(crate) approval: Option<Approval>,
    pub(crate) approvals: Arc<ApprovalDesk>,
    /// Its definition as JSON text; natives have none.
    pub(crate) document: Arc<str>,
}

impl Offerer {
    /// That calls of the tool with that entry need approval, if they do.
    pub(crate) fn needed_approval(&self, entry: &str) -> Option<Box<NeededApproval>> {
        let rule = self.approval.clone()?;
        let definition = (&*self.document, Some(entry));
        Some(Box::new(NeededApproval::new(rule, definition, Arc::clone(&self.approvals))))
    }

    pub(crate) fn problem(&self, severity: Severity, message: String) -> Problem {
        Problem {
            severity,
            tool: Some(self.name.clone()),
            origin: Some(self.origin.clone()),
            pointer: String::new(),
            message,
            spot: None,
        }
    }
}
