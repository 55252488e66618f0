//! What became of a write whose connection was lost while it was committed. The server is asked: the transaction holds the
//! counter until it ends, one way or the other, so whoever has the counter after it sees what came of it.

use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::PgPool;
use tokio::time::timeout;
use toolrail_core::{AuditHead, Revision};

use super::failure::Failure;
use super::pool::Lease;
use crate::commit::Commit;

/// How long to ask: longer than the server keeps a transaction whose gateway is gone.
const ASKING: Duration = Duration::from_secs(6);

const WAIT: &str = "SELECT version FROM mcp_config_version WHERE id = 1 FOR UPDATE";
const IS_THERE: &str = "SELECT EXISTS (SELECT FROM mcp_tool_audit WHERE number = $1 AND hash = $2)";

/// The revision, if the write was made after all; what went wrong, if it was not or was never to be committed.
pub(super) async fn settle(
    commit: &Commit,
    pool: &PgPool,
    failure: Failure,
    store: &str,
) -> Result<Revision, Failure> {
    let Some(pending) = commit.pending() else { return Err(failure) };
    let is_there = timeout(ASKING, is_there(pool, &pending.last)).await;
    pending.settle(is_there.ok().and_then(Result::ok), failure, store)
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
