//! What became of a write whose connection was lost while it was committed. The server is asked: the transaction holds the
//! revision until it ends, one way or the other, so whoever has the revision after it sees what came of it.

use std::time::Duration;

use toolrail_core::{AuditHead, Revision};

use super::failure::Failure;
use super::pool::{self, Connections, begin_writing};
use super::rows;
use crate::commit::Commit;

/// How long to ask: longer than the server keeps a transaction whose gateway is gone.
const ASKING: Duration = Duration::from_secs(6);

const IS_THERE: &str = "SELECT count(*) FROM mcp_tool_audit WHERE number = ? AND hash = ?";

/// The revision, if the write was made after all; what went wrong, if it was not or was never to be committed.
pub(super) async fn settle(
    commit: &Commit,
    connections: &Connections,
    failure: Failure,
    store: &str,
) -> Result<Revision, Failure> {
    let Some(pending) = commit.pending() else { return Err(failure) };
    let is_there = pool::within(ASKING, is_there(connections, &pending.last)).await;
    pending.settle(is_there.ok(), failure, store)
}

async fn is_there(connections: &Connections, last: &AuditHead) -> Result<bool, Failure> {
    let mut lease = connections.lease().await?;
    let mut transaction = begin_writing(&mut lease).await?;
    while let Err(error) = rows::lock(&mut transaction).await {
        // Waiting for a lock ends the statement, not the transaction.
        let error = Failure::from(error);
        if error.tries() < 2 {
            return Err(error);
        }
    }
    let count = sqlx::query_scalar(IS_THERE).bind(last.number).bind(&last.hash);
    let count: i64 = count.fetch_one(&mut *transaction).await?;
    transaction.rollback().await?;
    lease.give_back();
    Ok(count > 0)
}
