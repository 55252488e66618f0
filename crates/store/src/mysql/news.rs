//! News that every gateway on one database reads at its own pace. Whoever announces some holds a lock until they can be
//! seen, so that no number becomes visible after a higher one.

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{MySql, QueryBuilder, Row as _};
use toolrail_core::{MailLimits, News, NewsKind};

use super::failure::Failure;
use super::pieces::pieces;
use super::pool::begin_writing;
use crate::mail::kind_number;

const LIMITS: MailLimits = MailLimits::ALL;

const LOCK: &str = "SELECT CAST(value AS SIGNED) FROM toolrail_meta WHERE name = 'news' FOR UPDATE";
const NUMBER: &str = "UPDATE toolrail_meta SET value = ? WHERE name = 'news'";
const OLDEST: &str = "SELECT id FROM toolrail_news WHERE kind = ? ORDER BY id DESC LIMIT 1 OFFSET ?";
const FORGET: &str = "DELETE FROM toolrail_news WHERE kind = ? AND id <= ?";
const READ: &str = "SELECT id, body FROM toolrail_news WHERE id > ? ORDER BY id LIMIT ?";

/// Adds news, and forgets the oldest of their kind.
pub(super) async fn announce(
    connection: &mut MySqlConnection,
    kind: NewsKind,
    bodies: &[Vec<u8>],
) -> Result<(), Failure> {
    let kind = kind_number(kind);
    let mut transaction = begin_writing(connection).await?;
    let mut number: i64 = sqlx::query_scalar(LOCK).fetch_one(&mut *transaction).await?;
    for bodies in pieces(bodies, Vec::len) {
        let mut insert = QueryBuilder::<MySql>::new("INSERT INTO toolrail_news (id, kind, body) ");
        insert.push_values(bodies, |mut row, body| {
            number += 1;
            row.push_bind(number).push_bind(kind).push_bind(body);
        });
        insert.build().execute(&mut *transaction).await?;
    }
    sqlx::query(NUMBER).bind(number.to_string()).execute(&mut *transaction).await?;
    let oldest = sqlx::query_scalar(OLDEST).bind(kind).bind(LIMITS.most_news);
    let oldest: Option<i64> = oldest.fetch_optional(&mut *transaction).await?;
    if let Some(oldest) = oldest {
        sqlx::query(FORGET).bind(kind).bind(oldest).execute(&mut *transaction).await?;
    }
    Ok(transaction.commit().await?)
}

/// The oldest news after that number.
pub(super) async fn after(connection: &mut MySqlConnection, number: i64) -> Result<Vec<News>, Failure> {
    let rows = sqlx::query(READ).bind(number).bind(LIMITS.news_at_once).fetch_all(connection).await?;
    let news = |row: &MySqlRow| Ok(News { number: row.try_get(0)?, body: row.try_get(1)? });
    rows.iter().map(news).collect()
}
