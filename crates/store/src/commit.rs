//! What the servers share about a write whose connection was lost while it was committed: its last entry in the audit record
//! tells whether it was made.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use toolrail_core::{AuditHead, Revision, StoreError};

/// A commit that may be under way.
#[derive(Default)]
pub(crate) struct Commit(Mutex<Option<Pending>>);

/// A commit of which nobody knows what became of it.
pub(crate) struct Pending {
    /// Its last entry in the audit record.
    pub(crate) last: AuditHead,
    /// The revision that it leads to.
    revision: Revision,
}

impl Commit {
    /// From now on nobody knows, until the server has answered.
    pub(crate) fn begin(&self, last: Option<AuditHead>, revision: Revision) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = last.map(|last| Pending { last, revision });
    }

    /// What was begun, if anything was.
    pub(crate) fn pending(&self) -> Option<Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Pending {
    /// The revision, if its last entry is there; what went wrong, if it is not or the server could not be asked.
    pub(crate) fn settle<F: Display + From<StoreError>>(
        self,
        is_there: Option<bool>,
        failure: F,
        store: &str,
    ) -> Result<Revision, F> {
        match is_there {
            Some(true) => Ok(self.revision),
            Some(false) => Err(failure),
            None => {
                let source = failure.to_string().into();
                Err(StoreError::Unknown { store: store.to_owned(), source }.into())
            }
        }
    }
}
