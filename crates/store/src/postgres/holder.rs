//! Names whoever keeps a write waiting. Every write needs the counter, so a single transaction that somebody left open
//! stops all of them; the server itself says only that a lock was not to be had.

use std::pin::pin;
use std::time::Duration;

use sqlx::postgres::PgPool;
use tokio::time::{sleep, timeout};

use super::failure::Failure;
use super::pool::Lease;

/// A write that takes longer is looked into.
const LONG: Duration = Duration::from_secs(2);

/// Until the next look.
const PAUSE: Duration = Duration::from_millis(200);

// Of those who keep sessions with our statement waiting, one that waits for no lock itself. What a session does is shown
// only to its own user and to those who may see all.
const HOLDER: &str = "SELECT holder.pid, coalesce(holder.usename::text, '?'), coalesce(holder.application_name, ''), \
        coalesce(holder.state, 'active'), \
        floor(extract(epoch FROM clock_timestamp() - holder.xact_start))::bigint \
    FROM pg_stat_activity AS waiting, unnest(pg_blocking_pids(waiting.pid)) AS blocking (pid) \
    JOIN pg_stat_activity AS holder ON holder.pid = blocking.pid \
    WHERE waiting.datname = current_database() AND waiting.wait_event_type = 'Lock' \
    AND waiting.query LIKE '%toolrail_apply(%' AND holder.wait_event_type IS DISTINCT FROM 'Lock' LIMIT 1";

/// Does the work; if it fails because others were in its way for too long, the error says who.
pub(super) async fn naming<T>(
    pool: &PgPool,
    work: impl Future<Output = Result<T, Failure>> + Send,
) -> Result<T, Failure> {
    let mut work = pin!(work);
    if let Ok(done) = timeout(LONG, &mut work).await {
        return done;
    }
    let holder = tokio::select! {
        done = &mut work => return done,
        holder = find(pool) => holder,
    };
    work.await.map_err(|failure| if waited(&failure) { Failure::told(holder) } else { failure })
}

/// Whether it waited in vain: for a lock, for a connection that others with the same need have, or for an answer.
fn waited(failure: &Failure) -> bool {
    let timed_out = matches!(failure, Failure::Slow(_) | Failure::Sql(sqlx::Error::PoolTimedOut));
    timed_out || matches!(failure.code().as_deref(), Some("55P03" | "57014"))
}

/// Looks until there is one.
async fn find(pool: &PgPool) -> String {
    loop {
        if let Ok(Some(holder)) = look(pool).await {
            return holder;
        }
        sleep(PAUSE).await;
    }
}

async fn look(pool: &PgPool) -> Result<Option<String>, sqlx::Error> {
    let mut lease = Lease::take(pool).await?;
    let holder: Option<(i32, String, String, String, Option<i64>)> =
        sqlx::query_as(HOLDER).fetch_optional(lease.connection()?).await?;
    lease.give_back();
    Ok(holder.map(|(process, user, application, state, seconds)| {
        let since = seconds.map(|seconds| format!(", {state}, its transaction open for {seconds} s")).unwrap_or_default();
        format!(
            "the session {application:?} of the user {user:?} (process {process}{since}) holds a lock that every write \
             needs; let it end its transaction, or run: SELECT pg_terminate_backend({process})"
        )
    }))
}
