//! The audit record: who changed what, chained so that tampering shows (R118).

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use toolrail_testkit::Gateway;

use crate::support::{Ran, assert_failed, echo_tool, gateway_and_upstream, register, run_in, send};

async fn run(gateway: &Gateway, arguments: &[&str]) -> Result<Ran> {
    run_in(Path::new("."), &[arguments, &["--url", gateway.url()]].concat()).await
}

/// Another program at the same database.
async fn database(gateway: &Gateway) -> Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(gateway.data().join("toolrail.db"));
    Ok(SqliteConnection::connect_with(&options).await?)
}

async fn verified(gateway: &Gateway) -> Result<Value> {
    gateway.get("/admin/audit/verify").await?.json()
}

/// Four changes of one tool.
async fn changed() -> Result<Gateway> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let mut tool = echo_tool("t", &upstream);
    register(&gateway, &tool).await;
    tool["description"] = json!("Says it again");
    let headers = [("toolrail-author", "anna")];
    assert_eq!(send(&gateway, "PUT /admin/tools", &headers, &tool).await?.status, 200);
    gateway.delete("/admin/tools/t").await?;
    gateway.post_json("/admin/tools/t/enable", &Value::Null).await?;
    Ok(gateway)
}

#[tokio::test]
async fn r118_every_change_is_recorded_with_who_from_where_and_what() -> Result<()> {
    let gateway = changed().await?;
    gateway.post_json("/admin/tools/t/enable", &Value::Null).await?;
    let body = gateway.get("/admin/audit").await?.json()?;
    let entries = body["entries"].as_array().unwrap();
    let field = |name: &str| entries.iter().map(|entry| entry[name].clone()).collect::<Vec<_>>();
    assert_eq!(field("number"), [1, 2, 3, 4], "what changed nothing is not recorded");
    assert_eq!(field("action"), ["create", "update", "disable", "enable"]);
    assert_eq!(field("who"), ["anonymous", "anna", "anonymous", "anonymous"]);
    assert_eq!(field("address"), ["127.0.0.1"; 4]);
    assert_eq!(field("revision"), [1, 2, 3, 4]);
    assert_eq!(entries[1]["changes"][0]["pointer"], "/description");
    assert_eq!(entries[3]["previous"], entries[2]["hash"]);
    assert_eq!(body["head"], json!({"number": 4, "hash": entries[3]["hash"]}));
    let page = gateway.get("/admin/audit?after=1&limit=2").await?.json()?;
    assert_eq!((page["entries"].as_array().map(Vec::len), &page["next"]), (Some(2), &json!(3)));
    Ok(())
}

#[tokio::test]
async fn r118_an_untouched_record_is_whole_and_keeps_what_was_noted() -> Result<()> {
    let gateway = changed().await?;
    let good = run(&gateway, &["audit", "verify"]).await?;
    assert_eq!(good.code, Some(0), "{}{}", good.stdout, good.stderr);
    let lines: Vec<&str> = good.stdout.lines().collect();
    assert_eq!(lines[0], "the record is whole: 4 entries");
    let hash = lines[1].strip_prefix("head: ").unwrap().to_owned();
    gateway.delete("/admin/tools/t?purge=true").await?;
    let later = run(&gateway, &["audit", "verify", "--expect", &hash]).await?;
    assert_eq!(later.code, Some(0), "{}", later.stdout);
    assert!(later.stdout.contains("the expected hash is that of entry 4"), "{}", later.stdout);
    let other = run(&gateway, &["audit", "verify", "--expect", &"0".repeat(64)]).await?;
    assert_eq!(other.code, Some(1));
    assert!(other.stdout.contains("not in the record"), "{}", other.stdout);
    let nonsense = gateway.get("/admin/audit/verify?expect=xyz").await?;
    assert_failed(&nonsense, 400, "INVALID_REQUEST", "64 hexadecimal digits");
    let listed = run(&gateway, &["audit", "list", "--limit", "2"]).await?;
    assert_eq!(listed.stdout.lines().count(), 3, "{}", listed.stdout);
    assert!(listed.stdout.contains("purge t"), "{}", listed.stdout);
    assert_eq!(run(&gateway, &["audit"]).await?.stdout.lines().count(), 6);
    Ok(())
}

#[tokio::test]
async fn r118_a_changed_a_removed_and_a_cut_record_all_show() -> Result<()> {
    for (tampering, entry) in [
        ("UPDATE mcp_tool_audit SET who = 'eve' WHERE number = 2", 2),
        ("DELETE FROM mcp_tool_audit WHERE number = 2", 2),
        ("DELETE FROM mcp_tool_audit WHERE number = 4", 4),
        ("DELETE FROM mcp_tool_audit", 4),
    ] {
        let gateway = changed().await?;
        let mut other = database(&gateway).await?;
        let refused = sqlx::query(tampering).execute(&mut other).await.unwrap_err();
        assert!(refused.to_string().contains("are never"), "{refused}");
        // Whoever may change the database can get around that, and is found out.
        for trigger in ["trg_mcp_tool_audit_changing", "trg_mcp_tool_audit_removing"] {
            sqlx::query(sqlx::AssertSqlSafe(format!("DROP TRIGGER {trigger}"))).execute(&mut other).await?;
        }
        sqlx::query(tampering).execute(&mut other).await?;
        let report = verified(&gateway).await?;
        assert_eq!(
            (&report["good"], &report["broken"]["entry"]),
            (&json!(false), &json!(entry)),
            "{tampering}: {report}"
        );
        let ran = run(&gateway, &["audit", "verify"]).await?;
        assert_eq!(ran.code, Some(1));
        assert!(ran.stdout.contains(&format!("broken: entry {entry} ")), "{}", ran.stdout);
    }
    Ok(())
}

