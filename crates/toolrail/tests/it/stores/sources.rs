//! Where definitions come from: the store, also written by others, and folders of files (R74, R104, R108, R117, R127).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use toolrail_testkit::{Gateway, Upstream, wait_until};

use crate::support::{BINARY, call, echo_tool, gateway, gateway_and_upstream, listed, register_all};

async fn other_program(gateway: &Gateway) -> Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(gateway.data().join("toolrail.db"));
    Ok(SqliteConnection::connect_with(&options).await?)
}

/// A gateway that looks at its store four times a second, and an upstream.
async fn polling_often() -> Result<(Gateway, Upstream)> {
    let upstream = Upstream::start().await?;
    Ok((gateway().args(["--poll-ms", "250"]).start().await?, upstream))
}

/// Waits for the list to become `expected`; about a second is what R127 grants.
async fn listed_within_a_second(gateway: &Gateway, expected: &[&str]) -> Result<()> {
    let what = format!("the list {expected:?}");
    wait_until(&what, Duration::from_millis(1_500), async || {
        let names = listed(gateway).await.ok()?;
        (names == expected).then_some(())
    })
    .await
}

#[tokio::test]
async fn r104_r127_rows_written_by_other_programs_are_live_within_a_second() -> Result<()> {
    let (gateway, upstream) = polling_often().await?;
    let mut other = other_program(&gateway).await?;
    sqlx::query("INSERT INTO mcp_tool(name, enabled, config_json) VALUES ('sql.echo', 1, ?)")
        .bind(echo_tool("sql.echo", &upstream).to_string())
        .execute(&mut other)
        .await?;
    listed_within_a_second(&gateway, &["sql.echo"]).await?;
    assert_eq!(call(&gateway, "sql.echo", json!({"q": "x"})).await?.status, 200);

    sqlx::query("UPDATE mcp_tool SET enabled = 0 WHERE name = 'sql.echo'").execute(&mut other).await?;
    listed_within_a_second(&gateway, &[]).await?;
    sqlx::query("UPDATE mcp_tool SET enabled = 1 WHERE name = 'sql.echo'").execute(&mut other).await?;
    listed_within_a_second(&gateway, &["sql.echo"]).await?;
    sqlx::query("DELETE FROM mcp_tool").execute(&mut other).await?;
    listed_within_a_second(&gateway, &[]).await?;
    Ok(())
}

