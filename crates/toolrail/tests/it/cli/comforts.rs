//! What makes the command line pleasant: short forms, names for gateways, errors that programs can read, and no empty versions.

use anyhow::Result;
use serde_json::{Value, json};
use toolrail_testkit::Upstream;

use crate::support::{gateway, run_in, run_with, standard};

fn definition(url: &str) -> Value {
    json!({
        "name": "one", "description": "d", "inputSchema": {"type": "object", "properties": {}}, "http": {"url": url}
    })
}

#[tokio::test]
async fn a_gateway_is_found_by_variable_by_profile_and_without_a_scheme() -> Result<()> {
    let gateway = gateway().start().await?;
    gateway.post_json("/admin/tools", &definition("http://127.0.0.1:1/")).await?;
    let folder = tempfile::tempdir()?;
    let bare = gateway.url().trim_start_matches("http://").to_owned();
    let config = folder.path().join("toolrail");
    std::fs::create_dir(&config)?;
    std::fs::write(
        config.join("profiles.yaml"),
        format!("profiles:\n  here: {{url: \"{bare}\"}}\n  bad: {{ulr: x}}\n"),
    )?;
    let home = ("XDG_CONFIG_HOME", folder.path().to_string_lossy().into_owned());
    for (arguments, variables) in [
        (vec!["list"], vec![("TOOLRAIL_URL", bare.clone())]),
        (vec!["tools", "list", "--url", &bare], vec![]),
        (vec!["list", "--profile", "here"], vec![home.clone()]),
        (vec!["list"], vec![home.clone(), ("TOOLRAIL_PROFILE", "here".to_owned())]),
    ] {
        let listed = run_with(folder.path(), &arguments, &variables).await?;
        assert_eq!(listed.code, Some(0), "{arguments:?}: {}", listed.stderr);
        assert!(listed.stdout.contains("one"), "{}", listed.stdout);
    }
    // What is written on the command line counts for more than the environment.
    let other =
        run_with(folder.path(), &["tools", "list", "--data", "none"], &[("TOOLRAIL_URL", bare)]).await?;
    assert!(other.code == Some(1) && other.stderr.contains("none is not a data folder"), "{}", other.stderr);
    let bad = run_with(folder.path(), &["list", "--profile", "bad"], std::slice::from_ref(&home)).await?;
    assert_eq!((bad.code, bad.stderr.matches("unknown field").count()), (Some(1), 1), "{}", bad.stderr);
    let unknown = run_with(folder.path(), &["list", "--profile", "there"], &[home]).await?;
    assert!(unknown.stderr.contains("known are: bad, here"), "{}", unknown.stderr);
    Ok(())
}

#[tokio::test]
async fn programs_get_errors_as_json() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let failed = run_in(folder.path(), &["tools", "list", "--data", "none", "--json"]).await?;
    let told: Value = serde_json::from_str(&failed.stdout)?;
    assert_eq!((failed.code, failed.stderr.as_str()), (Some(1), ""));
    assert_eq!(told["ok"], false);
    assert!(
        told["error"]["message"]
            .as_str()
            .is_some_and(|message| message.contains("none is not a data folder"))
    );
    assert!(told["error"]["hint"].is_string() && told["error"]["code"] == "FAILED", "{told}");
    std::fs::write(folder.path().join("one.json"), definition("http://127.0.0.1:1/").to_string())?;
    run_in(folder.path(), &["add", "one.json", "--data", "d"]).await?;
    let missing = run_in(folder.path(), &["show", "two", "--data", "d", "--json"]).await?;
    let told: Value = serde_json::from_str(&missing.stdout)?;
    assert_eq!(told["error"]["code"], "NOT_FOUND", "{told}");
    Ok(())
}

