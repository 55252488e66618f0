//! The triggers that keep revision, tombstones and history, whoever writes, and the functions that they and our own statements
//! call. They may be changed: all are made anew with every version of the schema, and whenever triggers are found missing.

use std::iter;

use sqlx::postgres::PgConnection;

use super::adopt::{self, Shape};
use super::failure::Failure;

const TENANTS: &str = include_str!("triggers/tenants.sql");
const STORED_AS_WRITTEN: &str = include_str!("triggers/stored_as_written.sql");
const STORED_AS_JSONB: &str = include_str!("triggers/stored_jsonb.sql");
const DOCUMENT_LITE: &str = include_str!("triggers/document_lite.sql");
const DOCUMENT_FULL: &str = include_str!("triggers/document_full.sql");
const BOOKS: [&str; 4] = [
    include_str!("triggers/page.sql"),
    include_str!("triggers/triggers.sql"),
    include_str!("triggers/apply.sql"),
    include_str!("triggers/reconcile.sql"),
];

/// The first version whose tables have `config_json` as JSONB.
const BEFORE_JSONB: usize = 3;

/// Whether all triggers are there, on a table that is there. Only of a database of the newest version.
pub(super) async fn are_there(connection: &mut PgConnection) -> Result<bool, Failure> {
    // Asked for first: a call of what is not there would end a transaction.
    let can_be_asked = sqlx::query_scalar("SELECT to_regproc('toolrail_is_watching') IS NOT NULL");
    Ok(can_be_asked.fetch_one(&mut *connection).await?
        && sqlx::query_scalar("SELECT toolrail_is_watching()").fetch_one(connection).await?)
}

/// Makes everything that keeps the books, for the table as it is.
pub(super) async fn make(connection: &mut PgConnection, applied: usize) -> Result<(), Failure> {
    run(connection, TENANTS).await?;
    if (1..BEFORE_JSONB).contains(&applied) {
        run(connection, STORED_AS_JSONB).await?;
        adopt::convert(connection).await?;
    }
    let form = adopt::form(connection).await?;
    run(connection, if form.is_jsonb { STORED_AS_JSONB } else { STORED_AS_WRITTEN }).await?;
    let document = match form.shape {
        Shape::Lite => DOCUMENT_LITE,
        Shape::Full => DOCUMENT_FULL,
    };
    for sql in iter::once(document).chain(BOOKS) {
        run(connection, sql).await?;
    }
    Ok(())
}

/// Runs statements that take no values.
pub(super) async fn run(connection: &mut PgConnection, sql: &'static str) -> Result<(), Failure> {
    sqlx::raw_sql(sql).execute(connection).await?;
    Ok(())
}
