//! `/admin/…`: registering, looking after and removing definitions (R27, R82–R88, R91, R143).

use std::time::Duration;

use anyhow::Result;
use http::Request;
use serde_json::{Value, json};
use toolrail_testkit::{Canned, Gateway, wait_until};

use crate::support::{
    BINARY, assert_failed, call, echo_tool, gateway_and_upstream, get_tool, listed, register_all,
};

#[tokio::test]
async fn r82_r83_r84_a_definition_is_taken_wrapped_or_bare_by_post_or_put() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let definition = |name: &str| echo_tool(name, &upstream);
    let nameless = {
        let mut definition = definition("x");
        definition.as_object_mut().unwrap().remove("name");
        definition
    };
    let bodies = [
        ("bare", definition("bare")),
        ("wrapped", json!({"name": "wrapped", "enabled": true, "configJson": definition("wrapped")})),
        ("text", json!({"name": "text", "configJson": definition("text").to_string()})),
        ("snake", json!({"name": "snake", "enabled": true, "config_json": nameless})),
    ];
    for (name, body) in &bodies {
        let reply = gateway.post_json("/admin/tools", body).await?.json()?;
        assert_eq!(
            (&reply["ok"], &reply["name"], &reply["status"]),
            (&json!(true), &json!(name), &json!("created")),
            "{reply}"
        );
        let again = gateway.put_json("/admin/tools", body).await?.json()?;
        assert_eq!((&again["ok"], &again["status"]), (&json!(true), &json!("unchanged")), "{again}");
        assert_eq!(again["revision"], reply["revision"]);
    }
    assert_eq!(listed(&gateway).await?, ["bare", "snake", "text", "wrapped"]);
    Ok(())
}

#[tokio::test]
async fn a_tool_registered_switched_off_is_neither_listed_nor_called() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let mut bare = echo_tool("one", &upstream);
    bare["enabled"] = json!(false);
    let wrapped = json!({"name": "two", "enabled": false, "configJson": echo_tool("two", &upstream)});
    for body in [bare, wrapped] {
        assert_eq!(gateway.post_json("/admin/tools", &body).await?.json()?["state"], "disabled");
    }
    assert_eq!(listed(&gateway).await?, Vec::<String>::new());
    for name in ["one", "two"] {
        assert_failed(&call(&gateway, name, json!({"q": "x"})).await?, 404, "NOT_FOUND", "enable");
        let enabled =
            gateway.post_json(&format!("/admin/tools/{name}/enable"), &Value::Null).await?.json()?;
        assert_eq!((&enabled["ok"], &enabled["state"]), (&json!(true), &json!("live")));
    }
    assert_eq!(listed(&gateway).await?, ["one", "two"]);
    Ok(())
}

