//! Programs that definitions start: from files always, from the store only with `--allow-commands`; and what such a program
//! sees of the gateway's environment.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use toolrail_testkit::{Gateway, Stdio, wait_until};

use crate::support::{BINARY, gateway, listed, register, run_in};

const WITHIN: Duration = Duration::from_secs(20);
const REFUSED: &str = "starting programs is not allowed for definitions in the store; put the definition into a folder of --tools, or start the gateway with --allow-commands";

/// Leaves its environment behind, then serves one tool.
const SCRIPT: &str = r#"env > "$LEFT_BEHIND"
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done"#;

/// A definition that starts a program, which writes its environment to `mark`.
fn program(name: &str, mark: &Path) -> Value {
    json!({
        "name": name,
        "type": "mcp",
        "mcp": {
            "command": "sh", "args": ["-c", SCRIPT], "protocol": "legacy",
            "env": {"LEFT_BEHIND": mark},
        },
    })
}

async fn until_listed(gateway: &Gateway, tool: &str) -> Result<()> {
    wait_until(&format!("the tool {tool}"), WITHIN, async || {
        listed(gateway).await.ok()?.iter().any(|name| name == tool).then_some(())
    })
    .await
}

async fn insert(data: &Path, definition: &Value, enabled: bool) -> Result<()> {
    let options = SqliteConnectOptions::new().filename(data.join("toolrail.db"));
    let mut other = SqliteConnection::connect_with(&options).await?;
    sqlx::query("INSERT INTO mcp_tool(name, enabled, config_json) VALUES (?, ?, ?)")
        .bind(definition["name"].as_str())
        .bind(enabled)
        .bind(definition.to_string())
        .execute(&mut other)
        .await?;
    Ok(other.close().await?)
}

#[track_caller]
fn assert_told(problems: &Value, pointer: &str) {
    assert_eq!((&problems[0]["pointer"], &problems[0]["message"]), (&json!(pointer), &json!(REFUSED)));
}

#[tokio::test]
async fn registering_a_program_is_refused_without_the_flag() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mark = folder.path().join("mark");
    let gateway = gateway().start().await?;
    let bare = program("p", &mark);
    let wrapped = json!({"name": "p", "enabled": true, "configJson": bare});
    for (body, pointer) in [(&wrapped, "/configJson/mcp/command"), (&bare, "/mcp/command")] {
        let reply = gateway.post_json("/admin/tools", body).await?;
        assert_eq!(reply.status, 422, "{}", reply.text());
        assert_told(&reply.json()?["problems"], pointer);
    }
    assert_eq!(gateway.put_json("/admin/tools", &bare).await?.status, 422);
    let batch = gateway.post_json("/admin/tools/batch", &json!({"tools": [bare], "mode": "each"})).await?;
    assert_told(&batch.json()?["results"][0]["problems"], "/tools/0/mcp/command");
    let validated = gateway.post_json("/admin/tools/validate", &bare).await?.json()?;
    assert_eq!(validated["valid"], false);
    assert_told(&validated["problems"], "/mcp/command");
    assert_eq!(gateway.get("/admin/tools/p").await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn a_row_with_a_program_is_broken_until_the_flag_is_given() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (data, tools) = (folder.path().join("data"), folder.path().join("tools"));
    let [mark, off, file] = ["mark", "off", "file"].map(|name| folder.path().join(name));
    fs::create_dir(&tools)?;
    let careful = gateway().data(&data).arg("--tools").arg(&tools).start().await?;
    insert(&data, &program("p", &mark), true).await?;
    insert(&data, &program("off", &off), false).await?;
    careful.post_json("/admin/refresh", &Value::Null).await?;
    careful.post_json("/admin/tools/off/enable", &Value::Null).await?;
    // In the store it hides the same definition in a file, which starts neither.
    fs::write(tools.join("p.json"), program("p", &mark).to_string())?;
    fs::write(tools.join("f.json"), program("f", &file).to_string())?;
    until_listed(&careful, "f_t").await?;
    for name in ["p", "off"] {
        let shown = careful.get(&format!("/admin/tools/{name}")).await?.json()?;
        assert_eq!((&shown["state"], &shown["source"]), (&json!("broken"), &json!("store")), "{shown:#}");
        assert_told(&shown["problems"], "/mcp/command");
    }
    assert!(file.exists() && !mark.exists() && !off.exists());
    drop(careful);

    let bold = gateway().data(&data).arg("--allow-commands").start().await?;
    until_listed(&bold, "p_t").await?;
    until_listed(&bold, "off_t").await?;
    register(&bold, &program("q", &mark)).await;
    until_listed(&bold, "q_t").await
}

