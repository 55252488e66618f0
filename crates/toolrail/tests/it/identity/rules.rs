//! Permission rules: what they hide is nowhere, what they refuse by its arguments says why, and `explain` says which rule decides.

use std::time::Duration;

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, Upstream, wait_until};

use super::{ask, first_key, make_key};
use crate::support::{echo_tool, gateway, run_in, run_with};

fn rules() -> Value {
    json!({
        "rules": [
            {"name": "no-hr", "effect": "deny", "who": {"groups": ["outside"]}, "tools": {"names": ["hr.*"]}},
            {"name": "nothing-destructive", "effect": "deny", "who": {"roles": ["read", "call"]}, "tools": {"tags": ["danger"]}},
            {"name": "short-texts", "effect": "deny", "who": {"roles": ["call"]}, "tools": {"names": ["echo.*"]},
             "when": "args.q.size() > 5", "reason": "texts have at most five letters"},
        ],
        "tests": [
            {"as": {"name": "x", "role": "call", "groups": ["outside"]}, "tool": "hr.fire", "expect": "hidden"},
            {"as": {"name": "x", "role": "call"}, "tool": "echo.say", "args": {"q": "longer"}, "expect": "deny"},
        ],
    })
}

async fn stage(rules: &Value) -> Result<(Gateway, String, Upstream, tempfile::TempDir)> {
    let (upstream, folder) = (Upstream::start().await?, tempfile::tempdir()?);
    let config = folder.path().join("toolrail.json");
    std::fs::write(&config, json!({"secure": true, "permissions": rules}).to_string())?;
    let gateway = gateway().arg("--config").arg(&config).start().await?;
    let admin = first_key(&gateway).await?;
    for name in ["hr.fire", "echo.say", "store.wipe"] {
        let mut body = echo_tool(name, &upstream);
        if name == "store.wipe" {
            body["tags"] = json!(["danger"]);
        }
        let made = ask(&gateway, Some(&admin), (Method::POST, "/admin/tools"), Some(&body)).await?;
        anyhow::ensure!(made.status < 300, "{}", made.text());
    }
    Ok((gateway, admin, upstream, folder))
}

#[tokio::test]
async fn what_rules_hide_is_nowhere_and_what_they_refuse_says_why() -> Result<()> {
    let (gateway, admin, _upstream, _folder) = stage(&rules()).await?;
    let inside = make_key(&gateway, &admin, &json!({"name": "inside", "role": "call"})).await?;
    let outside =
        make_key(&gateway, &admin, &json!({"name": "outside", "role": "call", "groups": ["outside"]}))
            .await?;
    for (key, sees) in [
        (&inside, &["hr.fire", "echo.say"][..]),
        (&outside, &["echo.say"]),
        (&admin, &["hr.fire", "echo.say", "store.wipe"]),
    ] {
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        let ways = [
            ask(&gateway, Some(key), (Method::POST, "/mcp"), Some(&list)).await?.text(),
            ask(&gateway, Some(key), (Method::GET, "/mcp/tools"), None).await?.text(),
            ask(&gateway, Some(key), (Method::GET, "/mcp/search?q=echo+fire+wipe&limit=20"), None)
                .await?
                .text(),
        ];
        for tool in ["hr.fire", "echo.say", "store.wipe"] {
            for (way, text) in ways.iter().enumerate() {
                assert!(
                    text.contains(&format!("\"{tool}\"")) == sees.contains(&tool)
                        || (way == 2 && sees.contains(&tool)),
                    "{tool} {way} {text}"
                );
            }
            let call = json!({"tool": tool, "arguments": {"q": "short"}});
            let called = ask(&gateway, Some(key), (Method::POST, "/mcp/tools/call"), Some(&call)).await?;
            assert_eq!(
                called.status,
                if sees.contains(&tool) { 200 } else { 404 },
                "{tool} {}",
                called.text()
            );
        }
    }
    let long = json!({"tool": "echo.say", "arguments": {"q": "too long"}});
    let refused = ask(&gateway, Some(&inside), (Method::POST, "/mcp/tools/call"), Some(&long)).await?;
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(refused.text().contains("texts have at most five letters"), "{}", refused.text());
    assert_eq!(
        ask(&gateway, Some(&admin), (Method::POST, "/mcp/tools/call"), Some(&long)).await?.status,
        200
    );
    Ok(())
}