#[tokio::test]
async fn a_row_with_errors_is_a_problem_and_keeps_nobody_else_back() -> Result<()> {
    let (gateway, upstream) = polling_often().await?;
    let mut other = other_program(&gateway).await?;
    sqlx::query("INSERT INTO mcp_tool(name, enabled, config_json) VALUES ('bad', 1, '{]'), ('worse', 1, '{}'), ('good', 1, ?)")
        .bind(echo_tool("good", &upstream).to_string())
        .execute(&mut other)
        .await?;
    listed_within_a_second(&gateway, &["good"]).await?;
    let broken = gateway.get("/admin/tools?state=broken").await?.json()?;
    let names: Vec<&str> =
        broken["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["bad", "worse"]);
    assert_eq!(gateway.get("/admin/tools/bad").await?.json()?["configJson"], "{]");
    let problems = gateway.get("/admin/problems").await?.json()?;
    assert!(
        problems["problems"][0]["message"].as_str().unwrap().contains("config_json is not valid JSON"),
        "{problems:#}"
    );
    let refused = call(&gateway, "bad", json!({})).await?;
    crate::support::assert_failed(&refused, 404, "NOT_FOUND", "has errors");
    Ok(())
}

#[tokio::test]
async fn r108_registered_tools_survive_a_restart_and_a_kill() -> Result<()> {
    let (mut gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("kept", &upstream)]).await?;
    gateway.kill().await?;
    gateway.restart().await?;
    assert_eq!(listed(&gateway).await?, ["kept"]);
    gateway.stop().await?;
    gateway.restart().await?;
    assert_eq!(call(&gateway, "kept", json!({"q": "x"})).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn a_kill_during_a_burst_loses_nothing_that_was_acknowledged() -> Result<()> {
    let (mut gateway, upstream) = gateway_and_upstream().await?;
    let acknowledged = Mutex::new(BTreeSet::new());
    let burst = async {
        let workers = (0..8).map(async |worker| {
            for number in 0.. {
                let name = format!("t.{worker}.{number}");
                let Ok(reply) = gateway.post_json("/admin/tools", &echo_tool(&name, &upstream)).await else {
                    break;
                };
                assert_eq!(reply.status, 200, "{}", reply.text());
                acknowledged.lock().unwrap().insert(name);
            }
        });
        futures_util::future::join_all(workers).await
    };
    let killed = async {
        wait_until("some registrations", Duration::from_secs(20), async || {
            (acknowledged.lock().unwrap().len() >= 40).then_some(())
        })
        .await?;
        let pid = gateway.pid().unwrap_or_default().to_string();
        let killed =
            tokio::process::Command::new("sh").args(["-c", "kill -KILL \"$0\"", &pid]).status().await?;
        anyhow::ensure!(killed.success(), "cannot kill {pid}");
        Ok(())
    };
    let (_, killed): (_, Result<()>) = tokio::join!(burst, killed);
    killed?;
    gateway.restart().await?;
    let kept: BTreeSet<String> = listed(&gateway).await?.into_iter().collect();
    let acknowledged = acknowledged.into_inner()?;
    let lost: Vec<_> = acknowledged.difference(&kept).collect();
    assert!(lost.is_empty(), "lost {lost:?} of {}", acknowledged.len());
    Ok(())
}

fn write_tools(folder: &Path, file: &str, tools: &[Value]) -> Result<()> {
    // JSON is YAML.
    Ok(std::fs::write(folder.join(file), json!({"tools": tools}).to_string())?)
}

#[tokio::test]
async fn files_are_followed_and_r117_the_store_wins_over_them() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let upstream = Upstream::start().await?;
    let described = |name: &str, description: &str| {
        let mut definition = echo_tool(name, &upstream);
        definition["description"] = description.into();
        definition
    };
    write_tools(
        folder.path(),
        "a.yaml",
        &[described("shared", "from the file"), described("filed", "from the file")],
    )?;
    let gateway = Gateway::builder(BINARY).arg("--tools").arg(folder.path()).start().await?;
    assert_eq!(listed(&gateway).await?, ["filed", "shared"]);

    register_all(&gateway, &[described("shared", "from the store")]).await?;
    let shown = gateway.get("/admin/tools/shared").await?.json()?;
    assert_eq!((&shown["source"], &shown["description"]), (&json!("store"), &json!("from the store")));

    write_tools(folder.path(), "b.json", &[described("added", "later")])?;
    listed_within_a_second(&gateway, &["added", "filed", "shared"]).await?;
    std::fs::write(folder.path().join("b.json"), "{ not json")?;
    wait_until("the broken file to be told", Duration::from_secs(1), async || {
        gateway.get("/admin/problems").await.ok()?.text().contains("b.json").then_some(())
    })
    .await?;
    assert_eq!(listed(&gateway).await?, ["added", "filed", "shared"], "the last good definitions stay");
    std::fs::remove_file(folder.path().join("b.json"))?;
    listed_within_a_second(&gateway, &["filed", "shared"]).await?;

    gateway.delete("/admin/tools/shared?purge=true").await?;
    assert_eq!(gateway.get("/admin/tools/shared").await?.json()?["source"], "files");
    Ok(())
}

#[tokio::test]
async fn a_source_that_cannot_be_read_leaves_the_last_good_tools_in_place() -> Result<()> {
    let parent = tempfile::tempdir()?;
    let folder = parent.path().join("tools");
    std::fs::create_dir(&folder)?;
    let upstream = Upstream::start().await?;
    write_tools(&folder, "a.yaml", &[echo_tool("filed", &upstream)])?;
    let gateway = Gateway::builder(BINARY).arg("--tools").arg(&folder).start().await?;
    std::fs::rename(&folder, parent.path().join("away"))?;
    wait_until("readiness to be degraded", Duration::from_secs(2), async || {
        let ready = gateway.get("/readyz").await.ok()?;
        (ready.status == 200 && ready.json().ok()?["status"] == "degraded").then_some(())
    })
    .await?;
    assert_eq!(listed(&gateway).await?, ["filed"]);
    std::fs::rename(parent.path().join("away"), &folder)?;
    wait_until("readiness to be back", Duration::from_secs(2), async || {
        (gateway.get("/readyz").await.ok()?.json().ok()?["status"] == "ready").then_some(())
    })
    .await
}
