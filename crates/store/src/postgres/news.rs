//! News that every gateway on one database reads at its own pace.

use sqlx::postgres::{PgPool, PgRow};
use sqlx::{Connection, Row as _};
use toolrail_core::{MailLimits, News, NewsKind};

use super::failure::Failure;
use super::pool::Lease;
use crate::mail::kind_number;

const LIMITS: MailLimits = MailLimits::ALL;

// Until the commit: no number is seen before a smaller one.
const TURN: &str = "SELECT pg_advisory_xact_lock(8390891584273738094)";
const ADD: &str = "INSERT INTO toolrail_news (kind, body) \
    SELECT $1, body FROM unnest($2::bytea[]) WITH ORDINALITY AS given (body, nth) ORDER BY nth";
const FORGET: &str = "DELETE FROM toolrail_news WHERE kind = $1 \
    AND id <= (SELECT id FROM toolrail_news WHERE kind = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)";
const READ: &str = "SELECT id, body FROM toolrail_news WHERE id > $1 ORDER BY id LIMIT $2";

/// Adds news, and forgets the oldest of their kind.
pub(super) async fn announce(pool: &PgPool, kind: NewsKind, bodies: &[Vec<u8>]) -> Result<(), Failure> {
    let kind = kind_number(kind);
    let mut lease = Lease::take(pool).await?;
    let mut transaction =
        lease.connection()?.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").await?;
    sqlx::raw_sql(TURN).execute(&mut *transaction).await?;
    sqlx::query(ADD).bind(kind).bind(bodies).execute(&mut *transaction).await?;
    let forget = sqlx::query(FORGET).bind(kind).bind(i64::from(LIMITS.most_news));
    forget.execute(&mut *transaction).await?;
    transaction.commit().await?;
    lease.give_back();
    Ok(())
}

/// The oldest news after that number.
pub(super) async fn after(pool: &PgPool, number: i64) -> Result<Vec<News>, Failure> {
    let mut lease = Lease::take(pool).await?;
    let query = sqlx::query(READ).bind(number).bind(i64::from(LIMITS.news_at_once));
    let rows = query.fetch_all(lease.connection()?).await?;
    lease.give_back();
    let news = |row: &PgRow| Ok(News { number: row.try_get(0)?, body: row.try_get(1)? });
    Ok(rows.iter().map(news).collect::<Result<_, sqlx::Error>>()?)
}
