//! Finds what happened to the definitions behind the triggers, and enters it as changes. Triggers that are missing, or that
//! belong to a table whose place another has taken, are made anew first.

use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::{PgConnection, PgPool};
use tokio::time::timeout;

use super::connect::{self, Lease, Server};
use super::fault::Fault;
use super::schema::{self, Patience};

const IS_OTHERWISE: &str =
    "SELECT EXISTS (SELECT FROM toolrail_strays()) OR EXISTS (SELECT FROM toolrail_lost())";
const ENTER: &str = "SELECT toolrail_reconcile('mend', $1)";

/// So many are entered in one transaction, so that others can write between two.
const AT_ONCE: i64 = 2_000;
/// And so many transactions at most are made in one go.
const ROUNDS: u32 = 500;

/// How long the look at everything may take.
const LOOK: Duration = Duration::from_secs(20);
/// How long one transaction may take.
const ENTERING: Duration = Duration::from_secs(60);

/// How many changes were entered.
pub(super) async fn reconcile(pool: &PgPool, server: &Server, store: &str) -> Result<u64, Fault> {
    let looking = timeout(LOOK, is_as_written(pool)).await;
    if looking.unwrap_or(Err(Fault::slow(LOOK)))? {
        return Ok(0);
    }
    let mut connection = connect::first(&server.options).await?;
    schema::migrate(&mut connection, store, Patience::Running).await?;
    let mut entered = 0;
    for _ in 0..ROUNDS {
        let entering = timeout(ENTERING, enter(&mut connection)).await;
        let now = entering.unwrap_or(Err(Fault::slow(ENTERING)))?;
        entered += now;
        if now < AT_ONCE {
            break;
        }
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
pub(super) fn is_called_for(fault: &Fault) -> bool {
    matches!(fault.code().as_deref(), Some("TR001" | "42883"))
}

async fn is_as_written(pool: &PgPool) -> Result<bool, Fault> {
    let mut lease = Lease::take(pool).await?;
    let connection = lease.connection()?;
    let is_watching = schema::is_watching(connection).await?;
    let is_as_written = is_watching && !sqlx::query_scalar(IS_OTHERWISE).fetch_one(connection).await?;
    lease.give_back();
    Ok(is_as_written)
}

async fn enter(connection: &mut PgConnection) -> Result<i64, Fault> {
    Ok(sqlx::query_scalar(ENTER).bind(AT_ONCE).fetch_one(connection).await?)
}
