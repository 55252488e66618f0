//! Messages between the gateways on one database. Whoever looks for some when there are none writes nothing; those who
//! write take turns.

use sqlx::Row as _;
use sqlx::mysql::{MySqlConnection, MySqlRow};
use toolrail_core::MailLimits;

use super::failure::Failure;
use super::pool::begin_writing;
use crate::mail::{Left, fits, oldest};

const LIMITS: MailLimits = MailLimits::ALL;

const LOCK: &str =
    "SELECT CAST(UNIX_TIMESTAMP() AS SIGNED) FROM toolrail_meta WHERE name = 'mail' FOR UPDATE";
const EXPIRE: &str = "DELETE FROM toolrail_mail WHERE left_at < ?";
const LIES_THERE: &str = "SELECT count(*), CAST(coalesce(sum(size), 0) AS SIGNED), \
    CAST(coalesce(sum(topic = ?), 0) AS SIGNED), CAST(coalesce(sum(if(topic = ?, size, 0)), 0) AS SIGNED) FROM toolrail_mail";
const LEAVE: &str = "INSERT INTO toolrail_mail (topic, body, size, left_at) VALUES (?, ?, ?, ?)";
const ANY: &str = "SELECT EXISTS (SELECT 1 FROM toolrail_mail WHERE topic = ?)";
const OLDEST: &str = "SELECT id, left_at, body FROM toolrail_mail WHERE topic = ? ORDER BY id LIMIT ?";
const TAKE: &str = "DELETE FROM toolrail_mail WHERE topic = ? AND id <= ?";

/// Leaves a message, and clears away what has lain for too long.
pub(super) async fn leave(
    connection: &mut MySqlConnection,
    topic: &str,
    body: &[u8],
) -> Result<Left, Failure> {
    if !fits(body) {
        return Ok(Left::TooLarge);
    }
    let size = i64::try_from(body.len()).unwrap_or(i64::MAX);
    let mut transaction = begin_writing(connection).await?;
    let now: i64 = sqlx::query_scalar(LOCK).fetch_one(&mut *transaction).await?;
    sqlx::query(EXPIRE).bind(oldest(now)).execute(&mut *transaction).await?;
    let there = sqlx::query(LIES_THERE).bind(topic.as_bytes()).bind(topic.as_bytes());
    let there = there.fetch_one(&mut *transaction).await?;
    let has_room = there.try_get::<i64, _>(0)? < LIMITS.most.into()
        && there.try_get::<i64, _>(1)? + size <= LIMITS.most_bytes.into()
        && there.try_get::<i64, _>(2)? < LIMITS.most_of_a_topic.into()
        && there.try_get::<i64, _>(3)? + size <= LIMITS.most_bytes_of_a_topic.into();
    if has_room {
        let leave = sqlx::query(LEAVE).bind(topic.as_bytes()).bind(body).bind(size).bind(now);
        leave.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(if has_room { Left::Taken } else { Left::NoRoom })
}

/// Takes the oldest messages of a topic.
pub(super) async fn collect(connection: &mut MySqlConnection, topic: &str) -> Result<Vec<Vec<u8>>, Failure> {
    let any = sqlx::query_scalar(ANY).bind(topic.as_bytes());
    if any.fetch_one(&mut *connection).await.map(|any: i64| any == 0)? {
        return Ok(Vec::new());
    }
    let mut transaction = begin_writing(connection).await?;
    let now: i64 = sqlx::query_scalar(LOCK).fetch_one(&mut *transaction).await?;
    let rows = sqlx::query(OLDEST).bind(topic.as_bytes()).bind(LIMITS.at_once);
    let rows = rows.fetch_all(&mut *transaction).await?;
    let mut messages = rows.iter().map(message_of).collect::<Result<Vec<_>, _>>()?;
    // Nobody adds to them meanwhile, so these are all up to the last.
    if let Some((last, ..)) = messages.last() {
        let take = sqlx::query(TAKE).bind(topic.as_bytes()).bind(last);
        take.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    messages.retain(|(_, left_at, _)| *left_at >= oldest(now));
    Ok(messages.into_iter().map(|(.., body)| body).collect())
}

fn message_of(row: &MySqlRow) -> Result<(i64, i64, Vec<u8>), sqlx::Error> {
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
}