#[tokio::test]
async fn what_is_there_already_makes_no_version() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("one.json"), definition("http://127.0.0.1:1/").to_string())?;
    let add = ["tools", "add", "one.json", "--data", "d"];
    assert_eq!(run_in(folder.path(), &add).await?.stdout, "created one\n");
    assert_eq!(run_in(folder.path(), &add).await?.stdout, "unchanged one\n");
    let history = run_in(folder.path(), &["history", "one", "--data", "d", "--json"]).await?;
    let history: Value = serde_json::from_str(&history.stdout)?;
    assert_eq!(history["versions"].as_array().map(Vec::len), Some(1));
    run_in(folder.path(), &["disable", "one", "--data", "d"]).await?;
    assert!(run_in(folder.path(), &add).await?.stdout.starts_with("updated one"), "it was switched off");
    // Where the definition differs, a dry run of a rollback says how.
    std::fs::write(folder.path().join("one.json"), definition("http://127.0.0.1:2/").to_string())?;
    assert_eq!(run_in(folder.path(), &add).await?.stdout, "updated one\n");
    let dry = run_in(folder.path(), &["rollback", "one", "--to", "1", "--dry-run", "--data", "d"]).await?;
    assert_eq!(dry.code, Some(0), "{}", dry.stderr);
    assert!(dry.stdout.contains("/http/url") && dry.stdout.contains("127.0.0.1:1/"), "{}", dry.stdout);
    let shown = run_in(folder.path(), &["show", "one", "--data", "d", "--json"]).await?;
    assert!(shown.stdout.contains("127.0.0.1:2/"), "a dry run changes nothing");
    Ok(())
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_told_with_line_and_column() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("bad.json"), "{\"name\": \"x\",\n \"type\": \"http\"\n \"http\": {}}")?;
    std::fs::write(folder.path().join("bare.yaml"), "name: a\nhttp:\n  url: {{args.url}}\n")?;
    let added = run_in(folder.path(), &["add", "bad.json", "bare.yaml", "--data", "d"]).await?;
    assert_eq!(added.code, Some(1));
    assert!(added.stderr.contains("bad.json:3:2: not valid JSON"), "{}", added.stderr);
    assert!(added.stderr.contains("bare.yaml:3:9") && added.stderr.contains("quote"), "{}", added.stderr);
    Ok(())
}

#[tokio::test]
async fn checking_without_secrets_is_not_held_up_by_them() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut definition = definition("http://127.0.0.1:1/");
    definition["http"]["headers"] = json!({"x-key": "{{secrets.NOWHERE}}"});
    std::fs::write(folder.path().join("one.json"), definition.to_string())?;
    let strict = ["validate", "--strict", "one.json"];
    assert_eq!(run_in(folder.path(), &strict).await?.code, Some(1));
    let checked = run_in(folder.path(), &["validate", "--strict", "--no-secrets", "one.json"]).await?;
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    Ok(())
}

#[tokio::test]
async fn problems_fail_where_something_is_broken() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools)?;
    let gateway = gateway().arg("--tools").arg(&tools).start().await?;
    let problems = ["tools", "problems", "--url", gateway.url()];
    assert_eq!(run_in(folder.path(), &problems).await?.code, Some(0));
    std::fs::write(tools.join("bad.yaml"), "name: bad\nhttp: {method: GET}\n")?;
    gateway.post_json("/admin/refresh", &Value::Null).await?;
    assert_eq!(run_in(folder.path(), &problems).await?.code, Some(1));
    Ok(())
}

#[tokio::test]
async fn a_file_behind_the_store_is_told_of() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("one.json"), definition("http://127.0.0.1:1/").to_string())?;
    let gateway = gateway().arg("--tools").arg(folder.path()).start().await?;
    assert_eq!(gateway.get("/admin/problems").await?.json()?, json!({"problems": []}));
    gateway.post_json("/admin/tools", &definition("http://127.0.0.1:2/")).await?;
    let problems = gateway.get("/admin/problems").await?.json()?;
    let message = problems["problems"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("hides the one of the same name") && message.contains("one.json"), "{problems}");
    gateway.delete("/admin/tools/one?purge=true").await?;
    assert_eq!(gateway.get("/admin/problems").await?.json()?, json!({"problems": []}));
    Ok(())
}

#[tokio::test]
async fn a_result_is_written_to_a_file() -> Result<()> {
    let upstream = Upstream::start().await?;
    let gateway = gateway().start().await?;
    gateway.post_json("/admin/tools", &definition(&upstream.url("/image"))).await?;
    let folder = tempfile::tempdir()?;
    let call = ["call", "one", "--output", "a.png", "--url", gateway.url()];
    let called = run_in(folder.path(), &call).await?;
    assert_eq!(called.code, Some(0), "{}", called.stderr);
    let written = std::fs::read(folder.path().join("a.png"))?;
    assert!(written.starts_with(b"\x89PNG\r\n\x1a\n") && written.ends_with(b"IEND\xaeB`\x82"), "{written:?}");
    Ok(())
}

