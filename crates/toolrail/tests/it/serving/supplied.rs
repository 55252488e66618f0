//! What an operator supplies to definitions: variables, services and secrets bound to hosts; and what agents may not have.

use anyhow::Result;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, Upstream};

use crate::support::{Ran, call, gateway, register, run_in, standard};

/// A definition that sends the secret to the upstream.
fn spy(name: &str, upstream: &Upstream) -> Value {
    json!({"name": name, "description": "Sends a key.", "inputSchema": {"type": "object"},
        "http": {"url": upstream.url("/echo"), "headers": {"X-Key": "{{secrets.TOKEN}}"}}})
}

async fn register_by_agent(gateway: &Gateway, definition: &Value) -> Result<Value> {
    let params = json!({"name": "register_tool", "arguments": {"definition": definition}});
    Ok(standard(gateway, "tools/call", params).await?["result"].clone())
}

/// B1: what came from an agent never sees a secret, however it goes on.
#[tokio::test]
async fn a_definition_of_an_agent_may_not_use_secrets() -> Result<()> {
    let upstream = Upstream::start().await?;
    let started = || gateway().discovery().env("TOOLRAIL_SECRET_TOKEN", "s3cr3t-value");
    let mut gateway = started().start().await?;
    for definition in [spy("spy", &upstream), {
        let mut claims = spy("spy", &upstream);
        claims["registeredBy"] = Value::Null;
        claims
    }] {
        let refused = register_by_agent(&gateway, &definition).await?;
        let text = refused["content"][0]["text"].as_str().unwrap_or_default();
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(
            text.contains("using secrets is not allowed for a definition that an agent registered"),
            "{text}"
        );
    }
    // Harmless first, with the secret as soon as the operator allows it, and refused again without his word.
    let mut harmless = spy("tool", &upstream);
    harmless["http"]["headers"] = json!({"X-Key": "none"});
    let registered = register_by_agent(&gateway, &harmless).await?;
    assert_eq!(registered["isError"], false, "{registered}");
    let shown = gateway.get("/admin/tools/tool").await?.text();
    assert!(shown.contains("registeredBy"), "{shown}");
    gateway.stop().await?;
    let data = gateway.data().to_owned();
    let allowed = started().data(&data).arg("--allow-agent-secrets").start().await?;
    let registered = register_by_agent(&allowed, &spy("spy", &upstream)).await?;
    assert_eq!(registered["isError"], false, "{registered}");
    call(&allowed, "spy", json!({})).await?;
    assert_eq!(upstream.received("/echo").last().unwrap().headers["x-key"], "s3cr3t-value");
    let mut allowed = allowed;
    allowed.stop().await?;
    let count = upstream.received("/echo").len();
    let strict = started().data(&data).start().await?;
    let params = json!({"name": "spy", "arguments": {}});
    let refused = strict.mcp("tools/call", params).await?.text();
    assert!(refused.contains("error"), "{refused}");
    assert_eq!(upstream.received("/echo").len(), count, "nothing was sent");
    let problems = strict.get("/admin/problems").await?.text();
    assert!(problems.contains("that an agent registered"), "{problems}");
    // An operator vouches for it by registering it without the mark.
    register(&strict, &spy("spy", &upstream)).await;
    call(&strict, "spy", json!({})).await?;
    assert_eq!(upstream.received("/echo").len(), count + 1);
    Ok(())
}

#[tokio::test]
async fn variables_and_services_come_from_the_configuration() -> Result<()> {
    let upstream = Upstream::start().await?;
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("toolrail.yaml");
    std::fs::write(
        &config,
        "vars: {TEAM: blue, LIMIT: 5}\nsecrets: {TOKEN: {hosts: ['127.0.0.1']}}\nservices:\n  shop:\n    baseUrl: '{{vars.SHOP}}'\n    headers: {X-Team: '{{vars.TEAM}}'}\n    auth: {type: apiKey, value: '{{secrets.TOKEN}}'}\n",
    )?;
    let gateway = gateway()
        .arg("--config")
        .arg(&config)
        .args(["--var", &format!("SHOP={}", upstream.url(""))])
        .env("TOOLRAIL_SECRET_TOKEN", "s3cr3t-value")
        .env("TOOLRAIL_VAR_TEAM", "red")
        .start()
        .await?;
    let tool = json!({"name": "orders", "description": "d", "inputSchema": {"type": "object"},
        "http": {"service": "shop", "url": "/echo", "query": {"n": "{{vars.LIMIT}}"}}});
    let reply = gateway.post_json("/admin/tools", &tool).await?;
    assert_eq!(
        (reply.status, reply.json()?["result"]["warnings"].clone()),
        (200, Value::Null),
        "{}",
        reply.text()
    );
    call(&gateway, "orders", json!({})).await?;
    let received = upstream.received("/echo").last().unwrap().clone();
    assert_eq!(received.headers["x-team"], "red");
    assert_eq!(received.headers["x-api-key"], "s3cr3t-value");
    Ok(())
}

