//! News that every gateway on one file reads at its own pace.

use sqlx::Row as _;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use toolrail_core::{MailLimits, News, NewsKind};

use crate::mail::kind_number;

const LIMITS: MailLimits = MailLimits::ALL;

const FORGET: &str = "DELETE FROM toolrail_news WHERE kind = ?1 \
    AND id <= (SELECT id FROM toolrail_news WHERE kind = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)";
const READ: &str = "SELECT id, CAST(body AS BLOB) FROM toolrail_news WHERE id > ? ORDER BY id LIMIT ?";

/// Adds news, and forgets the oldest of their kind.
pub(super) async fn announce(
    writer: &SqlitePool,
    kind: NewsKind,
    bodies: &[Vec<u8>],
) -> Result<(), sqlx::Error> {
    let kind = kind_number(kind);
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    for body in bodies {
        sqlx::query("INSERT INTO toolrail_news (kind, body) VALUES (?, ?)")
            .bind(kind)
            .bind(body)
            .execute(&mut *transaction)
            .await?;
    }
    sqlx::query(FORGET).bind(kind).bind(LIMITS.most_news).execute(&mut *transaction).await?;
    transaction.commit().await
}

/// The oldest news after that number.
pub(super) async fn after(readers: &SqlitePool, number: i64) -> Result<Vec<News>, sqlx::Error> {
    let rows = sqlx::query(READ).bind(number).bind(LIMITS.news_at_once).fetch_all(readers).await?;
    let news = |row: &SqliteRow| Ok(News { number: row.try_get(0)?, body: row.try_get(1)? });
    rows.iter().map(news).collect()
}