/// R145: what the script and the collection say is what the gateway answers.
#[tokio::test]
async fn every_request_of_the_script_and_the_collection_is_answered() -> Result<()> {
    let gateway = gateway().start().await?;
    let folder = tempfile::tempdir()?;
    // Not a new store: version 1 is another tool's, and so is the name.
    let mut other = definition("http://127.0.0.1:9/x");
    other["name"] = "example.health".into();
    gateway.post_json("/admin/tools", &other).await?;
    let script = run_in(folder.path(), &["requests", "--form", "curl", "--url", gateway.url()]).await?;
    std::fs::write(folder.path().join("requests.sh"), &script.stdout)?;
    let ran =
        tokio::process::Command::new("sh").arg("requests.sh").current_dir(folder.path()).output().await?;
    let told = String::from_utf8_lossy(&ran.stderr).into_owned() + &String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{told}");
    assert!(told.contains(r#""result":{"status":"ok""#), "{told}");
    let left = gateway.get("/admin/tools").await?.json()?;
    assert_eq!(left["tools"].as_array().map(Vec::len), Some(1), "what it registered is gone: {left}");
    assert_eq!(left["tools"][0]["state"], "live", "{left}");
    let collection = gateway.get("/admin/postman.json").await?.json()?;
    let folders = collection["item"].as_array().cloned().unwrap_or_default();
    let items: Vec<&Value> =
        folders.iter().filter_map(|folder| folder["item"].as_array()).flatten().collect();
    // Approvals, sessions and connections have ids that no script can know, and there is no broker.
    let needs_person = |item: &&&Value| {
        let raw = item["request"]["url"]["raw"].as_str().unwrap_or_default();
        ["/approvals/", "/connections/", "/sessions/", "/broker/"].iter().any(|part| raw.contains(part))
    };
    let by_hand = items.iter().filter(needs_person).count();
    assert_eq!(items.len() - by_hand, script.stdout.matches("\ncurl ").count());
    for item in items {
        let request = &item["request"];
        let raw = request["url"]["raw"].as_str().unwrap_or_default();
        assert!(raw.starts_with("{{baseUrl}}/") && request["method"].is_string(), "{item}");
        if let Some(body) = request["body"]["raw"].as_str() {
            serde_json::from_str::<Value>(body)?;
        }
    }
    assert_eq!(collection["variable"][0]["value"], gateway.url());
    Ok(())
}

/// Programs read standard output, also of a command line that cannot be meant.
#[tokio::test]
async fn wrong_usage_is_json_where_json_is_asked_for_and_exits_with_2() -> Result<()> {
    let gateway = gateway().start().await?;
    gateway.post_json("/admin/tools", &definition("http://127.0.0.1:9/x")).await?;
    let folder = tempfile::tempdir()?;
    for (arguments, code) in [
        (vec!["list", "--json", "--state", "nope"], "USAGE"),
        (vec!["call", "one", "--json", "--arg", "foo"], "USAGE"),
        (vec!["call", "one", "--json", "--args", "{bad"], "USAGE"),
        (vec!["call", "none", "--json"], "NOT_FOUND"),
    ] {
        let told = run_with(folder.path(), &arguments, &[("TOOLRAIL_URL", gateway.url().to_owned())]).await?;
        let said: Value = serde_json::from_str(&told.stdout)?;
        assert_eq!((&said["ok"], &said["error"]["code"]), (&json!(false), &json!(code)), "{said}");
        assert!(said["error"].get("hint").is_some(), "{said}");
        assert_eq!(told.code, Some(if code == "USAGE" { 2 } else { 1 }), "{arguments:?}");
    }
    Ok(())
}

/// C31: a client that negotiated nothing gets JSON-RPC errors; one that did gets results that say so.
#[tokio::test]
async fn plain_clients_hear_of_failures_as_errors() -> Result<()> {
    let upstream = Upstream::start().await?;
    let gateway = gateway().start().await?;
    let mut failing = definition(&upstream.url("/status/500"));
    failing["name"] = "failing".into();
    let mut strict = definition(&upstream.url("/echo"));
    strict["inputSchema"] =
        json!({"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}}});
    for definition in [failing, strict] {
        gateway.post_json("/admin/tools", &definition).await?;
    }
    let call = async |name: &str, arguments: Value| -> Result<Value> {
        let params = json!({"name": name, "arguments": arguments});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        gateway.post_json("/mcp", &request).await?.json()
    };
    for arguments in [json!({}), json!({"q": 5})] {
        let refused = call("one", arguments).await?;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert!(
            refused["error"]["message"].as_str().is_some_and(|message| message.contains("/q")),
            "{refused}"
        );
    }
    let failed = call("failing", json!({})).await?;
    assert_eq!(failed["error"]["code"], -32000, "{failed}");
    assert!(failed["error"]["message"].as_str().is_some_and(|message| message.contains("500")), "{failed}");
    let standard = standard(&gateway, "tools/call", json!({"name": "one", "arguments": {}})).await?;
    assert_eq!(standard["result"]["isError"], true, "{standard}");
    Ok(())
}
