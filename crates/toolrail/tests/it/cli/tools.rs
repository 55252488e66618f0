//! `toolrail tools …` on a running server and on a data folder: tables for people, JSON for programs.

use std::path::Path;

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, Upstream};

use crate::support::{
    BINARY, Ran, echo_tool, gateway_and_upstream, listed, register_all, run_in, run_with, run_with_input,
};

/// Runs `toolrail tools … --url URL`.
async fn tools(gateway: &Gateway, arguments: &[&str]) -> Result<Ran> {
    let all = [&["tools"], arguments, &["--url", gateway.url()]].concat();
    run_in(Path::new("."), &all).await
}

fn parsed(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[tokio::test]
async fn list_is_a_table_for_people() -> Result<()> {
    let gateway = Gateway::builder(BINARY).arg("--demo").start().await?;
    let all = tools(&gateway, &["list"]).await?;
    assert_snapshot!(all.stdout, @"
    NAME              TYPE   STATE  SOURCE  DESCRIPTION
    chart.image       http   live   demo    A bar chart of up to 20 numbers as a PNG picture. 将数字绘制成柱状图(PNG 图片)。
    echo.request      http   live   demo    Answers with the request as the service saw it, headers and all; made to look at…
    note.add          http   live   demo    Keeps a short note with optional labels and says how many there are. 添加一条便签。
    order.create      http   live   demo    Places an order for a user: several items, and where to deliver them. It costs m…
    user.get          feign  live   demo    One user by number, with address and roles. 根据编号查询用户信息。
    user.search       feign  live   demo    Users whose name contains a text, optionally only those with certain roles. 按姓名和…
    weather.current   http   live   demo    Current weather of a city: temperature, wind and sky. Use it when somebody asks…
    weather.forecast  http   live   demo    Weather of a city for the coming days, one short line a day. 查询城市未来几天的天气预报。
    ");
    let some = tools(&gateway, &["list", "WEATHER", "days"]).await?;
    assert_snapshot!(some.stdout, @"
    NAME              TYPE  STATE  SOURCE  DESCRIPTION
    weather.forecast  http  live   demo    Weather of a city for the coming days, one short line a day. 查询城市未来几天的天气预报。
    ");
    let none = tools(&gateway, &["list", "--state", "broken"]).await?;
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert!(none.stderr.contains("no tool matches"), "{}", none.stderr);
    Ok(())
}

#[tokio::test]
async fn list_is_json_for_programs() -> Result<()> {
    let gateway = Gateway::builder(BINARY).arg("--demo").start().await?;
    let body = parsed(&tools(&gateway, &["list", "user", "--json"]).await?);
    let names: Vec<&str> =
        body["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["order.create", "user.get", "user.search"]);
    Ok(())
}

#[tokio::test]
async fn show_prints_the_definition() -> Result<()> {
    let gateway = Gateway::builder(BINARY).arg("--demo").start().await?;
    let shown = tools(&gateway, &["show", "user.get"]).await?;
    assert_eq!(shown.code, Some(0));
    assert!(
        shown.stdout.starts_with("user.get (feign, live)\n  from demo: demonstration at http://127.0.0.1:"),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("feign:\n  baseUrl: "), "{}", shown.stdout);
    let body = parsed(&tools(&gateway, &["show", "user.get", "--json"]).await?);
    assert_eq!(body["configJson"]["feign"]["path"], "/users/{id}");
    Ok(())
}

#[tokio::test]
async fn add_registers_files_and_standard_input() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let folder = tempfile::tempdir()?;
    let one = folder.path().join("one.json");
    std::fs::write(&one, echo_tool("one", &upstream).to_string())?;
    let many = folder.path().join("many.yaml");
    std::fs::write(
        &many,
        format!("{}\n---\n{}\n", echo_tool("two", &upstream), echo_tool("three", &upstream)),
    )?;
    let added = tools(&gateway, &["add", one.to_str().unwrap(), many.to_str().unwrap()]).await?;
    assert_eq!(
        (added.code, added.stdout.as_str()),
        (Some(0), "created one\ncreated two\ncreated three\n"),
        "{}",
        added.stderr
    );

    let input = format!("[{}]", echo_tool("four", &upstream));
    let arguments = ["tools", "add", "-", "--json", "--url", gateway.url()];
    let body = parsed(&run_with_input(folder.path(), &arguments, &input).await?);
    assert_eq!((&body["added"], &body["results"][0]["name"]), (&json!(1), &json!("four")));
    let again = tools(&gateway, &["add", folder.path().to_str().unwrap()]).await?;
    assert_eq!(again.stdout, "unchanged two\nunchanged three\nunchanged one\n");
    assert_eq!(listed(&gateway).await?, ["four", "one", "three", "two"]);
    Ok(())
}

#[tokio::test]
async fn add_tells_problems_with_their_place_in_the_file() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("tools.yaml");
    let bad = json!({"name": "bad", "description": "d", "inputSchema": {"type": "object"}, "http": {"url": upstream.url("/"), "methd": "GET"}});
    std::fs::write(&file, json!({"tools": [echo_tool("good", &upstream), bad]}).to_string())?;
    let path = file.to_str().unwrap();
    let refused = tools(&gateway, &["add", path]).await?;
    assert_eq!(refused.code, Some(1));
    assert_eq!(refused.stdout, "refused bad\n");
    let column = std::fs::read_to_string(&file)?.find("\"GET\"").unwrap() + 1;
    let place = format!("error: {path}:1:{column} /tools/1/http/methd (bad): ");
    assert!(refused.stderr.contains(&place), "{place} is not in {}", refused.stderr);
    assert!(
        refused.stderr.contains("1 of 2 definitions has errors") && refused.stderr.contains("pass --each"),
        "{}",
        refused.stderr
    );
    let json = tools(&gateway, &["add", path, "--json"]).await?;
    let body: Value = serde_json::from_str(&json.stdout)?;
    assert!(body["error"]["message"].as_str().unwrap().contains("pass --each"), "{body:#}");
    assert_eq!(body["results"][1]["origin"], format!("{path}#/tools/1"));
    let problem = &body["results"][1]["problems"][0];
    assert_eq!((&problem["origin"], &problem["pointer"]), (&json!(path), &json!("/tools/1/http/methd")));
    assert_eq!((&problem["line"], &problem["column"]), (&json!(1), &json!(column)));
    assert_eq!(listed(&gateway).await?, Vec::<String>::new());

    let each = tools(&gateway, &["add", path, "--each"]).await?;
    assert_eq!((each.code, each.stdout.as_str()), (Some(1), "created good\nrefused bad\n"));
    assert_eq!(listed(&gateway).await?, ["good"]);
    Ok(())
}

#[tokio::test]
async fn tools_are_switched_and_removed() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("a", &upstream)]).await?;
    for (arguments, said) in [
        (&["disable", "a"][..], "a is disabled\n"),
        (&["enable", "a"], "a is live\n"),
        (&["remove", "a"], "a is disabled\n"),
        (&["remove", "a", "--purge"], "a is purged\n"),
    ] {
        let ran = tools(&gateway, arguments).await?;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), said), "{}", ran.stderr);
    }
    let gone = tools(&gateway, &["enable", "a"]).await?;
    assert_eq!(gone.code, Some(1));
    let url = gateway.url();
    assert_eq!(
        gone.stderr,
        format!(
            "error: there is no definition named \"a\" (NOT_FOUND)\nhint: `toolrail tools list --url {url}` lists them\n"
        )
    );
    Ok(())
}