#[tokio::test]
async fn every_fault_of_a_definition_is_told_at_once_with_its_pointer() -> Result<()> {
    let (gateway, _upstream) = gateway_and_upstream().await?;
    let body = json!({"name": "bad", "configJson": {
        "name": "bad",
        "descripton": "typo",
        "http": {"url": "not a url", "methd": "GET", "headers": {"Bad Header": "x"}},
        "inputSchema": {"type": "object", "properties": {"a": {"type": "strin"}}}
    }});
    let reply = gateway.post_json("/admin/tools", &body).await?;
    assert_failed(&reply, 422, "INVALID_DEFINITION", "see problems");
    let problems = reply.json()?["problems"].clone();
    let pointers: Vec<&str> =
        problems.as_array().unwrap().iter().map(|problem| problem["pointer"].as_str().unwrap()).collect();
    for expected in ["/configJson/descripton", "/configJson/http/methd"] {
        assert!(pointers.contains(&expected), "{expected} is not among {problems:#}");
    }
    assert_eq!(listed(&gateway).await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn r91_a_kind_that_does_not_exist_has_a_code_of_its_own() -> Result<()> {
    let (gateway, _upstream) = gateway_and_upstream().await?;
    let reply = gateway
        .post_json("/admin/tools", &json!({"name": "x", "type": "ftp", "http": {"url": "http://a/"}}))
        .await?;
    assert_failed(&reply, 422, "UNSUPPORTED_TYPE", "ftp");
    let reply = gateway.post_json("/admin/tools", &json!(1)).await?;
    assert_failed(&reply, 422, "INVALID_DEFINITION", "JSON object");
    Ok(())
}

#[tokio::test]
async fn what_belongs_elsewhere_is_sent_there() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let list = json!([echo_tool("a", &upstream)]);
    for body in [list.clone(), json!({"tools": list})] {
        let reply = gateway.post_json("/admin/tools", &body).await?;
        assert_failed(&reply, 422, "INVALID_DEFINITION", "POST /admin/tools/batch");
    }
    for (text, said) in [
        ("name: a\nhttp:\n  url: http://a/\n", "looks like YAML"),
        ("# a tool\n---\nname: a\n", "looks like YAML"),
        ("- name: a\n", "looks like YAML"),
        ("{\"name\": }", "not valid JSON: expected value at line 1"),
        ("nonsense", "not valid JSON"),
    ] {
        for path in ["/admin/tools", "/admin/tools/batch", "/admin/tools/validate"] {
            let request = Request::post(path).body(text.to_owned().into())?;
            assert_failed(&gateway.request(request).await?, 400, "INVALID_REQUEST", said);
        }
    }
    Ok(())
}

#[tokio::test]
async fn registering_again_switches_a_tool_on_and_says_so() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let definition = echo_tool("a", &upstream);
    let first = gateway.post_json("/admin/tools", &definition).await?.json()?;
    assert_eq!((&first["enabled"], first.get("note")), (&json!(true), None));
    gateway.post_json("/admin/tools/a/disable", &Value::Null).await?;
    let again = gateway.post_json("/admin/tools", &definition).await?.json()?;
    assert_eq!((&again["state"], &again["enabled"]), (&json!("live"), &json!(true)));
    assert!(again["note"].as_str().is_some_and(|note| note.contains("on again")), "{again}");

    gateway.post_json("/admin/tools/a/disable", &Value::Null).await?;
    let mut kept_off = definition.clone();
    kept_off["enabled"] = json!(false);
    let off = gateway.post_json("/admin/tools", &kept_off).await?.json()?;
    assert_eq!((&off["enabled"], off.get("note")), (&json!(false), None));
    let batch = json!([definition, echo_tool("b", &upstream), {"name": "bad"}]);
    let each =
        gateway.post_json("/admin/tools/batch", &json!({"tools": batch, "mode": "each"})).await?.json()?;
    let results = &each["results"];
    assert!(results[0]["enabled"] == json!(true) && results[0]["note"].is_string(), "{each}");
    assert_eq!((&results[1]["enabled"], results[1].get("note")), (&json!(true), None));
    assert_eq!(results[2].get("enabled"), None);
    Ok(())
}

#[tokio::test]
async fn an_unknown_name_is_answered_with_the_one_that_was_meant() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("weather.current", &upstream)]).await?;
    gateway.post_json("/admin/tools/weather.current/disable", &Value::Null).await?;
    let meant = "did you mean \"weather.current\"?";
    let path = "/admin/tools/wether.current";
    assert_failed(&gateway.get(path).await?, 404, "NOT_FOUND", meant);
    assert_failed(&gateway.delete(path).await?, 404, "NOT_FOUND", meant);
    assert_failed(&gateway.delete(&format!("{path}?purge=true")).await?, 404, "NOT_FOUND", meant);
    for action in ["enable", "disable", "preview"] {
        let reply = gateway.post_json(&format!("{path}/{action}"), &json!({})).await?;
        assert_failed(&reply, 404, "NOT_FOUND", meant);
    }
    Ok(())
}

#[tokio::test]
async fn a_wrong_query_string_is_told_in_plain_words() -> Result<()> {
    let (gateway, _upstream) = gateway_and_upstream().await?;
    for (path, said) in [
        ("/admin/tools?stat=live", "known here: state=live|disabled|broken"),
        ("/mcp/tools?query=x", "known here: q, category, tag"),
    ] {
        let reply = gateway.get(path).await?;
        assert_failed(&reply, 400, "INVALID_REQUEST", said);
        assert!(reply.text().contains("the query string is wrong: "), "{}", reply.text());
        assert!(!reply.text().contains("deserialize"), "{}", reply.text());
    }
    Ok(())
}