#[tokio::test]
async fn a_program_in_a_file_sees_only_the_secrets_that_it_is_given() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mark = folder.path().join("mark");
    let mut definition = program("p", &mark);
    definition["mcp"]["env"]["GIVEN"] = json!("{{secrets.GIVEN}}");
    fs::write(folder.path().join("p.json"), definition.to_string())?;
    let gateway = gateway()
        .arg("--tools")
        .arg(folder.path())
        .args(["--secret", "LISTED"])
        .env("TOOLRAIL_SECRET_GIVEN", "given-12345")
        .env("TOOLRAIL_SECRET_KEPT", "kept-12345")
        .env("LISTED", "listed-12345")
        .env("AWS_SECRET_ACCESS_KEY", "aws-12345")
        .start()
        .await?;
    until_listed(&gateway, "p_t").await?;
    let seen = fs::read_to_string(&mark)?;
    assert!(seen.lines().any(|line| line == "GIVEN=given-12345"), "{seen}");
    assert!(seen.lines().any(|line| line.starts_with("PATH=")), "{seen}");
    assert_eq!(seen.matches("-12345").count(), 1, "{seen}");
    assert!(!seen.contains("TOOLRAIL"), "{seen}");
    Ok(())
}

#[tokio::test]
async fn the_environment_and_the_configuration_allow_programs_too() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let definition = program("p", &folder.path().join("mark"));
    let config = folder.path().join("toolrail.yaml");
    fs::write(&config, "allowCommands: true\n")?;
    for (word, status) in [("true", 200), ("1", 200), ("no", 422)] {
        let gateway = gateway().env("TOOLRAIL_ALLOW_COMMANDS", word).start().await?;
        assert_eq!(gateway.post_json("/admin/tools", &definition).await?.status, status, "{word}");
    }
    let allowed = gateway().arg("--config").arg(&config).start().await?;
    assert_eq!(allowed.post_json("/admin/tools", &definition).await?.status, 200);
    let overruled = gateway().arg("--config").arg(&config).arg("--allow-commands=false").start().await?;
    assert_eq!(overruled.post_json("/admin/tools", &definition).await?.status, 422);
    Ok(())
}

#[tokio::test]
async fn the_command_line_goes_by_the_same_rule() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mark = folder.path().join("mark");
    fs::write(folder.path().join("p.json"), program("p", &mark).to_string())?;
    let validated = run_in(folder.path(), &["validate", "p.json"]).await?;
    assert_eq!(validated.code, Some(0), "{}{}", validated.stdout, validated.stderr);
    let add = ["tools", "add", "p.json", "--data", "data"];
    let refused = run_in(folder.path(), &add).await?;
    assert_eq!(refused.code, Some(1));
    assert!((refused.stdout + &refused.stderr).contains(REFUSED));
    let added = run_in(folder.path(), &[&add[..], &["--allow-commands"]].concat()).await?;
    assert_eq!(added.code, Some(0), "{}{}", added.stdout, added.stderr);

    let data = folder.path().join("data");
    let never = folder.path().join("never");
    insert(&data, &program("q", &never), true).await?;
    let data = data.to_str().unwrap();
    let mut careful = Stdio::spawn(BINARY, ["stdio", "--data", data])?;
    let answer = careful.call("tools/list", json!({})).await?;
    assert_eq!(answer["result"]["tools"], json!([]));
    assert!(careful.finish().await?.success());
    assert!(!never.exists());
    let mut bold = Stdio::spawn(BINARY, ["stdio", "--data", data, "--allow-commands"])?;
    wait_until("the tool over stdio", WITHIN, async || {
        let answer = bold.call("tools/list", json!({})).await.ok()?;
        answer["result"]["tools"].as_array()?.iter().any(|tool| tool["name"] == "q_t").then_some(())
    })
    .await
}
