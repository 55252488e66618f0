//! Finds what happened to the definitions behind the triggers, and enters it as changes. Triggers that are missing, or that
//! belong to a table whose place another has taken, are made anew first.

use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::{PgConnection, PgPool};
use tokio::time::timeout;

use super::failure::Failure;
use super::pool::{self, Lease, Server};
use super::schema::{self, Patience};
use super::triggers;

const OTHERWISE: &str = "SELECT count(*) FROM toolrail_otherwise()";
const ENTER: &str = "SELECT toolrail_reconcile('mend', $1)";

/// So many are entered in one transaction, so that others can write between two.
const AT_ONCE: i64 = 2_000;

/// How long the look at everything may take: the server gives up a little earlier, see `BEGIN`.
const LOOK: Duration = Duration::from_secs(26);
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '25s'";
/// How long one transaction may take.
const ENTERING: Duration = Duration::from_mins(1);

/// How many changes were entered.
pub(super) async fn reconcile(pool: &PgPool, server: &Server, store: &str) -> Result<u64, Failure> {
    let looking = timeout(LOOK, is_as_written(pool)).await;
    if looking.unwrap_or(Err(Failure::slow(LOOK)))? {
        return Ok(0);
    }
    let mut connection = pool::first(&server.options).await?;
    schema::migrate(&mut connection, store, Patience::Running).await?;
    // Counted before: a row that another program's trigger keeps from being entered would be found for ever.
    let found = otherwise(&mut connection).await?;
    let mut entered = 0;
    for _ in 0..=found / AT_ONCE {
        let entering = timeout(ENTERING, enter(&mut connection)).await;
        entered += entering.unwrap_or(Err(Failure::slow(ENTERING)))?;
    }
    timeout(LOOK, connection.close()).await.ok();
    if entered > 0 {
        tracing::warn!(
            %store,
            changes = entered,
            "mcp_tool was changed while its triggers were away or switched off; entered that as changes made now"
        );
    }
    Ok(entered.unsigned_abs())
}

/// Whether it was a missing trigger, or function, that a write failed for.
pub(super) fn is_called_for(failure: &Failure) -> bool {
    matches!(failure.code().as_deref(), Some("TR001" | "42883"))
}

async fn is_as_written(pool: &PgPool) -> Result<bool, Failure> {
    let mut lease = Lease::take(pool).await?;
    let mut transaction = lease.connection()?.begin_with(BEGIN).await?;
    let is_watching = triggers::are_there(&mut transaction).await?;
    let is_as_written = is_watching && otherwise(&mut transaction).await? == 0;
    transaction.rollback().await?;
    lease.give_back();
    Ok(is_as_written)
}

/// How many definitions are not as the newest of their versions says.
async fn otherwise(connection: &mut PgConnection) -> Result<i64, Failure> {
    Ok(sqlx::query_scalar(OTHERWISE).fetch_one(connection).await?)
}

async fn enter(connection: &mut PgConnection) -> Result<i64, Failure> {
    Ok(sqlx::query_scalar(ENTER).bind(AT_ONCE).fetch_one(connection).await?)
}