#[tokio::test]
async fn warnings_do_not_keep_a_definition_from_going_live() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let reply = gateway
        .post_json("/admin/tools", &json!({"name": "poor", "http": {"url": upstream.url("/text")}}))
        .await?;
    let body = reply.json()?;
    assert_eq!((&body["ok"], &body["state"]), (&json!(true), &json!("live")));
    assert!(
        body["warnings"].as_array().unwrap().iter().any(|warning| warning["pointer"] == "/description"),
        "{body:#}"
    );
    Ok(())
}

#[tokio::test]
async fn r27_a_batch_is_all_or_nothing_unless_each_counts_on_its_own() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("known", &upstream)]).await?;
    let items = json!([
        echo_tool("new", &upstream),
        {"name": "bad"},
        echo_tool("known", &upstream),
        echo_tool("NEW", &upstream),
        "not an object"
    ]);
    let statuses = |body: &Value| -> Vec<String> {
        let results = body["results"].as_array().unwrap();
        results.iter().map(|result| result["status"].as_str().unwrap().to_owned()).collect()
    };

    let all = gateway.post_json("/admin/tools/batch", &items).await?;
    assert_failed(&all, 422, "INVALID_DEFINITION", "3 of 5");
    let body = all.json()?;
    assert_eq!(statuses(&body), ["heldBack", "refused", "unchanged", "refused", "refused"]);
    assert_eq!((&body["added"], &body["updated"]), (&json!(0), &json!(0)));
    assert_eq!(listed(&gateway).await?, ["known"]);

    let each = gateway.post_json("/admin/tools/batch", &json!({"tools": items, "mode": "each"})).await?;
    let body = each.json()?;
    assert_eq!((each.status, &body["ok"]), (200, &json!(true)));
    assert_eq!(statuses(&body), ["created", "refused", "unchanged", "refused", "refused"]);
    assert_eq!((&body["added"], &body["unchanged"], &body["refused"]), (&json!(1), &json!(1), &json!(3)));
    assert_eq!(body["results"][4]["problems"][0]["pointer"], "/tools/4");
    assert_eq!(listed(&gateway).await?, ["known", "new"]);
    Ok(())
}

#[tokio::test]
async fn a_batch_has_a_form_and_a_limit() -> Result<()> {
    let (gateway, _upstream) = gateway_and_upstream().await?;
    for (body, status, code, part) in [
        (json!({"tools": {}}), 400, "INVALID_REQUEST", "\"tools\" is missing"),
        (json!({"tools": [], "mode": "some"}), 400, "INVALID_REQUEST", "\"each\""),
        (json!({"tools": [], "dry": true}), 400, "INVALID_REQUEST", "unknown field \"dry\""),
        (json!(vec![0; 10_001]), 413, "TOO_LARGE", "10000"),
    ] {
        assert_failed(&gateway.post_json("/admin/tools/batch", &body).await?, status, code, part);
    }
    let empty = gateway.post_json("/admin/tools/batch", &json!([])).await?.json()?;
    assert_eq!((&empty["ok"], &empty["added"]), (&json!(true), &json!(0)));
    Ok(())
}

#[tokio::test]
async fn a_thousand_tools_are_registered_in_one_batch() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let tools: Vec<Value> =
        (0..1000).map(|number| echo_tool(&format!("tool.{number:04}"), &upstream)).collect();
    let body = gateway.post_json("/admin/tools/batch", &json!(tools)).await?.json()?;
    assert_eq!(body["added"], 1000);
    assert_eq!(listed(&gateway).await?.len(), 1000);
    Ok(())
}

