//! What definitions were before, and the way back: versions, differences, rollback of one and of all (R121).

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use toolrail_testkit::{Gateway, Upstream, wait_until};

use crate::support::{
    BINARY, Ran, assert_failed, call, echo_tool, gateway_and_upstream, listed, register, register_all,
    run_in, send,
};

/// Another program at the same database.
async fn database(gateway: &Gateway) -> Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(gateway.data().join("toolrail.db"));
    Ok(SqliteConnection::connect_with(&options).await?)
}

/// Runs `toolrail … --url URL`.
async fn run(gateway: &Gateway, arguments: &[&str]) -> Result<Ran> {
    run_in(Path::new("."), &[arguments, &["--url", gateway.url()]].concat()).await
}

async fn get(gateway: &Gateway, path: &str) -> Result<Value> {
    let reply = gateway.get(path).await?;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

async fn post(gateway: &Gateway, path: &str, body: Value) -> Result<Value> {
    let reply = gateway.post_json(path, &body).await?;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

fn column<'a>(body: &'a Value, list: &str, field: &str) -> Vec<&'a Value> {
    body[list].as_array().unwrap().iter().map(|one| &one[field]).collect()
}

#[tokio::test]
async fn r121_every_version_is_kept_with_who_when_from_where_and_what_changed() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let mut tool = echo_tool("t", &upstream);
    register(&gateway, &tool).await;
    tool["description"] = json!("Says it again");
    let headers = [("toolrail-author", "anna"), ("toolrail-via", "import")];
    assert_eq!(send(&gateway, "PUT /admin/tools", &headers, &tool).await?.status, 200);
    assert_eq!(gateway.delete("/admin/tools/T").await?.status, 200);
    assert_eq!(gateway.delete("/admin/tools/t?purge=true").await?.status, 200);

    let history = get(&gateway, "/admin/tools/T/history").await?;
    assert_eq!(column(&history, "versions", "version"), [4, 3, 2, 1]);
    assert_eq!(column(&history, "versions", "what"), ["removed", "updated", "updated", "created"]);
    assert_eq!(column(&history, "versions", "who"), ["anonymous", "anonymous", "anna", "anonymous"]);
    assert_eq!(column(&history, "versions", "via"), ["admin-api", "admin-api", "import", "admin-api"]);
    assert_eq!(column(&history, "versions", "address"), ["127.0.0.1"; 4]);
    let changed = column(&history, "versions", "changed");
    assert_eq!(changed, [&json!([]), &json!(["/enabled"]), &json!(["/description"]), &json!([])]);
    assert_eq!(history["next"], Value::Null);

    let page = get(&gateway, "/admin/tools/t/history?limit=2").await?;
    assert_eq!(
        (column(&page, "versions", "version"), &page["next"]),
        (vec![&json!(4), &json!(3)], &json!(3))
    );
    let rest = get(&gateway, "/admin/tools/t/history?limit=2&before=3").await?;
    assert_eq!(column(&rest, "versions", "version"), [2, 1]);
    assert_eq!(column(&get(&gateway, "/admin/history").await?, "versions", "version"), [4, 3, 2, 1]);

    let second = get(&gateway, "/admin/tools/t/history/2").await?;
    assert_eq!(second["configJson"]["description"], "Says it again");
    let diff = get(&gateway, "/admin/tools/t/diff?to=2").await?;
    assert_eq!((&diff["from"]["version"], &diff["to"]["version"]), (&json!(1), &json!(2)));
    assert_eq!(diff["differences"][0]["pointer"], "/description");
    assert_eq!(diff["differences"][0]["after"], "Says it again");
    let both = get(&gateway, "/admin/tools/t/diff?from=1&to=3").await?;
    assert_eq!(column(&both, "differences", "pointer"), ["/description", "/enabled"]);
    let newest = get(&gateway, "/admin/tools/t/diff").await?;
    assert_eq!(
        (&newest["to"]["what"], &newest["differences"][0]["pointer"]),
        (&json!("removed"), &json!(""))
    );
    Ok(())
}

