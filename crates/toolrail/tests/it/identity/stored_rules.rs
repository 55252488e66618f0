//! Permission rules in the store: checked before they are saved, kept as versions, at work on every replica within a moment, and
//! never a way in when they cannot be read.

use std::time::Duration;

use anyhow::{Result, ensure};
use http::Method;
use serde_json::{Value, json};
use toolrail_testkit::{Connection, Database, DatabaseKind, Gateway, Reply, Upstream, WebSocket, wait_until};

use super::{ask, first_key, make_key};
use crate::support::{echo_tool, gateway, run_in, run_with_input, send};

const SOON: Duration = Duration::from_secs(20);
const RULES: &str = "/admin/permissions";

/// Nobody of the group `outside` sees `hr.*`.
fn no_hr() -> Value {
    json!({
        "rules": [{"name": "no-hr", "effect": "deny", "who": {"groups": ["outside"]}, "tools": {"names": ["hr.*"]}}],
        "tests": [{"as": {"name": "x", "groups": ["outside"]}, "tool": "hr.fire", "expect": "hidden"}],
    })
}

/// Texts are short.
fn short_texts() -> Value {
    json!({"rules": [{"name": "short", "effect": "deny", "who": {"roles": ["call"]}, "tools": {"names": ["echo.*"]},
        "when": "args.q.size() > 5", "reason": "at most five letters"}]})
}

/// A gateway on a store of its own, and somebody outside.
struct Stage {
    gateway: Gateway,
    database: Database,
    admin: String,
    outside: String,
    _upstream: Upstream,
}

async fn stage(kind: DatabaseKind) -> Result<Stage> {
    let (upstream, database) = (Upstream::start().await?, Database::fresh(kind).await?);
    let gateway = gateway().arg("--secure").discovery().store(database.url()).start().await?;
    let admin = first_key(&gateway).await?;
    for name in ["hr.fire", "echo.say"] {
        let body = echo_tool(name, &upstream);
        let made = ask(&gateway, Some(&admin), (Method::POST, "/admin/tools"), Some(&body)).await?;
        ensure!(made.status < 300, "{}", made.text());
    }
    let key = json!({"name": "outside", "role": "call", "groups": ["outside"]});
    let outside = make_key(&gateway, &admin, &key).await?;
    Ok(Stage { gateway, database, admin, outside, _upstream: upstream })
}

