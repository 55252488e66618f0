//! Finds what happened to the definitions behind the triggers, and enters it as changes: every definition is compared with the
//! newest of its versions.

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{Executor as _, MySql, QueryBuilder};
use toolrail_core::ToolKey;

use super::failure::Failure;
use super::pieces::pieces;
use super::pool::{begin_reading, begin_writing};
use super::rows::{self, key_of};
use super::triggers::IS_AS_WRITTEN;
use super::truncated;
use super::write::of_keys;

/// So many are entered in one transaction, so that others can write between two.
const AT_ONCE: u32 = 1_000;

// Of the rows the key only: no trigger may write what its statement reads.
const STRAYS: &str = "SELECT tenant_key, name_key FROM mcp_tool WHERE NOT {is_as_written} ORDER BY id LIMIT ";
const ANY_LOST: &str = "SELECT EXISTS (SELECT 1 FROM mcp_tool_history AS last WHERE {is_lost})";

/// How many changes were entered.
pub(super) async fn reconcile(connection: &mut MySqlConnection) -> Result<u64, Failure> {
    let mut entered = 0;
    let mut last = Vec::new();
    loop {
        let strays = strays(connection).await?;
        // What is found again after it was entered would be found for ever.
        if strays.is_empty() || strays == last {
            break;
        }
        number(connection, &strays).await?;
        entered += strays.len() as u64;
        last = strays;
    }
    if any_lost(connection).await? {
        connection.execute("UPDATE mcp_config_version SET truncated = TRUE WHERE id = 1").await?;
        let before = rows::state(connection).await?.0;
        let after = truncated::bury(connection).await?;
        entered += after.abs_diff(before);
    }
    Ok(entered)
}

async fn strays(connection: &mut MySqlConnection) -> Result<Vec<ToolKey>, Failure> {
    let mut transaction = begin_reading(connection).await?;
    let mut select = QueryBuilder::<MySql>::new(STRAYS.replace("{is_as_written}", IS_AS_WRITTEN));
    select.push_bind(AT_ONCE);
    let rows = select.build().fetch_all(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(rows.iter().map(|row: &MySqlRow| key_of(row, 0)).collect::<Result<_, _>>()?)
}

async fn any_lost(connection: &mut MySqlConnection) -> Result<bool, Failure> {
    let mut transaction = begin_reading(connection).await?;
    let query = ANY_LOST.replace("{is_lost}", truncated::IS_LOST);
    let any: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_one(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(any != 0)
}

/// Has the triggers enter them, one by one, with their times as they are.
async fn number(connection: &mut MySqlConnection, keys: &[ToolKey]) -> Result<(), Failure> {
    connection.execute("SET @toolrail_numbering = 1").await?;
    let touched = touch(connection, keys).await;
    connection.execute("SET @toolrail_numbering = NULL").await?;
    touched
}

async fn touch(connection: &mut MySqlConnection, keys: &[ToolKey]) -> Result<(), Failure> {
    let mut transaction = begin_writing(connection).await?;
    rows::lock(&mut transaction).await?;
    for keys in pieces(keys, |_| 0) {
        let mut touch =
            QueryBuilder::<MySql>::new("UPDATE mcp_tool SET updated_at = updated_at, version = 0 WHERE ");
        of_keys(&mut touch, keys.iter());
        touch.push(" ORDER BY id");
        touch.build().execute(&mut *transaction).await?;
    }
    let recount = "UPDATE mcp_config_version SET live = (SELECT count(*) FROM mcp_tool) WHERE id = 1";
    transaction.execute(recount).await?;
    Ok(transaction.commit().await?)
}