#[tokio::test]
async fn advice_is_given_in_commands() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("weather.current", &upstream)]).await?;
    let url = gateway.url();
    let meant = tools(&gateway, &["call", "wether.current"]).await?;
    assert!(meant.stderr.contains("did you mean \"weather.current\"?"), "{}", meant.stderr);
    tools(&gateway, &["disable", "weather.current"]).await?;
    let off = tools(&gateway, &["call", "weather.current"]).await?;
    assert_eq!(
        off.stderr,
        format!(
            "error: the tool \"weather.current\" is switched off (NOT_FOUND)\nhint: `toolrail tools enable weather.current --url {url}` switches it on\n"
        )
    );
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.json");
    std::fs::write(&file, echo_tool("weather.current", &upstream).to_string())?;
    let again = tools(&gateway, &["add", file.to_str().unwrap()]).await?;
    assert_eq!(again.stdout, "updated weather.current (switched on again)\n");
    let none =
        run_in(folder.path(), &["tools", "list", "zzz", "--data", gateway.data().to_str().unwrap()]).await?;
    assert!(none.stderr.contains("`toolrail tools list --data "), "{}", none.stderr);
    Ok(())
}

#[tokio::test]
async fn problems_tells_what_is_wrong_with_files_and_definitions() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("bad.yaml"), "name: bad\nhttp: {urll: 'http://a/'}\n")?;
    std::fs::write(folder.path().join("broken.json"), "{\n")?;
    let gateway = Gateway::builder(BINARY).arg("--tools").arg(folder.path()).start().await?;
    let shown = tools(&gateway, &["problems"]).await?;
    assert_eq!(shown.code, Some(1), "{}", shown.stderr);
    assert!(shown.stdout.starts_with("SEVERITY  NAME  PLACE "), "{}", shown.stdout);
    for part in ["error     -     broken.json:2:", "error     bad   bad.yaml:2:14 /http/urll "] {
        assert!(shown.stdout.contains(part), "{part:?} is not in {}", shown.stdout);
    }
    let body: Value = serde_json::from_str(&tools(&gateway, &["problems", "--json"]).await?.stdout)?;
    assert!(body["problems"].as_array().is_some_and(|problems| problems.len() > 2), "{body:#}");
    let command = format!("tools problems --url {}` shows them", gateway.url());
    let banner = gateway.banner().await?;
    assert!(banner.contains(&command), "{banner}");
    let broken = tools(&gateway, &["list", "--state", "broken"]).await?;
    assert!(
        broken.stdout.contains("\nbad   http  broken "),
        "the type follows from the block: {}",
        broken.stdout
    );
    Ok(())
}

