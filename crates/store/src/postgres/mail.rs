//! Messages between the gateways on one database. Whoever looks for some when there are none writes nothing.

use sqlx::postgres::{PgPool, PgRow};
use sqlx::{Connection, Row as _};
use toolrail_core::MailLimits;

use super::failure::Failure;
use super::pool::Lease;
use crate::mail::{Left, fits};

const LIMITS: MailLimits = MailLimits::ALL;

// So that what lies there is counted by one sender at a time.
const TURN: &str = "SELECT pg_advisory_xact_lock(8390891584273738093)";
const EXPIRE: &str =
    "DELETE FROM toolrail_mail WHERE left_at < floor(extract(epoch FROM clock_timestamp()))::bigint - $1";
const LEAVE: &str = "INSERT INTO toolrail_mail (topic, body) SELECT $1, $2 \
    WHERE (SELECT count(*) < $3 AND coalesce(sum(octet_length(body)), 0) + octet_length($2) <= $4 \
           FROM toolrail_mail WHERE topic = $1) \
    AND (SELECT count(*) < $5 AND coalesce(sum(octet_length(body)), 0) + octet_length($2) <= $6 FROM toolrail_mail)";
const ANY: &str = "SELECT EXISTS (SELECT 1 FROM toolrail_mail WHERE topic = $1)";
// One statement that passes over what another collector has its hands on: no two get the same message.
const COLLECT: &str = "DELETE FROM toolrail_mail WHERE id IN \
    (SELECT id FROM toolrail_mail WHERE topic = $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) \
    RETURNING id, left_at >= floor(extract(epoch FROM clock_timestamp()))::bigint - $3, body";

/// Leaves a message, and clears away what has lain for too long.
pub(super) async fn leave(pool: &PgPool, topic: &str, body: &[u8]) -> Result<Left, Failure> {
    if !fits(body) {
        return Ok(Left::TooLarge);
    }
    let mut lease = Lease::take(pool).await?;
    let mut transaction =
        lease.connection()?.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").await?;
    sqlx::raw_sql(TURN).execute(&mut *transaction).await?;
    sqlx::query(EXPIRE).bind(kept()).execute(&mut *transaction).await?;
    let left = sqlx::query(LEAVE)
        .bind(topic)
        .bind(body)
        .bind(i64::from(LIMITS.most_of_a_topic))
        .bind(i64::from(LIMITS.most_bytes_of_a_topic))
        .bind(i64::from(LIMITS.most))
        .bind(i64::from(LIMITS.most_bytes))
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    lease.give_back();
    Ok(if left.rows_affected() == 0 { Left::NoRoom } else { Left::Taken })
}

/// Takes the oldest messages of a topic.
pub(super) async fn collect(pool: &PgPool, topic: &str) -> Result<Vec<Vec<u8>>, Failure> {
    let mut lease = Lease::take(pool).await?;
    let connection = lease.connection()?;
    let any: bool = sqlx::query_scalar(ANY).bind(topic).fetch_one(&mut *connection).await?;
    let rows = if any {
        let query = sqlx::query(COLLECT).bind(topic).bind(i64::from(LIMITS.at_once)).bind(kept());
        query.fetch_all(connection).await?
    } else {
        Vec::new()
    };
    lease.give_back();
    let message = |row: &PgRow| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    let mut messages: Vec<(i64, bool, Vec<u8>)> =
        rows.iter().map(message).collect::<Result<_, sqlx::Error>>()?;
    // What a statement returns comes in no certain order.
    messages.sort_unstable_by_key(|(id, ..)| *id);
    Ok(messages.into_iter().filter(|(_, fresh, _)| *fresh).map(|(.., body)| body).collect())
}

fn kept() -> i64 {
    i64::try_from(LIMITS.kept.as_secs()).unwrap_or(i64::MAX)
}