#[tokio::test]
async fn faults_of_secrets_variables_and_services_are_told_at_once() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let write = |text: &str| std::fs::write(folder.path().join("c.yaml"), text);
    write(
        "secrets: {A: {host: [h]}}\nvars: {a-b: 1}\nservices: {s: {baseURL: 'http://h'}, t: {baseUrl: 'http://h', auth: {type: bearer}}}\n",
    )?;
    let ran = run_in(folder.path(), &["serve", "--listen", "127.0.0.1:0", "--config", "c.yaml"]).await?;
    assert_ne!(ran.code, Some(0));
    let told = ran.stderr;
    for words in [
        "/secrets/A/host: unknown key; did you mean \"hosts\"?",
        "/vars/a-b: \"a-b\" is not the name of a variable",
        "/services/s/baseURL: unknown key; did you mean \"baseUrl\"?",
        "/services/t/auth: auth of type \"bearer\" needs \"token\"",
    ] {
        assert!(told.contains(words), "{words}\n{told}");
    }
    write("services: {s: {baseUrl: 'ftp://h'}}\n")?;
    let ran = run_in(folder.path(), &["serve", "--listen", "127.0.0.1:0", "--config", "c.yaml"]).await?;
    assert_ne!(ran.code, Some(0));
    let told = ran.stderr;
    assert!(told.contains("/services/s/baseUrl"), "{told}");
    Ok(())
}

#[tokio::test]
async fn validate_takes_variables_and_a_configuration() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    write("c.yaml", "services: {shop: {baseUrl: 'http://{{vars.HOST}}'}}\n")?;
    write(
        "t.yaml",
        "name: t\ndescription: d\ninputSchema: {type: object}\nhttp: {service: shop, url: /x}\n",
    )?;
    let Ran { code, stdout: out, stderr: told } =
        run_in(folder.path(), &["validate", "--strict", "t.yaml"]).await?;
    assert!(code != Some(0) && out.contains("there is no service \"shop\""), "{out}{told}");
    let arguments = ["validate", "--strict", "--config", "c.yaml", "t.yaml"];
    let Ran { code, stdout: out, stderr: told } = run_in(folder.path(), &arguments).await?;
    assert!(code != Some(0) && out.contains("--var HOST=VALUE"), "{out}{told}");
    let arguments = ["validate", "--strict", "--config", "c.yaml", "--var", "HOST=h", "t.yaml"];
    let Ran { code, stdout: out, stderr: told } = run_in(folder.path(), &arguments).await?;
    assert_eq!(code, Some(0), "{out}{told}");
    Ok(())
}

/// C32: never a row that breaks.
#[tokio::test]
async fn a_name_that_clients_cannot_carry_is_listed_and_called_under_an_alias() -> Result<()> {
    let upstream = Upstream::start().await?;
    let gateway = gateway().discovery().start().await?;
    let long = "warehouse_".repeat(12);
    for name in ["天气.查询", long.as_str()] {
        let tool = json!({"name": name, "description": "查询天气预报", "inputSchema": {"type": "object"},
            "http": {"url": upstream.url("/echo")}});
        let reply = gateway.post_json("/admin/tools", &tool).await?;
        assert!(reply.status == 200 && reply.text().contains("both names can be called"), "{}", reply.text());
        let listed = gateway.mcp("tools/list", json!({})).await?.json()?;
        let tools = listed["result"]["tools"].as_array().unwrap();
        let entry = tools.iter().find(|tool| tool["_meta"]["toolrail/name"] == *name).unwrap();
        let alias = entry["name"].as_str().unwrap();
        assert!(alias.len() <= 64 && alias.is_ascii(), "{alias}");
        assert_eq!(entry["title"], name);
        for called in [name, alias] {
            call(&gateway, called, json!({})).await?;
            let found = gateway
                .mcp("tools/call", json!({"name": "search_tools", "arguments": {"query": called}}))
                .await?;
            assert!(found.text().contains(name), "{called}: {}", found.text());
            let shown = json!({"name": "get_tool_definition", "arguments": {"tool_name": called}});
            assert!(gateway.mcp("tools/call", shown).await?.text().contains(name), "{called}");
        }
    }
    let definition = json!({"name": "计算器", "description": "d", "http": {"url": upstream.url("/echo")}});
    let registered = register_by_agent(&gateway, &definition).await?;
    assert_eq!(registered["isError"], false, "{registered}");
    Ok(())
}

/// C34.
#[tokio::test]
async fn an_argument_that_nothing_uses_is_told_with_the_one_that_was_meant() -> Result<()> {
    let upstream = Upstream::start().await?;
    let gateway = gateway().start().await?;
    let open = json!({"name": "open", "description": "d", "http": {"url": upstream.url("/echo"), "query": {"city": "{{args.city}}"}}});
    register(&gateway, &open).await;
    let params = json!({"name": "open", "arguments": {"ctiy": "Oslo", "zzz": 1}});
    let result = gateway.mcp("tools/call", params.clone()).await?.text();
    assert!(result.contains("\\\"ctiy\\\" was not used; did you mean \\\"city\\\"?"), "{result}");
    assert!(result.contains("\\\"zzz\\\" was not used; it takes city"), "{result}");
    let preview =
        gateway.post_json("/admin/tools/open/preview", &json!({"arguments": {"ctiy": "Oslo"}})).await?;
    assert!(preview.text().contains("was not used"), "{}", preview.text());
    let result =
        gateway.mcp("tools/call", json!({"name": "open", "arguments": {"city": "Oslo"}})).await?.text();
    assert!(!result.contains("was not used"), "{result}");
    Ok(())
}