#[tokio::test]
async fn explain_names_the_rule_that_decides() -> Result<()> {
    let (gateway, admin, _upstream, _folder) = stage(&rules()).await?;
    make_key(&gateway, &admin, &json!({"name": "ci", "role": "call", "groups": ["outside"]})).await?;
    make_key(&gateway, &admin, &json!({"name": "eye", "role": "read", "tools": ["echo.*"]})).await?;
    let data = gateway.data().to_str().unwrap_or_default().to_owned();
    for (arguments, code, told) in [
        (&["explain", "hr.fire", "--as", "ci"][..], 1, "hidden (the rule \"no-hr\" decides)"),
        (&["explain", "echo.say", "--as", "ci"], 0, "seen"),
        (
            &["explain", "echo.say", "--as", "ci", "--args", "{\"q\":\"longer\"}"],
            1,
            "refused (the rule \"short-texts\" decides: texts have",
        ),
        (&["explain", "echo.say", "--as", "ci", "--args", "{\"q\":\"a\"}"], 0, "allowed"),
        (&["explain", "hr.fire", "--as", "eye"], 1, "sees only echo.*"),
        (&["explain", "echo.say", "--as", "eye", "--args", "{}"], 1, "refused"),
        (&["explain", "nothing", "--as", "ci"], 1, "there is no tool \"nothing\""),
    ] {
        let all = [arguments, &["--data", &data]].concat();
        let ran = run_in(&std::env::temp_dir(), &all).await?;
        assert_eq!(ran.code, Some(code), "{arguments:?} {} {}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(told), "{arguments:?} {}", ran.stdout);
    }
    Ok(())
}

#[tokio::test]
async fn rules_whose_tests_fail_or_that_cannot_be_meant_are_not_put_to_work() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut wrong = rules();
    wrong["tests"][0]["expect"] = "allow".into();
    wrong["rules"][1]["when"] = "tool.nmae == 'x'".into();
    for (document, told) in [
        (json!({"rules": wrong["rules"]}), "/permissions/rules/1/when"),
        (json!({"rules": rules()["rules"], "tests": wrong["tests"]}), "/permissions/tests/0"),
        (json!({"rulez": []}), "/permissions/rulez"),
    ] {
        let config = folder.path().join("toolrail.json");
        std::fs::write(&config, json!({"permissions": document}).to_string())?;
        let config = config.to_str().unwrap_or_default();
        let ran = run_in(folder.path(), &["serve", "--config", config, "--listen", "127.0.0.1:0"]).await?;
        assert_ne!(ran.code, Some(0));
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
    Ok(())
}

/// What is passed on as it came is judged as whoever carries it out may read it.
#[tokio::test]
async fn a_condition_on_the_arguments_of_an_upstream_tool_cannot_be_evaded() -> Result<()> {
    let (inner, upstream) = crate::support::started().await;
    crate::support::register_all(&inner, &[echo_tool("say", &upstream)]).await?;
    let (gateway, admin, _upstream, _folder) = stage(&json!({"rules": [
        {"name": "short", "effect": "deny", "who": {"roles": ["call"]}, "tools": {"kinds": ["mcp"]}, "when": "args.q.size() > 5"},
    ]}))
    .await?;
    let server = json!({"name": "up", "description": "Another gateway", "type": "mcp", "mcp": {"url": format!("{}/mcp", inner.url())}});
    let made = ask(&gateway, Some(&admin), (Method::POST, "/admin/tools"), Some(&server)).await?;
    assert!(made.status < 300, "{}", made.text());
    let key = make_key(&gateway, &admin, &json!({"name": "ci", "role": "call"})).await?;
    wait_until("the tools of the server", Duration::from_secs(20), async || {
        let listed = ask(&gateway, Some(&key), (Method::GET, "/mcp/tools"), None).await.ok()?;
        listed.text().contains("\"up_say\"").then_some(())
    })
    .await?;
    for (arguments, status) in [
        (r#"{"q":"short"}"#, 200),
        (r#"{"q":"too long"}"#, 403),
        (r#"{"q":"too long","q":"short"}"#, 400),
        (r#"{"q":"short","q":"too long"}"#, 400),
    ] {
        let request = http::Request::builder().method(Method::POST).uri("/mcp/tools/call");
        let request = request
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {key}"));
        let body = bytes::Bytes::from(format!(r#"{{"tool":"up_say","arguments":{arguments}}}"#));
        let called = gateway.request(request.body(http_body_util::Full::new(body))?).await?;
        assert_eq!(called.status, status, "{arguments} {}", called.text());
    }
    Ok(())
}

/// Rules are about seeing and calling tools.
#[tokio::test]
async fn rules_keep_nobody_from_administering_and_people_without_a_key_are_explained() -> Result<()> {
    let rules = json!({"rules": [{"name": "nope", "effect": "deny", "tools": {"names": ["hr.*"]}}]});
    let (gateway, admin, _upstream, _folder) = stage(&rules).await?;
    for path in ["/admin/doctor", "/metrics", "/admin/tools/hr.fire", "/admin/audit/verify"] {
        let told = ask(&gateway, Some(&admin), (Method::GET, path), None).await?;
        assert_eq!(told.status, 200, "{path}: {}", told.text());
    }
    let call = json!({"tool": "hr.fire", "arguments": {"q": "x"}});
    let hidden = ask(&gateway, Some(&admin), (Method::POST, "/mcp/tools/call"), Some(&call)).await?;
    assert_eq!(hidden.status, 404, "{}", hidden.text());
    for (role, tool, outcome) in [("call", "hr.fire", "hidden"), ("call", "echo.say", "seen")] {
        let asked = json!({"tool": tool, "as": {"name": "ann", "role": role, "groups": ["x"]}});
        let told =
            ask(&gateway, Some(&admin), (Method::POST, "/admin/explain"), Some(&asked)).await?.json()?;
        assert_eq!((&told["outcome"], &told["as"]), (&json!(outcome), &json!("ann")), "{told}");
    }
    Ok(())
}

#[tokio::test]
async fn commands_list_and_call_tools_with_the_key_of_somebody_who_may_only_call() -> Result<()> {
    let (gateway, admin, _upstream, folder) = stage(&rules()).await?;
    let key = make_key(&gateway, &admin, &json!({"name": "c", "role": "call"})).await?;
    let shown = [("TOOLRAIL_KEY", key)];
    let listed = run_with(folder.path(), &["tools", "list", "--url", gateway.url()], &shown).await?;
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(listed.stdout.contains("echo.say") && !listed.stdout.contains("store.wipe"), "{}", listed.stdout);
    let call = ["tools", "call", "echo.say", "--arg", "q=hi", "--url", gateway.url()];
    let called = run_with(folder.path(), &call, &shown).await?;
    assert_eq!(called.code, Some(0), "{}", called.stderr);
    let explain = ["explain", "hr.fire", "--as", "ann", "--role", "call", "--group", "outside"];
    let told = run_in(folder.path(), &[&explain[..], &["--url", gateway.url()]].concat()).await?;
    assert!(told.stderr.contains("TOOLRAIL_KEY"), "{}", told.stderr);
    Ok(())
}