#[tokio::test]
async fn what_is_not_in_the_history_is_told_with_what_is() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register(&gateway, &echo_tool("t", &upstream)).await;
    let unknown = "/admin/tools/nothing";
    assert_failed(&gateway.get(&format!("{unknown}/history")).await?, 404, "NOT_FOUND", "no history");
    assert_failed(&gateway.get(&format!("{unknown}/diff")).await?, 404, "NOT_FOUND", "no history");
    assert_failed(&gateway.get("/admin/tools/t/history/9").await?, 404, "NOT_FOUND", "its newest: 1");
    assert_failed(
        &gateway.get("/admin/tools/t/history/x").await?,
        400,
        "INVALID_REQUEST",
        "number of a version",
    );
    assert_failed(&gateway.get("/admin/history?limit=0").await?, 400, "INVALID_REQUEST", "between 1 and 500");
    let rollback = async |to: Value| gateway.post_json("/admin/tools/t/rollback", &json!({"to": to})).await;
    assert_failed(&rollback(json!(7)).await?, 404, "NOT_FOUND", "no version 7");
    assert_failed(&rollback(json!("1")).await?, 400, "INVALID_REQUEST", "right form");
    let far = gateway.post_json("/admin/rollback", &json!({"toRevision": 99})).await?;
    assert_failed(&far, 404, "NOT_FOUND", "it is at 1");
    Ok(())
}

#[tokio::test]
async fn r121_a_tool_goes_back_to_any_of_its_versions_and_forth_again() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let mut tool = echo_tool("t", &upstream);
    register(&gateway, &tool).await;
    tool["http"]["url"] = json!(upstream.url("/nowhere"));
    register(&gateway, &tool).await;
    gateway.delete("/admin/tools/t").await?;
    gateway.delete("/admin/tools/t?purge=true").await?;
    let back = |to: i64| post(&gateway, "/admin/tools/t/rollback", json!({"to": to}));

    let restored = back(1).await?;
    assert_eq!((&restored["status"], &restored["state"]), (&json!("restored"), &json!("live")));
    assert_eq!((&restored["version"], &restored["from"]), (&json!(5), &Value::Null));
    assert_eq!(call(&gateway, "t", json!({"q": "x"})).await?.status, 200);

    assert_eq!(back(1).await?["status"], "unchanged");
    assert_eq!(back(3).await?["state"], "disabled");
    assert_eq!(call(&gateway, "t", json!({"q": "x"})).await?.status, 404);
    let removed = back(4).await?;
    assert_eq!((&removed["status"], &removed["state"]), (&json!("removed"), &json!("purged")));
    assert_eq!(back(4).await?["status"], "unchanged");
    assert_eq!(back(5).await?["state"], "live");
    let history = get(&gateway, "/admin/tools/t/history").await?;
    assert_eq!(history["versions"][0]["via"], "rollback to 5");
    assert_eq!(column(&history, "versions", "version"), [8, 7, 6, 5, 4, 3, 2, 1]);
    Ok(())
}

#[tokio::test]
async fn a_row_whose_document_leaves_the_name_out_goes_back_as_it_was() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let mut tool = echo_tool("t", &upstream);
    tool.as_object_mut().unwrap().remove("name");
    let mut other = database(&gateway).await?;
    let text = tool.to_string();
    sqlx::query("INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('t', 1, ?)")
        .bind(&text)
        .execute(&mut other)
        .await?;
    sqlx::query("UPDATE mcp_tool SET config_json = json_set(config_json, '$.description', 'Other')")
        .execute(&mut other)
        .await?;
    let restored = post(&gateway, "/admin/tools/t/rollback", json!({"to": 1})).await?;
    assert_eq!((&restored["status"], &restored["state"]), (&json!("restored"), &json!("live")));
    let stored: String = sqlx::query_scalar("SELECT config_json FROM mcp_tool").fetch_one(&mut other).await?;
    assert_eq!(stored, text);
    Ok(())
}

#[tokio::test]
async fn r121_everything_goes_back_to_a_revision_in_one_write() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let tools: Vec<Value> = ["a", "b", "c"].iter().map(|name| echo_tool(name, &upstream)).collect();
    register_all(&gateway, &tools).await?;
    let before = get(&gateway, "/admin/export").await?;
    gateway.delete("/admin/tools/a?purge=true").await?;
    gateway.delete("/admin/tools/b").await?;
    register(&gateway, &echo_tool("d", &upstream)).await;
    let wish = |dry_run: bool| json!({"toRevision": 3, "dryRun": dry_run});

    let planned = post(&gateway, "/admin/rollback", wish(true)).await?;
    assert_eq!(column(&planned, "plan", "action"), ["create", "enable", "remove"]);
    assert_eq!(column(&planned, "plan", "name"), ["a", "b", "d"]);
    assert_eq!((&planned["counts"]["unchanged"], &planned["revision"]), (&json!(1), &json!(6)));
    assert_eq!(listed(&gateway).await?, ["c", "d"], "a dry run does nothing");

    let done = post(&gateway, "/admin/rollback", wish(false)).await?;
    assert_eq!(done["revision"], 9);
    assert_eq!(listed(&gateway).await?, ["a", "b", "c"]);
    assert_eq!(get(&gateway, "/admin/export").await?["tools"], before["tools"]);
    let again = post(&gateway, "/admin/rollback", wish(false)).await?;
    assert_eq!((&again["plan"], &again["revision"]), (&json!([]), &json!(9)));
    let forth = post(&gateway, "/admin/rollback", json!({"toRevision": 6})).await?;
    assert_eq!(column(&forth, "plan", "action"), ["remove", "disable", "create"]);
    assert_eq!(listed(&gateway).await?, ["c", "d"]);
    Ok(())
}