#[tokio::test]
async fn call_prints_the_result_and_takes_arguments_in_every_form() -> Result<()> {
    let gateway = Gateway::builder(BINARY).arg("--demo").start().await?;
    let text =
        tools(&gateway, &["call", "weather.forecast", "--arg", "city=Paris", "--arg", "days=1"]).await?;
    assert!(text.code == Some(0) && text.stdout.starts_with("Paris:\n"), "{}{}", text.stdout, text.stderr);
    let user = parsed(&tools(&gateway, &["call", "user.get", "--args", "{\"id\": 3}"]).await?);
    assert_eq!(user["name"], "Grace Hopper");
    let number_as_text = parsed(&tools(&gateway, &["call", "weather.current", "--arg", "city=75001"]).await?);
    assert_eq!(number_as_text["city"], "75001");

    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("a.json"), "{\"values\": [1, 2]}")?;
    let arguments = ["tools", "call", "chart.image", "--args", "@a.json", "--url", gateway.url()];
    let picture = run_in(folder.path(), &arguments).await?;
    assert!(picture.stdout.starts_with("[image/png, "), "{}{}", picture.stdout, picture.stderr);
    let arguments = ["tools", "call", "user.get", "--args", "-", "--json", "--url", gateway.url()];
    let raw = parsed(&run_with_input(folder.path(), &arguments, "{\"id\": 1}").await?);
    assert_eq!((&raw["ok"], &raw["result"]["id"]), (&json!(true), &json!(1)));
    Ok(())
}

#[tokio::test]
async fn a_failed_call_is_an_error_for_people_and_for_programs() -> Result<()> {
    let gateway = Gateway::builder(BINARY).arg("--demo").start().await?;
    let failed = tools(&gateway, &["call", "user.get", "--arg", "id=99"]).await?;
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
    assert!(
        failed.stderr.contains("UPSTREAM_STATUS") && failed.stderr.contains("no user 99"),
        "{}",
        failed.stderr
    );
    let failed = tools(&gateway, &["call", "user.get", "--arg", "id=99", "--json"]).await?;
    assert_eq!(failed.code, Some(1));
    assert_eq!(serde_json::from_str::<Value>(&failed.stdout)?["error"]["code"], "UPSTREAM_STATUS");
    Ok(())
}

