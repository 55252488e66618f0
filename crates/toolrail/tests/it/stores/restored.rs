//! A database that cannot be read back after a write, or that is restored from a copy while gateways follow it.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection};
use toolrail_testkit::{Gateway, Upstream, wait_until};

use crate::support::{call, echo_tool, gateway, listed, register, register_all};

async fn database(gateway: &Gateway) -> Result<SqliteConnection> {
    let options =
        SqliteConnectOptions::new().filename(gateway.data().join("toolrail.db")).foreign_keys(false);
    Ok(SqliteConnection::connect_with(&options).await?)
}

async fn run(database: &mut SqliteConnection, statement: String) -> Result<()> {
    sqlx::query(AssertSqlSafe(statement)).execute(database).await?;
    Ok(())
}

/// R86, R88: what is acknowledged is so, and what is not known is not claimed.
#[tokio::test]
async fn a_write_that_cannot_be_read_back_takes_off_at_once_and_says_so() -> Result<()> {
    let upstream = Upstream::start().await?;
    let gateway = gateway().args(["--poll-ms", "250"]).start().await?;
    register_all(&gateway, &["a", "b"].map(|name| echo_tool(name, &upstream))).await?;
    let mut other = database(&gateway).await?;
    // The triggers follow the new name, so that writing goes on.
    run(&mut other, "ALTER TABLE mcp_tool_tombstone RENAME TO elsewhere".into()).await?;

    let off = gateway.post_json("/admin/tools/a/disable", &json!({})).await?.json()?;
    assert_eq!((&off["state"], &off["live"]), (&json!("disabled"), &json!(false)), "{off}");
    assert!(off["note"].is_string(), "{off}");
    let purged = gateway.delete("/admin/tools/b?purge=true").await?.json()?;
    assert_eq!((&purged["state"], purged["note"].is_string()), (&json!("purged"), true), "{purged}");
    for name in ["a", "b"] {
        assert_eq!(call(&gateway, name, json!({})).await?.status, 404, "{name}");
    }
    let new = gateway.post_json("/admin/tools", &echo_tool("new", &upstream)).await?.json()?;
    assert_eq!((&new["status"], &new["state"]), (&json!("created"), &json!("written")), "{new}");
    let batch = json!([echo_tool("newer", &upstream)]);
    let batch = gateway.post_json("/admin/tools/batch", &batch).await?.json()?;
    assert!(batch["results"][0]["note"].is_string(), "{batch}");

    run(&mut other, "ALTER TABLE elsewhere RENAME TO mcp_tool_tombstone".into()).await?;
    listed_soon(&gateway, &["new", "newer"]).await
}

/// The revision is the same as before, and the definitions are others.
#[tokio::test]
async fn a_database_restored_from_a_copy_is_noticed_at_an_equal_revision() -> Result<()> {
    let upstream = Upstream::start().await?;
    let gateway = gateway().args(["--poll-ms", "250"]).start().await?;
    register(&gateway, &echo_tool("kept", &upstream)).await;
    let (folder, mut other) = (tempfile::tempdir()?, database(&gateway).await?);
    let copy = folder.path().join("copy.db");
    run(&mut other, format!("VACUUM INTO '{}'", copy.display())).await?;
    register(&gateway, &echo_tool("lost", &upstream)).await;
    listed_soon(&gateway, &["kept", "lost"]).await?;
    restore(&mut other, &copy, &echo_tool("later", &upstream).to_string()).await?;
    listed_soon(&gateway, &["kept", "later"]).await
}

/// Makes everything what it is in the copy, and writes one row, in one transaction.
async fn restore(database: &mut SqliteConnection, copy: &Path, definition: &str) -> Result<()> {
    run(database, format!("ATTACH '{}' AS copy", copy.display())).await?;
    let mut transaction = database.begin().await?;
    let triggers = "SELECT name, sql FROM main.sqlite_master WHERE type = 'trigger'";
    let triggers: Vec<(String, String)> = sqlx::query_as(triggers).fetch_all(&mut *transaction).await?;
    let tables = "SELECT name FROM copy.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut *transaction).await?;
    for (name, _) in &triggers {
        run(&mut transaction, format!("DROP TRIGGER main.{name}")).await?;
    }
    for table in tables {
        run(&mut transaction, format!("DELETE FROM main.{table}")).await?;
        run(&mut transaction, format!("INSERT INTO main.{table} SELECT * FROM copy.{table}")).await?;
    }
    for (_, sql) in triggers {
        run(&mut transaction, sql).await?;
    }
    sqlx::query("INSERT INTO main.mcp_tool (name, enabled, config_json) VALUES ('later', 1, ?)")
        .bind(definition)
        .execute(&mut *transaction)
        .await?;
    Ok(transaction.commit().await?)
}

async fn listed_soon(gateway: &Gateway, expected: &[&str]) -> Result<()> {
    let expected: Vec<String> = expected.iter().map(|&name| name.into()).collect();
    wait_until("the list", Duration::from_secs(5), async || {
        (listed(gateway).await.ok()? == expected).then_some(())
    })
    .await
}
