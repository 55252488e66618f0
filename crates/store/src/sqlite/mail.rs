//! Messages between the gateways on one file. Whoever looks for some when there are none writes nothing.

use sqlx::Row as _;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use toolrail_core::MailLimits;

use crate::mail::{Left, fits, oldest};

const LIMITS: MailLimits = MailLimits::ALL;

const NOW: &str = "SELECT CAST(strftime('%s', 'now') AS INTEGER)";
const EXPIRE: &str = "DELETE FROM toolrail_mail WHERE left_at < ?";
const LEAVE: &str = "INSERT INTO toolrail_mail (topic, body) SELECT ?1, ?2 \
    WHERE (SELECT count(*) < ?3 AND coalesce(sum(length(body)), 0) + length(?2) <= ?4 FROM toolrail_mail WHERE topic = ?1) \
    AND (SELECT count(*) < ?5 AND coalesce(sum(length(body)), 0) + length(?2) <= ?6 FROM toolrail_mail)";
const ANY: &str = "SELECT EXISTS (SELECT 1 FROM toolrail_mail WHERE topic = ?)";
// One statement: no two collectors get the same message.
const COLLECT: &str = "DELETE FROM toolrail_mail \
    WHERE id IN (SELECT id FROM toolrail_mail WHERE topic = ? ORDER BY id LIMIT ?) \
    RETURNING id, left_at, CAST(body AS BLOB)";

/// Leaves a message, and clears away what has lain for too long.
pub(super) async fn leave(writer: &SqlitePool, topic: &str, body: &[u8]) -> Result<Left, sqlx::Error> {
    if !fits(body) {
        return Ok(Left::TooLarge);
    }
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let now: i64 = sqlx::query_scalar(NOW).fetch_one(&mut *transaction).await?;
    sqlx::query(EXPIRE).bind(oldest(now)).execute(&mut *transaction).await?;
    let left = sqlx::query(LEAVE)
        .bind(topic)
        .bind(body)
        .bind(LIMITS.most_of_a_topic)
        .bind(LIMITS.most_bytes_of_a_topic)
        .bind(LIMITS.most)
        .bind(LIMITS.most_bytes)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(if left.rows_affected() == 0 { Left::NoRoom } else { Left::Taken })
}

/// Takes the oldest messages of a topic.
pub(super) async fn collect(
    readers: &SqlitePool,
    writer: &SqlitePool,
    topic: &str,
) -> Result<Vec<Vec<u8>>, sqlx::Error> {
    let any: bool = sqlx::query_scalar(ANY).bind(topic).fetch_one(readers).await?;
    if !any {
        return Ok(Vec::new());
    }
    let rows = sqlx::query(COLLECT).bind(topic).bind(LIMITS.at_once).fetch_all(writer).await?;
    let now: i64 = sqlx::query_scalar(NOW).fetch_one(readers).await?;
    let mut messages = rows.iter().map(message_of).collect::<Result<Vec<_>, _>>()?;
    // What a statement returns comes in no certain order.
    messages.sort_unstable_by_key(|(id, ..)| *id);
    messages.retain(|(_, left_at, _)| *left_at >= oldest(now));
    Ok(messages.into_iter().map(|(.., body)| body).collect())
}

fn message_of(row: &SqliteRow) -> Result<(i64, i64, Vec<u8>), sqlx::Error> {
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
}