#[tokio::test]
async fn a_dry_run_shows_the_request_and_sends_nothing() -> Result<()> {
    let upstream = Upstream::start().await?;
    let gateway = Gateway::builder(BINARY).env("TOOLRAIL_SECRET_TOKEN", "s3cr3t-value").start().await?;
    let mut definition = echo_tool("demo.echo", &upstream);
    definition["http"]["headers"] = json!({"X-Key": "{{secrets.TOKEN}}"});
    register_all(&gateway, &[definition]).await?;
    let shown = tools(&gateway, &["call", "demo.echo", "--arg", "q=a b", "--dry-run"]).await?;
    let text = shown.stdout.replace(&upstream.address().to_string(), "UPSTREAM");
    assert_snapshot!(text.replace(env!("CARGO_PKG_VERSION"), "VERSION"), @"
    GET http://UPSTREAM/echo?q=a%20b
    accept: application/json, */*;q=0.8
    user-agent: toolrail/VERSION
    x-key: ***
    toolrail-hop: 1

    PLACE                FROM           VALUE
    /http/query/q        args.q         a b
    /http/headers/X-Key  secrets.TOKEN  ***
    ");
    assert_eq!(upstream.total(), 0);
    Ok(())
}

#[tokio::test]
async fn everything_works_on_a_data_folder_without_a_server() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let upstream = Upstream::start().await?;
    std::fs::write(folder.path().join("a.json"), echo_tool("demo.echo", &upstream).to_string())?;
    let added = run_in(folder.path(), &["tools", "add", "a.json", "--data", "store"]).await?;
    assert_eq!((added.code, added.stdout.as_str()), (Some(0), "created demo.echo\n"), "{}", added.stderr);
    let shown =
        parsed(&run_in(folder.path(), &["tools", "show", "demo.echo", "--data", "store", "--json"]).await?);
    assert!(shown["updatedBy"].as_str().is_some_and(|who| who != "anonymous"), "{shown}");
    let history =
        parsed(&run_in(folder.path(), &["history", "demo.echo", "--data", "store", "--json"]).await?);
    let first = &history["versions"][0];
    assert_eq!((&first["who"], &first["via"]), (&shown["updatedBy"], &json!("cli")));
    let arguments = ["tools", "call", "demo.echo", "--arg", "q=x", "--data", "store", "--verbose"];
    let called = run_in(folder.path(), &arguments).await?;
    assert_eq!(parsed(&called)["query"], "q=x");
    assert!(called.stderr.contains("data folder store"), "{}", called.stderr);
    Ok(())
}

#[tokio::test]
async fn a_data_folder_in_use_means_its_server() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let mut gateway = Gateway::builder(BINARY).data(&data).arg("--demo").start().await?;
    for arguments in [&["tools", "list", "-v"][..], &["tools", "list", "-v", "--data", "data"]] {
        let ran = run_in(folder.path(), arguments).await?;
        assert!(ran.stderr.contains(&format!("server {}", gateway.url())), "{}", ran.stderr);
        assert!(ran.stdout.contains("weather.current"), "{}", ran.stdout);
    }
    // What a killed server leaves behind misleads nobody.
    gateway.kill().await?;
    let ran = run_in(folder.path(), &["tools", "list", "-v"]).await?;
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("data folder data"), "{}", ran.stderr);
    Ok(())
}

#[tokio::test]
async fn without_a_server_secrets_stay_bound_and_services_are_known() -> Result<()> {
    let upstream = Upstream::start().await?;
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text);
    write("bound.yaml", "secrets: {KEY: {hosts: [api.example.com]}}\n".to_owned())?;
    write("shop.yaml", format!("services: {{shop: {{baseUrl: '{}'}}}}\n", upstream.url("")))?;
    let mut leaking = echo_tool("leaking", &upstream);
    leaking["http"]["headers"] = json!({"X-Key": "{{secrets.KEY}}"});
    let mut served = echo_tool("served", &upstream);
    served["http"]["service"] = json!("shop");
    served["http"]["url"] = json!("/echo");
    write("leaking.json", leaking.to_string())?;
    write("served.json", served.to_string())?;
    let run = async |arguments: &str, more: &[(&str, &str)]| {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let key = [("TOOLRAIL_SECRET_KEY", "s3cr3t-value")];
        let variables: Vec<_> =
            key.iter().chain(more).map(|(name, value)| (*name, (*value).to_owned())).collect();
        run_with(folder.path(), &arguments, &variables).await
    };
    // In a folder with nothing in it, one begins.
    let added = run("tools add leaking.json", &[]).await?;
    assert_eq!(added.code, Some(0), "{}{}", added.stdout, added.stderr);
    let call = "tools call leaking --arg q=x";
    for bound in [("TOOLRAIL_CONFIG", "bound.yaml"), ("TOOLRAIL_SECRETS", "KEY@api.example.com")] {
        let refused = run(call, &[bound]).await?;
        assert_ne!(refused.code, Some(0), "{bound:?}: {}", refused.stdout);
        assert!(refused.stderr.contains("\"leaking\" has errors"), "{}", refused.stderr);
    }
    assert_eq!(run("tools call leaking --arg q=x --secret KEY@127.0.0.1", &[]).await?.code, Some(0));
    let unknown = run("tools add served.json", &[]).await?;
    assert!(unknown.code != Some(0) && format!("{}{}", unknown.stdout, unknown.stderr).contains("shop"));
    for command in
        ["tools add served.json --config shop.yaml", "tools call served --arg q=x --config shop.yaml"]
    {
        let ran = run(command, &[]).await?;
        assert_eq!(ran.code, Some(0), "{command}: {}{}", ran.stdout, ran.stderr);
    }
    let exported = run("export --json", &[]).await?;
    assert_eq!(parsed(&exported)["tools"].as_array().map(Vec::len), Some(2), "{}", exported.stdout);
    Ok(())
}