#[tokio::test]
async fn a_tenant_has_a_history_of_its_own_and_goes_back_alone() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let acme = [("toolrail-tenant", "acme")];
    register(&gateway, &echo_tool("t", &upstream)).await;
    let mine = echo_tool("t", &upstream);
    assert_eq!(send(&gateway, "POST /admin/tools", &acme, &mine).await?.status, 200);
    let purge = send(&gateway, "DELETE /admin/tools/t?purge=true", &acme, &Value::Null).await?;
    assert_eq!(purge.status, 200, "{}", purge.text());
    register(&gateway, &echo_tool("u", &upstream)).await;

    let of = |path: &'static str| async { send(&gateway, path, &acme, &Value::Null).await?.json() };
    assert_eq!(column(&of("GET /admin/tools/t/history").await?, "versions", "version"), [3, 2]);
    assert_eq!(column(&of("GET /admin/history").await?, "versions", "version"), [3, 2]);
    assert_eq!(column(&get(&gateway, "/admin/tools/t/history").await?, "versions", "version"), [1]);
    let back = send(&gateway, "POST /admin/rollback", &acme, &json!({"toRevision": 2})).await?.json()?;
    assert_eq!(back["plan"], json!([{"action": "create", "name": "t", "tenant": "acme"}]));
    assert_eq!(listed(&gateway).await?, ["t", "u"], "what is shared stays");
    assert_eq!(of("GET /admin/export").await?["tools"][0]["tenant"], "acme");
    let every = get(&gateway, "/admin/tools?allTenants=true").await?;
    assert_eq!(column(&every, "tools", "tenant"), [&Value::Null, &Value::Null, &json!("acme")]);
    assert_eq!(column(&get(&gateway, "/admin/tools").await?, "tools", "name"), ["t", "u"]);
    let shared = send(&gateway, "DELETE /admin/tools/u", &acme, &Value::Null).await?;
    assert_failed(&shared, 409, "CONFLICT", "only the shared one");
    Ok(())
}

#[tokio::test]
async fn a_version_that_has_errors_is_no_way_back_for_one_tool() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let tool = echo_tool("t", &upstream);
    register(&gateway, &tool).await;
    let mut other = database(&gateway).await?;
    sqlx::query("UPDATE mcp_tool SET config_json = '{\"name\":\"t\",\"htpp\":{}}'")
        .execute(&mut other)
        .await?;
    register(&gateway, &tool).await;
    let history = get(&gateway, "/admin/tools/t/history").await?;
    assert_eq!(column(&history, "versions", "version"), [3, 2, 1]);
    assert_eq!(history["versions"][1]["via"], Value::Null, "another program's write has no way");
    let refused = gateway.post_json("/admin/tools/t/rollback", &json!({"to": 2})).await?;
    assert_failed(&refused, 422, "INVALID_DEFINITION", "htpp");
    let back = post(&gateway, "/admin/rollback", json!({"toRevision": 2})).await?;
    assert_eq!(back["counts"]["update"], 1, "all of them go back to exactly what was");
    let shown = get(&gateway, "/admin/tools/t").await?;
    assert_eq!((&shown["state"], &shown["servingVersion"]), (&json!("live"), &json!(3)), "{shown:#}");
    assert!(shown["errors"].as_u64() > Some(0), "{shown:#}");
    Ok(())
}

#[tokio::test]
async fn history_is_kept_as_long_as_it_was_asked_for() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let upstream = Upstream::start().await?;
    let gateway = Gateway::builder(BINARY).data(folder.path()).start().await?;
    for number in 1..=4 {
        let mut tool = echo_tool("t", &upstream);
        tool["description"] = json!(format!("number {number}"));
        register(&gateway, &tool).await;
    }
    drop(gateway);
    let flags = ["--history-versions", "2"];
    let gateway = Gateway::builder(BINARY).data(folder.path()).args(flags).start().await?;
    wait_until("old versions to be forgotten", Duration::from_secs(5), async || {
        let history = get(&gateway, "/admin/tools/t/history").await.ok()?;
        (column(&history, "versions", "version") == [4, 3]).then_some(())
    })
    .await?;
    let gone = gateway.post_json("/admin/rollback", &json!({"toRevision": 1})).await?;
    assert_failed(&gone, 404, "NOT_FOUND", "forgotten");
    assert_eq!(post(&gateway, "/admin/tools/t/rollback", json!({"to": 3})).await?["status"], "restored");
    Ok(())
}