#[tokio::test]
async fn r118_a_definition_changed_behind_the_triggers_shows() -> Result<()> {
    let gateway = changed().await?;
    let mut other = database(&gateway).await?;
    // Another program that writes as usual leaves a version, and no entry, since nobody asked us.
    sqlx::query("UPDATE mcp_tool SET config_json = '{\"name\":\"t\"}'").execute(&mut other).await?;
    assert_eq!(verified(&gateway).await?["good"], true);
    let triggers: Vec<(String, String)> = sqlx::query_as(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'mcp_tool'",
    )
    .fetch_all(&mut other)
    .await?;
    for (name, _) in &triggers {
        let drop = format!("DROP TRIGGER \"{name}\"");
        sqlx::query(sqlx::AssertSqlSafe(drop)).execute(&mut other).await?;
    }
    sqlx::query("UPDATE mcp_tool SET config_json = '{\"name\":\"t\",\"x\":1}'").execute(&mut other).await?;
    for (_, sql) in triggers {
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut other).await?;
    }
    let report = verified(&gateway).await?;
    assert_eq!((&report["good"], &report["strays"][0]["name"]), (&json!(false), &json!("t")), "{report}");
    let ran = run(&gateway, &["audit", "verify"]).await?;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("t is otherwise than its newest version says"), "{}", ran.stdout);
    Ok(())
}

#[tokio::test]
async fn r118_a_forged_version_shows_and_is_no_way_back() -> Result<()> {
    let gateway = changed().await?;
    let mut other = database(&gateway).await?;
    let forging = "UPDATE mcp_tool_history SET config_json = json_set(config_json, '$.http.url', 'http://evil.example/') WHERE revision = 1";
    sqlx::query(forging).execute(&mut other).await?;
    let report = verified(&gateway).await?;
    let found = report["contradictions"].as_array().unwrap();
    assert_eq!(
        (&report["good"], found.len(), &found[0]["version"]),
        (&json!(false), 1, &json!(1)),
        "{report}"
    );
    let ran = run(&gateway, &["audit", "verify"]).await?;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.starts_with("version 1 of \"t\" was changed after it was written"), "{}", ran.stdout);
    assert!(ran.stdout.contains("the record itself is whole: 4 entries"), "{}", ran.stdout);
    assert!(ran.stderr.contains("When something is wrong"), "{}", ran.stderr);
    let back = gateway.post_json("/admin/tools/t/rollback", &json!({"to": 1})).await?;
    assert_failed(&back, 409, "CONFLICT", "version 1 of");
    let all = gateway.post_json("/admin/rollback", &json!({"toRevision": 1})).await?;
    assert_failed(&all, 409, "CONFLICT", "version 1 of");
    let unforged = gateway.post_json("/admin/tools/t/rollback", &json!({"to": 3})).await?;
    assert_eq!(unforged.status, 200, "{}", unforged.text());
    Ok(())
}

#[tokio::test]
async fn a_tenant_gets_as_many_entries_as_it_asks_for() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let acme = [("toolrail-tenant", "acme")];
    for name in ["a", "b", "c"] {
        let sent = send(&gateway, "POST /admin/tools", &acme, &echo_tool(name, &upstream)).await?;
        assert_eq!(sent.status, 200, "{}", sent.text());
    }
    for name in ["x", "y", "z"] {
        register(&gateway, &echo_tool(name, &upstream)).await;
    }
    let numbers = async |query: &str| -> Result<(Vec<i64>, Value)> {
        let sent = send(&gateway, &format!("GET /admin/audit{query}"), &acme, &Value::Null).await?;
        let body = sent.json()?;
        let entries = body["entries"].as_array().unwrap();
        Ok((entries.iter().filter_map(|entry| entry["number"].as_i64()).collect(), body["next"].clone()))
    };
    assert_eq!(numbers("?limit=2").await?, (vec![1, 2], json!(2)));
    assert_eq!(numbers("?limit=2&after=2").await?, (vec![3], Value::Null));
    assert_eq!(numbers("?limit=2&newest=true").await?, (vec![2, 3], Value::Null));
    let listed = run(&gateway, &["audit", "list", "--tenant", "acme", "--limit", "2"]).await?;
    assert_eq!(listed.stdout.lines().count(), 3, "{}", listed.stdout);
    let history = send(&gateway, "GET /admin/history?limit=2", &acme, &Value::Null).await?.json()?;
    assert_eq!((history["versions"].as_array().map(Vec::len), &history["next"]), (Some(2), &json!(2)));
    Ok(())
}