impl Stage {
    async fn administer(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply> {
        ask(&self.gateway, Some(&self.admin), (method, path), body).await
    }

    async fn put(&self, document: &Value) -> Result<Value> {
        let put = self.administer(Method::PUT, RULES, Some(document)).await?;
        ensure!(put.status == 200, "{}", put.text());
        put.json()
    }

    /// What a call is answered with.
    async fn called(&self, tool: &str, q: &str) -> Result<u16> {
        called(&self.gateway, &self.outside, tool, q).await
    }
}

async fn called(gateway: &Gateway, key: &str, tool: &str, q: &str) -> Result<u16> {
    let body = json!({"tool": tool, "arguments": {"q": q}});
    Ok(ask(gateway, Some(key), (Method::POST, "/mcp/tools/call"), Some(&body)).await?.status)
}

#[tokio::test]
async fn rules_in_sqlite_hold_at_once_have_versions_and_can_be_taken_back() -> Result<()> {
    rules_hold_at_once_and_can_be_taken_back(DatabaseKind::Sqlite).await
}

#[tokio::test]
async fn rules_in_postgres_hold_at_once_have_versions_and_can_be_taken_back() -> Result<()> {
    rules_hold_at_once_and_can_be_taken_back(DatabaseKind::Postgres).await
}

#[tokio::test]
async fn rules_in_mysql_hold_at_once_have_versions_and_can_be_taken_back() -> Result<()> {
    rules_hold_at_once_and_can_be_taken_back(DatabaseKind::Mysql).await
}

async fn rules_hold_at_once_and_can_be_taken_back(kind: DatabaseKind) -> Result<()> {
    let stage = stage(kind).await?;
    let none = stage.administer(Method::GET, RULES, None).await?.json()?;
    assert_eq!((&none["version"], &none["document"]), (&Value::Null, &Value::Null), "{none}");
    let tried = stage.administer(Method::PUT, &format!("{RULES}?dryRun=true"), Some(&no_hr())).await?;
    assert_eq!((tried.status, &tried.json()?["status"]), (200, &json!("planned")), "{}", tried.text());
    assert_eq!(stage.called("hr.fire", "a").await?, 200, "{kind}: only tried");

    assert_eq!(stage.put(&no_hr()).await?["version"], 1);
    assert_eq!(stage.called("hr.fire", "a").await?, 404, "{kind}");
    assert_eq!(stage.put(&no_hr()).await?["status"], "unchanged");
    assert_eq!(stage.put(&short_texts()).await?["version"], 2);
    assert_eq!(stage.called("hr.fire", "a").await?, 200, "{kind}");
    assert_eq!(stage.called("echo.say", "too long").await?, 403, "{kind}");

    let bearer = format!("Bearer {}", stage.admin);
    let headers = [("authorization", &*bearer), ("if-match", "\"1\"")];
    let late = send(&stage.gateway, &format!("PUT {RULES}"), &headers, &no_hr()).await?;
    assert_eq!(late.status, 409, "{kind} {}", late.text());
    let back = json!({"to": 1});
    let back = stage.administer(Method::POST, &format!("{RULES}/rollback"), Some(&back)).await?;
    assert_eq!((back.status, &back.json()?["version"]), (200, &json!(3)), "{}", back.text());
    assert_eq!(back.header("etag"), Some("\"3\""));
    assert_eq!(stage.called("hr.fire", "a").await?, 404, "{kind}");

    let history = stage.administer(Method::GET, &format!("{RULES}/history"), None).await?.json()?;
    let told: Vec<_> = history["versions"].as_array().into_iter().flatten().collect();
    assert_eq!(
        told.iter().map(|one| one["version"].as_i64()).collect::<Vec<_>>(),
        [Some(3), Some(2), Some(1)]
    );
    assert_eq!((&told[0]["who"], &told[0]["via"]), (&json!("admin"), &json!("rollback")));
    let second = stage.administer(Method::GET, &format!("{RULES}/history/2"), None).await?.json()?;
    assert_eq!(second["document"], short_texts());

    let cleared = stage.administer(Method::DELETE, RULES, None).await?.json()?;
    assert_eq!((&cleared["status"], &cleared["version"]), (&json!("cleared"), &json!(4)));
    assert_eq!(stage.called("hr.fire", "a").await?, 200, "{kind}");
    let audit = stage.administer(Method::GET, "/admin/audit?limit=50", None).await?.text();
    for action in ["permissions.update", "permissions.rollback", "permissions.clear", "/rules/0/name"] {
        assert!(audit.contains(action), "{kind} {action} {audit}");
    }
    let whole = stage.administer(Method::GET, "/admin/audit/verify", None).await?;
    assert_eq!(whole.status, 200, "{}", whole.text());
    Ok(())
}

#[tokio::test]
async fn rules_that_cannot_be_meant_are_not_saved() -> Result<()> {
    let stage = stage(DatabaseKind::Sqlite).await?;
    let mut failing = no_hr();
    failing["tests"][0]["expect"] = "allow".into();
    let mut wrong = no_hr();
    wrong["rules"][0]["when"] = "tool.nmae == 'x'".into();
    let reason = |size| json!({"default": "allow", "rules": (0..size).map(|at| json!({"name": format!("r{at}"), "effect": "deny", "tools": {"names": ["x".repeat(120)]}, "when": format!("args.{} == 1", "y".repeat(900))})).collect::<Vec<_>>()});
    for (document, status, told) in [
        (failing, 422, "/tests/0"),
        (wrong, 422, "/rules/0/when"),
        (json!({"rulez": []}), 422, "/rulez"),
        (json!([]), 400, "JSON object"),
        (reason(70), 413, "at most 65536"),
    ] {
        let refused = stage.administer(Method::PUT, RULES, Some(&document)).await?;
        assert_eq!(refused.status, status, "{}", refused.text());
        assert!(refused.text().contains(told), "{told} {}", refused.text());
    }
    let idle = json!({"rules": [{"name": "slip", "effect": "deny", "tools": {"names": ["hrr.*"]}}]});
    let warned = stage.put(&idle).await?;
    assert_eq!(warned["warnings"][0]["pointer"], "/rules/0/tools", "{warned}");
    let missing =
        stage.administer(Method::POST, &format!("{RULES}/rollback"), Some(&json!({"to": 9}))).await?;
    assert_eq!(missing.status, 404, "{}", missing.text());
    Ok(())
}

#[tokio::test]
async fn only_administrators_of_all_tenants_see_rules_and_no_rule_keeps_them_out() -> Result<()> {
    let stage = stage(DatabaseKind::Sqlite).await?;
    for key in [
        json!({"name": "w", "role": "write"}),
        json!({"name": "t", "role": "admin", "tenant": "acme"}),
        json!({"name": "c", "role": "call"}),
    ] {
        let text = make_key(&stage.gateway, &stage.admin, &key).await?;
        for (method, path) in [
            (Method::GET, RULES),
            (Method::PUT, RULES),
            (Method::DELETE, RULES),
            (Method::GET, "/admin/permissions/history"),
            (Method::GET, "/admin/permissions/history/1"),
            (Method::POST, "/admin/permissions/rollback"),
        ] {
            let refused = ask(&stage.gateway, Some(&text), (method.clone(), path), Some(&json!({}))).await?;
            assert_eq!(refused.status, 403, "{key} {method} {path} {}", refused.text());
        }
    }
    stage.put(&json!({"default": "deny"})).await?;
    let listed = stage.administer(Method::GET, "/mcp/tools", None).await?.json()?;
    assert_eq!(listed["tools"], json!([]), "rules are about tools for administrators too");
    assert_eq!(stage.administer(Method::DELETE, RULES, None).await?.status, 200);
    assert_eq!(stage.called("echo.say", "a").await?, 200);
    Ok(())
}

#[tokio::test]
async fn both_the_configuration_and_the_store_have_to_allow() -> Result<()> {
    let (upstream, folder) = (Upstream::start().await?, tempfile::tempdir()?);
    let config = folder.path().join("toolrail.json");
    std::fs::write(&config, json!({"permissions": no_hr()}).to_string())?;
    let gateway = gateway().arg("--config").arg(&config).start().await?;
    let admin = first_key(&gateway).await?;
    for name in ["hr.fire", "echo.say"] {
        let body = echo_tool(name, &upstream);
        let made = ask(&gateway, Some(&admin), (Method::POST, "/admin/tools"), Some(&body)).await?;
        ensure!(made.status < 300, "{}", made.text());
    }
    let ci =
        make_key(&gateway, &admin, &json!({"name": "ci", "role": "call", "groups": ["outside"]})).await?;
    let mut stored = short_texts();
    stored["rules"].as_array_mut().unwrap().push(
        json!({"name": "no-hr", "effect": "deny", "tools": {"names": ["hr.*"]}, "when": "args.q.size() > 5", "reason": "never told"}),
    );
    let put = ask(&gateway, Some(&admin), (Method::PUT, RULES), Some(&stored)).await?;
    assert_eq!(put.status, 200, "{}", put.text());
    assert_eq!(called(&gateway, &ci, "hr.fire", "a").await?, 404, "the configuration hides it");
    assert_eq!(called(&gateway, &ci, "hr.fire", "too long").await?, 404, "hidden wins over refused");
    assert_eq!(called(&gateway, &ci, "echo.say", "too long").await?, 403, "the store refuses it");
    assert_eq!(called(&gateway, &ci, "echo.say", "a").await?, 200);
    let shown = ask(&gateway, Some(&admin), (Method::GET, RULES), None).await?.json()?;
    assert_eq!((&shown["configuration"], &shown["document"]), (&no_hr(), &stored));
    let data = gateway.data().to_str().unwrap_or_default().to_owned();
    for (arguments, told) in [
        (&["explain", "hr.fire", "--as", "ci"][..], "hidden (the rule \"no-hr\" decides)"),
        (
            &["explain", "echo.say", "--as", "ci", "--args", "{\"q\":\"longer\"}"],
            "refused (the rule \"short\" of the store decides: at most five letters)",
        ),
    ] {
        let ran = run_in(&std::env::temp_dir(), &[arguments, &["--data", &data]].concat()).await?;
        assert!(ran.stdout.contains(told), "{} {}", ran.stdout, ran.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn every_replica_and_whoever_is_connected_goes_by_new_rules() -> Result<()> {
    let stage = stage(DatabaseKind::Sqlite).await?;
    let other = gateway().arg("--secure").discovery().store(stage.database.url()).start().await?;
    let status = async || called(&other, &stage.outside, "hr.fire", "a").await.ok();
    wait_until("the tools", SOON, async || (status().await == Some(200)).then_some(())).await?;
    let url = format!("{}/mcp/ws", other.url().replacen("http", "ws", 1));
    let mut socket = WebSocket::connect(&url, &[("x-api-key", &stage.outside)]).await?;
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    socket.call("initialize", hello).await?;
    socket.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
    assert!(socket.call("tools/list", json!({})).await?.to_string().contains("hr.fire"));

    stage.put(&no_hr()).await?;
    wait_until("the rules", SOON, async || (status().await == Some(404)).then_some(())).await?;
    // Who is connected hears of it, and is bound by it.
    loop {
        let told = tokio::time::timeout(SOON, socket.receive()).await??;
        if told["method"] == "notifications/tools/list_changed" {
            break;
        }
    }
    assert!(!socket.call("tools/list", json!({})).await?.to_string().contains("hr.fire"));
    let called = json!({"name": "hr.fire", "arguments": {"q": "a"}});
    let refused = socket.call("tools/call", called).await?.to_string();
    assert!(refused.contains("hr.fire") && !refused.contains("\"path\""), "{refused}");
    let cleared = ask(&other, Some(&stage.admin), (Method::DELETE, RULES), None).await?;
    assert_eq!(cleared.status, 200, "{}", cleared.text());
    wait_until("their end", SOON, async || {
        (stage.called("hr.fire", "a").await.ok() == Some(200)).then_some(())
    })
    .await?;
    Ok(())
}

/// Writes what no program of this version writes, and makes it known.
async fn tamper(program: &mut Connection, version: &str) -> Result<()> {
    let body = r#"{"document":{"newRules":[]}}"#;
    program
        .execute(&format!(
            "UPDATE toolrail_meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'record_number'; \
             UPDATE toolrail_record SET body = '{body}', \
                 number = (SELECT CAST(value AS INTEGER) FROM toolrail_meta WHERE name = 'record_number') \
             WHERE kind = 'permissions' AND id = '{version}';"
        ))
        .await?;
    Ok(())
}

#[tokio::test]
async fn rules_that_cannot_be_read_open_nothing() -> Result<()> {
    let mut stage = stage(DatabaseKind::Sqlite).await?;
    stage.put(&no_hr()).await?;
    stage.put(&short_texts()).await?;
    let mut program = stage.database.connect().await?;
    tamper(&mut program, "0000000002").await?;
    let ready = async || ask(&stage.gateway, Some(&stage.admin), (Method::GET, "/readyz"), None).await.ok();
    wait_until("the fault", SOON, async || {
        ready().await?.text().contains("version 2 still holds").then_some(())
    })
    .await?;
    assert_eq!(stage.called("echo.say", "too long").await?, 403, "what held stays");
    assert_eq!(stage.called("echo.say", "a").await?, 200);

    stage.gateway.restart().await?;
    assert_eq!(stage.called("echo.say", "a").await?, 503, "nobody knows what should hold");
    let told = ask(&stage.gateway, Some(&stage.outside), (Method::GET, "/mcp/tools"), None).await?.text();
    assert!(told.contains("version 2 of the permission rules in the store cannot be used"), "{told}");
    let ready = ask(&stage.gateway, Some(&stage.admin), (Method::GET, "/readyz"), None).await?;
    assert_eq!((ready.status, &ready.json()?["status"]), (503, &json!("closed")), "{}", ready.text());
    stage.gateway.said("cannot be used").await?;
    let shown = stage.administer(Method::GET, RULES, None).await?.json()?;
    assert!(shown["fault"].as_str().is_some_and(|fault| fault.contains("role write")), "{shown}");
    let back = stage.administer(Method::POST, &format!("{RULES}/rollback"), Some(&json!({"to": 1}))).await?;
    assert_eq!(back.status, 200, "{}", back.text());
    assert_eq!(stage.called("echo.say", "a").await?, 200);
    assert_eq!(stage.called("hr.fire", "a").await?, 404);
    Ok(())
}

#[tokio::test]
async fn the_last_hundred_versions_are_kept() -> Result<()> {
    let stage = stage(DatabaseKind::Sqlite).await?;
    for at in 0..103 {
        let name = format!("r{at}");
        stage.put(&json!({"rules": [{"name": name, "effect": "deny", "tools": {"names": ["x"]}}]})).await?;
    }
    let history = stage.administer(Method::GET, &format!("{RULES}/history"), None).await?.json()?;
    let versions = history["versions"].as_array().unwrap();
    assert_eq!((versions.len(), &versions[0]["version"]), (100, &json!(103)));
    assert_eq!(stage.administer(Method::GET, &format!("{RULES}/history/3"), None).await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn the_command_line_sets_shows_and_takes_back_rules_with_and_without_a_gateway() -> Result<()> {
    let mut stage = stage(DatabaseKind::Sqlite).await?;
    let folder = tempfile::tempdir()?;
    let data = stage.gateway.data().to_str().unwrap_or_default().to_owned();
    let yaml = "rules:\n  - name: no-hr\n    effect: deny\n    tools: {names: [\"hr.*\"]}\n";
    std::fs::write(folder.path().join("rules.yaml"), yaml)?;
    std::fs::write(folder.path().join("bad.yaml"), format!("{yaml}    wen: args.x\n"))?;
    let store = stage.database.url().to_owned();
    let with_gateway = ["--data", &data];
    let alone = ["--store", &store];
    let run = async |words: &[&str], place: &[&str]| {
        run_in(folder.path(), &[&["permissions"], words, place].concat()).await
    };
    let bad = run(&["test", "bad.yaml"], &[]).await?;
    assert!(bad.code == Some(1) && bad.stdout.contains("bad.yaml:5:10"), "{} {}", bad.stdout, bad.stderr);
    let good = run(&["test", "rules.yaml"], &[]).await?;
    assert!(good.code == Some(0) && good.stdout.contains("1 rule, 0 tests: good"), "{}", good.stdout);
    let refused = run(&["set", "bad.yaml"], &with_gateway).await?;
    assert!(refused.code == Some(1) && refused.stdout.contains("/rules/0/wen"), "{}", refused.stdout);

    let set = run(&["set", "rules.yaml", "--note", "hr & more"], &with_gateway).await?;
    assert!(
        set.code == Some(0) && set.stdout.contains("saved as version 1"),
        "{} {}",
        set.stdout,
        set.stderr
    );
    assert_eq!(stage.called("hr.fire", "a").await?, 404);
    stage.gateway.stop().await?;
    let shown = run(&["show"], &alone).await?;
    assert!(shown.stdout.contains("no-hr"), "{} {}", shown.stdout, shown.stderr);
    let cleared = run(&["clear", "--if-version", "1"], &alone).await?;
    assert!(cleared.stdout.contains("cleared as version 2"), "{} {}", cleared.stdout, cleared.stderr);
    let late = run(&["clear", "--if-version", "1"], &alone).await?;
    assert!(late.code != Some(0) && late.stderr.contains("version 2"), "{}", late.stderr);
    let back = run(&["rollback", "1", "--dry-run"], &alone).await?;
    assert!(back.stdout.contains("no-hr"), "{} {}", back.stdout, back.stderr);
    let history = run(&["history"], &alone).await?.stdout;
    assert!(history.contains("hr & more") && !history.contains("\n3"), "{history}");
    let piped = run_with_input(folder.path(), &["permissions", "test", "-"], yaml).await?;
    assert_eq!(piped.code, Some(0), "{}", piped.stderr);
    Ok(())
}