#[tokio::test]
async fn the_command_line_shows_history_and_differences() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let mut tool = echo_tool("t", &upstream);
    register(&gateway, &tool).await;
    tool["description"] = json!("Says it again");
    register(&gateway, &tool).await;
    let shown = run(&gateway, &["history", "t"]).await?;
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(lines[0].starts_with("VERSION") && lines.len() == 3, "{}", shown.stdout);
    for part in ["2", "anonymous", "admin-api from 127.0.0.1", "updated", "/description"] {
        assert!(lines[1].contains(part), "{part} is not in {}", lines[1]);
    }
    let limited = run(&gateway, &["history", "t", "--limit", "1"]).await?;
    assert!(limited.stderr.contains("history t --before 2"), "{}", limited.stderr);
    let all = run(&gateway, &["history", "--json"]).await?;
    assert_eq!(serde_json::from_str::<Value>(&all.stdout)?["versions"].as_array().map(Vec::len), Some(2));

    let diff = run(&gateway, &["diff", "t"]).await?;
    let lines: Vec<&str> = diff.stdout.lines().collect();
    assert!(
        lines[0].starts_with("--- t version 1 (") && lines[1].starts_with("+++ t version 2 ("),
        "{lines:?}"
    );
    assert_eq!(
        lines[2..],
        ["@@ /description", "- \"Sends a text to a service that sends it back\"", "+ \"Says it again\""]
    );
    let unknown = run(&gateway, &["diff", "t", "--to", "9"]).await?;
    assert_eq!(unknown.code, Some(1));
    assert!(
        unknown.stderr.contains("no version 9") && unknown.stderr.contains("toolrail history t"),
        "{}",
        unknown.stderr
    );
    Ok(())
}

#[tokio::test]
async fn the_command_line_goes_back_but_not_with_everything_unasked() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("a", &upstream), echo_tool("b", &upstream)]).await?;
    gateway.delete("/admin/tools/a?purge=true").await?;
    let one = run(&gateway, &["rollback", "a", "--to", "1"]).await?;
    assert_eq!(one.stdout, "a is as it was at version 1, and live; that is version 4\n", "{}", one.stderr);
    let looked = run(&gateway, &["rollback", "--to-revision", "1", "--dry-run"]).await?;
    assert_eq!((looked.code, looked.stdout.as_str()), (Some(0), "- remove b\n1 change, 1 unchanged\n"));
    let unasked = run(&gateway, &["rollback", "--to-revision", "1"]).await?;
    assert_eq!(unasked.code, Some(1));
    assert!(
        unasked.stderr.contains("nobody to ask") && unasked.stderr.contains("--yes"),
        "{}",
        unasked.stderr
    );
    assert_eq!(listed(&gateway).await?, ["a", "b"]);
    let done = run(&gateway, &["rollback", "--to-revision", "1", "--yes"]).await?;
    assert!(
        done.stdout.ends_with("everything is as it was at revision 1; that is revision 5\n"),
        "{}",
        done.stdout
    );
    assert_eq!(listed(&gateway).await?, ["a"]);
    let nothing = run(&gateway, &["rollback", "--to-revision", "5"]).await?;
    assert_eq!(nothing.code, Some(0));
    assert!(nothing.stderr.contains("already"), "{}", nothing.stderr);
    for wrong in [&["rollback"][..], &["rollback", "a"], &["rollback", "--to", "1"]] {
        assert_eq!(run(&gateway, wrong).await?.code, Some(2), "{wrong:?}");
    }
    Ok(())
}

/// A row that another program wrote need not repeat its name.
#[tokio::test]
async fn a_version_without_a_name_of_its_own_is_compared_by_the_one_beside_it() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let mut row = echo_tool("t", &upstream);
    row.as_object_mut().unwrap().shift_remove("name");
    let statement = "INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('t', TRUE, ?)";
    sqlx::query(statement).bind(row.to_string()).execute(&mut database(&gateway).await?).await?;
    wait_until("the row to be served", Duration::from_secs(5), async || {
        (listed(&gateway).await.ok()? == ["t"]).then_some(())
    })
    .await?;
    let mut tool = echo_tool("t", &upstream);
    tool["description"] = json!("Says it again");
    register(&gateway, &tool).await;
    let compared = get(&gateway, "/admin/tools/t/diff?from=2&to=1").await?;
    assert_eq!(column(&compared, "differences", "pointer"), ["/description"], "{compared}");
    Ok(())
}
