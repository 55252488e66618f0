//! What became of a write whose connection was lost while it was committed. The server is asked: the transaction holds the
//! counter until it ends, one way or the other, so whoever has the counter after it sees what came of it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::PgPool;
use tokio::time::timeout;
use toolrail_core::{AuditHead, Revision, StoreError};

use super::connect::Lease;
use super::fault::Fault;

/// How long to ask: longer than the server keeps a transaction whose gateway is gone.
const ASKING: Duration = Duration::from_secs(6);

const WAIT: &str = "SELECT version FROM mcp_config_version WHERE id = 1 FOR UPDATE";
const IS_THERE: &str = "SELECT EXISTS (SELECT FROM mcp_tool_audit WHERE number = $1 AND hash = $2)";

/// A commit that may have been under way: its last entry in the audit record, and the revision it leads to.
#[derive(Default)]
pub(super) struct Commit(Mutex<Option<(AuditHead, Revision)>>);

impl Commit {
    /// From now on nobody knows, until the server has answered.
    pub(super) fn begin(&self, last: Option<AuditHead>, revision: Revision) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = last.map(|last| (last, revision));
    }

    /// The revision, if the write was made after all; what went wrong, if it was not or was never to be committed.
    pub(super) async fn settle(&self, pool: &PgPool, fault: Fault, store: &str) -> Result<Revision, Fault> {
        let pending = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((last, revision)) = pending else {
            return Err(fault);
        };
        match timeout(ASKING, is_there(pool, &last)).await {
            Ok(Ok(true)) => Ok(revision),
            Ok(Ok(false)) => Err(fault),
            Ok(Err(_)) | Err(_) => {
                Err(StoreError::Unknown { store: store.to_owned(), source: fault.to_string().into() }.into())
            }
        }
    }
}

async fn is_there(pool: &PgPool, last: &AuditHead) -> Result<bool, sqlx::Error> {
    let mut lease = Lease::take(pool).await?;
    let mut transaction = lease.connection()?.begin().await?;
    sqlx::query(WAIT).execute(&mut *transaction).await?;
    let query = sqlx::query_scalar(IS_THERE).bind(last.number).bind(&last.hash);
    let is_there = query.fetch_one(&mut *transaction).await?;
    transaction.rollback().await?;
    lease.give_back();
    Ok(is_there)
}