#[tokio::test]
async fn definitions_are_shown_whatever_their_state() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("live", &upstream), echo_tool("off", &upstream)]).await?;
    gateway.post_json("/admin/tools/off/disable", &Value::Null).await?;
    let body = gateway.get("/admin/tools").await?.json()?;
    let states: Vec<(&str, &str)> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), tool["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("live", "live"), ("off", "disabled")]);
    let only = gateway.get("/admin/tools?state=disabled").await?.json()?;
    assert_eq!(only["tools"].as_array().unwrap().len(), 1);
    assert_failed(
        &gateway.get("/admin/tools?state=odd").await?,
        400,
        "INVALID_REQUEST",
        "live, disabled, broken",
    );

    let shown = gateway.get("/admin/tools/LIVE").await?.json()?;
    assert_eq!(shown["configJson"], echo_tool("live", &upstream));
    assert_eq!(
        (&shown["type"], &shown["source"], &shown["updatedBy"]),
        (&json!("http"), &json!("store"), &json!("anonymous"))
    );
    assert!(shown["updatedAt"].as_str().unwrap().ends_with('Z') && shown["version"].is_i64());
    assert_failed(&gateway.get("/admin/tools/none").await?, 404, "NOT_FOUND", "GET /admin/tools");
    Ok(())
}

#[tokio::test]
async fn r85_delete_is_soft_and_purge_is_for_good() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("demo.echo", &upstream)]).await?;
    assert_eq!(gateway.delete("/admin/tools/demo.echo").await?.json()?["state"], "disabled");
    assert_eq!(gateway.get("/admin/tools/demo.echo").await?.json()?["enabled"], false);
    assert_eq!(gateway.delete("/admin/tools/demo.echo?purge=true").await?.json()?["state"], "purged");
    assert_failed(&gateway.get("/admin/tools/demo.echo").await?, 404, "NOT_FOUND", "demo.echo");
    assert_failed(&gateway.delete("/admin/tools/demo.echo?purge=true").await?, 404, "NOT_FOUND", "demo.echo");
    assert_failed(
        &gateway.delete("/admin/tools/demo.echo?purge=maybe").await?,
        400,
        "INVALID_REQUEST",
        "purge",
    );
    Ok(())
}

#[tokio::test]
async fn a_tool_of_another_source_cannot_be_changed_in_the_store() -> Result<()> {
    let gateway = Gateway::builder(BINARY).arg("--demo").start().await?;
    assert_failed(&gateway.delete("/admin/tools/user.get").await?, 409, "CONFLICT", "change it there");
    assert_eq!(call(&gateway, "user.get", json!({"id": 1})).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn a_preview_shows_the_exact_request_with_secrets_masked_and_sends_nothing() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let mut definition = echo_tool("demo.echo", &upstream);
    definition["http"]["headers"] = json!({"X-Key": "{{secrets.TOKEN}}"});
    register_all(&gateway, &[definition]).await?;
    gateway.post_json("/admin/tools/demo.echo/disable", &Value::Null).await?;

    let reply =
        gateway.post_json("/admin/tools/demo.echo/preview", &json!({"arguments": {"q": "a b&c"}})).await?;
    let body = reply.json()?;
    assert_eq!((reply.status, &body["ok"]), (200, &json!(true)), "{body:#}");
    let request = &body["preview"]["request"];
    assert_eq!(
        (&request["method"], &request["url"]),
        (&json!("GET"), &json!(upstream.url("/echo?q=a%20b%26c")))
    );
    assert!(!reply.text().contains("s3cr3t-value"), "{body:#}");
    assert!(reply.text().contains("***"), "{body:#}");
    let origins: Vec<&str> = body["preview"]["values"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|value| value["from"].as_str())
        .collect();
    assert!(origins.contains(&"args.q") && origins.contains(&"secrets.TOKEN"), "{origins:?}");
    assert_eq!(upstream.total(), 0);

    let wrong = gateway.post_json("/admin/tools/demo.echo/preview", &json!({"arguments": {}})).await?;
    assert_failed(&wrong, 400, "INVALID_ARGUMENTS", "\"q\" is required");
    assert_failed(
        &gateway.post_json("/admin/tools/none/preview", &json!({})).await?,
        404,
        "NOT_FOUND",
        "none",
    );
    Ok(())
}

#[tokio::test]
async fn a_secret_that_the_upstream_echoes_is_masked() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let mut definition = echo_tool("demo.echo", &upstream);
    definition["auth"] = json!({"type": "bearer", "token": "${secrets.TOKEN}"});
    let mut failing = get_tool("failing", &upstream.url("/denied"));
    failing["auth"] = definition["auth"].clone();
    upstream.answer("/denied", Canned::new(401, "text/plain", "your token s3cr3t-value is wrong"));
    register_all(&gateway, &[definition, failing]).await?;
    let answer = call(&gateway, "demo.echo", json!({"q": "x"})).await?;
    assert!(!answer.text().contains("s3cr3t-value"), "{}", answer.text());
    assert_eq!(upstream.received("/echo")[0].headers["authorization"], "Bearer s3cr3t-value");
    let failed = call(&gateway, "failing", json!({})).await?;
    assert_failed(&failed, 502, "UPSTREAM_STATUS", "***");
    assert!(!failed.text().contains("s3cr3t-value") && !gateway.stderr().contains("s3cr3t-value"));
    Ok(())
}

#[tokio::test]
async fn a_check_tells_every_problem_and_stores_nothing() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let good = gateway.post_json("/admin/tools/validate", &echo_tool("a", &upstream)).await?.json()?;
    assert_eq!(good, json!({"ok": true, "valid": true, "problems": []}));
    let list = json!({"tools": [echo_tool("a", &upstream), {"name": "b", "configJson": {"http": {}}}]});
    let bad = gateway.post_json("/admin/tools/validate", &list).await?.json()?;
    assert_eq!(bad["valid"], json!(false));
    assert!(bad["problems"][0]["pointer"].as_str().unwrap().starts_with("/tools/1/configJson"), "{bad:#}");
    assert_eq!(listed(&gateway).await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn health_readiness_schema_and_front_page_answer() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("a", &upstream)]).await?;
    let health = gateway.get("/healthz").await?;
    assert_eq!((health.status, &health.json()?["status"]), (200, &json!("ok")));
    let ready = gateway.get("/readyz").await?.json()?;
    assert_eq!(
        (&ready["status"], &ready["tools"], &ready["problems"]),
        (&json!("ready"), &json!(1), &json!(0))
    );
    assert_eq!(ready["sources"][0]["source"], "store");
    assert_eq!(ready["upstreams"], json!([]), "native tools of which there are none are not told of");
    let schema = gateway.get("/schema/tool.json").await?.json()?;
    let properties = &schema["$defs"]["definition"]["properties"];
    assert!(properties["http"].is_object() && properties["feign"].is_object());
    let front = gateway.get("/").await?.json()?;
    let mcp = ["POST /mcp", "GET /mcp", "DELETE /mcp", "GET /mcp/ws", "GET /sse", "POST /messages"];
    assert_eq!(front["endpoints"]["mcp"], json!(mcp));
    let tools = ["GET /mcp/tools", "POST /mcp/tools/call", "GET /mcp/search", "POST /mcp/search"];
    assert_eq!(front["endpoints"]["tools"], json!(tools));
    let refreshed = gateway.post_json("/admin/refresh", &Value::Null).await?.json()?;
    assert_eq!((&refreshed["ok"], &refreshed["tools"]), (&json!(true), &json!(1)));
    assert_eq!(gateway.get("/admin/problems").await?.json()?, json!({"problems": []}));
    Ok(())
}

#[tokio::test]
async fn r75_uses_are_counted_and_survive_a_restart() -> Result<()> {
    let (mut gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("Demo.Echo", &upstream), echo_tool("other", &upstream)]).await?;
    for _ in 0..3 {
        call(&gateway, "demo.echo", json!({"q": "x"})).await?;
    }
    // A clean end writes what was counted last.
    gateway.stop().await?;
    gateway.restart().await?;
    let shown = gateway.get("/admin/tools/demo.echo").await?.json()?;
    assert_eq!(shown["useFrequency"], 3, "{shown}");
    assert!(shown["lastUsed"].as_str().is_some_and(|at| at.ends_with('Z')), "{shown}");
    let unused = gateway.get("/admin/tools/other").await?.json()?;
    assert_eq!((&unused["useFrequency"], unused.get("lastUsed")), (&json!(0), None));
    Ok(())
}

#[tokio::test]
async fn r75_calls_are_counted() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("a", &upstream)]).await?;
    for _ in 0..3 {
        call(&gateway, "a", json!({"q": "x"})).await?;
    }
    wait_until("the count to be written", Duration::from_secs(5), async || {
        let shown = gateway.get("/admin/tools/a").await.ok()?.json().ok()?;
        (shown["useFrequency"] == 3 && shown["lastUsed"].is_string()).then_some(())
    })
    .await
}
