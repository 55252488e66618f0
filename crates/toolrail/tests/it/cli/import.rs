//! `toolrail import`: what is taken over from where, and what is said about it (R74, R120).

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use toolrail_testkit::{Database, DatabaseKind};

use crate::support::{gateway, listed, plain, run_in};

/// The table of mcp-lite as its schema.sql makes it (R104), and its rows.
const MCP_LITE: &str = r#"
    CREATE TABLE mcp_tool (id BIGINT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(200) NOT NULL UNIQUE,
      enabled TINYINT(1) NOT NULL DEFAULT 1, config_json JSON NOT NULL,
      updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP);
    CREATE INDEX idx_mcp_tool_updated_at ON mcp_tool(updated_at);
    INSERT INTO mcp_tool (name, enabled, config_json) VALUES
      ('user.get', 1, '{"name":"user.get","description":"d","type":"http","inputSchema":{"type":"object","properties":{}},"http":{"method":"GET","url":"http://127.0.0.1:9/users"}}'),
      ('user.off', 0, '{"type":"http","description":"d","inputSchema":{"type":"object","properties":{}},"http":{"url":"http://127.0.0.1:9/off"}}'),
      ('user.bad', 1, '{"type":"http","http":{}}')"#;

/// The full table of mcp-lite (R109), and its rows.
const FULL: &str = r#"
    CREATE TABLE mcp_tool (id BIGSERIAL PRIMARY KEY, name TEXT UNIQUE NOT NULL, description TEXT,
      enabled BOOLEAN NOT NULL DEFAULT true, input_schema JSONB NOT NULL,
      transport TEXT NOT NULL CHECK (transport IN ('http','grpc','graphql')), http_spec JSONB, auth_spec JSONB,
      response_mapping JSONB, policy JSONB, tenant_id TEXT, version BIGINT NOT NULL DEFAULT 1,
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now(), updated_by TEXT);
    INSERT INTO mcp_tool (name, description, input_schema, transport, http_spec, auth_spec, response_mapping)
      VALUES ('w.search', 'd', '{"type":"object","properties":{"city":{"type":"string","description":"c"}},"required":["city"]}',
        'http', '{"method":"GET","url":"http://127.0.0.1:9/w","queryTpl":{"q":"{{args.city}}"},"timeoutMs":1500}',
        '{"type":"none"}', '{"type":"jsonPath","expression":"$.data"}');
    INSERT INTO mcp_tool (name, input_schema, transport) VALUES ('w.grpc', '{"type":"object"}', 'grpc')"#;

/// RegistryTools' table, as its sqlite_storage.py makes it.
const REGISTRY_TOOLS: &str = r#"
    CREATE TABLE tools (name TEXT PRIMARY KEY, description TEXT NOT NULL, mcp_server TEXT, defer_loading INTEGER DEFAULT 1,
      tags TEXT, category TEXT, use_frequency INTEGER DEFAULT 0, last_used TEXT, temperature TEXT DEFAULT 'cold',
      input_schema TEXT, output_schema TEXT);
    CREATE TABLE api_keys (key_id TEXT PRIMARY KEY, api_key TEXT UNIQUE);
    INSERT INTO api_keys VALUES ('1', 'rtk_geheim');
    INSERT INTO tools (name, description, mcp_server, tags, category, use_frequency)
      VALUES ('slack.send', 'Send a message', 'slack', '["chat"]', 'slack', 4)"#;

async fn import(folder: &Path, from: &str, more: &[&str]) -> Result<(Option<i32>, Value, String)> {
    let mut arguments = vec!["import", from, "--data", "d", "--json"];
    arguments.extend(more);
    let ran = run_in(folder, &arguments).await?;
    let body = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| json!({"stdout": ran.stdout}));
    Ok((ran.code, body, ran.stderr))
}

async fn shown(folder: &Path, name: &str) -> Result<Value> {
    let ran = run_in(folder, &["tools", "show", name, "--data", "d", "--json"]).await?;
    Ok(serde_json::from_str(&ran.stdout)?)
}

fn steps(body: &Value) -> Vec<(&str, &str)> {
    let steps = body["plan"].as_array().map(Vec::as_slice).unwrap_or_default();
    steps.iter().map(|step| (step["action"].as_str().unwrap(), step["name"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn rows_of_mcp_lite_are_taken_over_and_stay_where_they_are() -> Result<()> {
    let database = Database::fresh(DatabaseKind::Mysql).await?;
    database.execute(MCP_LITE).await?;
    let folder = tempfile::tempdir()?;
    let (code, body, told) = import(folder.path(), database.url(), &[]).await?;
    assert_eq!(code, Some(1), "{body:#}{told}");
    assert_eq!(steps(&body), [("create", "user.get"), ("create", "user.off")]);
    assert_eq!((&body["written"], &body["refused"]), (&json!(2), &json!(1)));
    let problem = &body["problems"][0];
    assert!(problem["origin"].as_str().unwrap().ends_with(": user.bad"), "{problem}");
    assert_eq!(problem["pointer"], "/configJson/http");
    let source = &body["sources"][0];
    assert_eq!(source["what"], "table mcp_tool with config_json");
    let password = url::Url::parse(database.url())?.password().map(str::to_owned);
    assert!(password.is_none_or(|password| !body.to_string().contains(&format!(":{password}@"))));

    assert_eq!(
        shown(folder.path(), "user.get").await?["configJson"]["http"]["url"],
        "http://127.0.0.1:9/users"
    );
    assert_eq!(shown(folder.path(), "user.off").await?["state"], "disabled");
    assert_eq!(database.texts("SHOW TABLES").await?, [Some("mcp_tool".to_owned())]);
    assert_eq!(database.texts("SHOW TRIGGERS").await?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn rows_of_the_full_table_are_taken_over() -> Result<()> {
    let database = Database::fresh(DatabaseKind::Postgres).await?;
    database.execute(FULL).await?;
    let folder = tempfile::tempdir()?;
    let (code, body, told) = import(folder.path(), database.url(), &["--dry-run"]).await?;
    assert_eq!((code, &body["written"]), (Some(1), &json!(0)), "{body:#}{told}");
    let (_, body, _) = import(folder.path(), database.url(), &[]).await?;
    assert_eq!(steps(&body), [("create", "w.search")]);
    assert_eq!((&body["refused"], &body["problems"][0]["tool"]), (&json!(1), &json!("w.grpc")));
    let entry = shown(folder.path(), "w.search").await?;
    assert_eq!((&entry["state"], &entry["type"]), (&json!("live"), &json!("http")), "{entry:#}");
    Ok(())
}

#[tokio::test]
async fn a_catalogue_of_registry_tools_becomes_tools_that_are_found_and_not_called() -> Result<()> {
    let database = Database::fresh(DatabaseKind::Sqlite).await?;
    database.execute(REGISTRY_TOOLS).await?;
    let folder = tempfile::tempdir()?;
    let file = database.url().trim_start_matches("sqlite:");
    // A file of SQLite is known by what is in it.
    let (code, body, told) = import(folder.path(), file, &[]).await?;
    assert_eq!(code, Some(0), "{body:#}{told}");
    assert_eq!(steps(&body), [("create", "slack.send")]);
    assert!(body["sources"][0]["leftAlone"][0].as_str().unwrap().contains("api_keys"), "{body:#}");
    assert!(!body.to_string().contains("rtk_geheim"));
    let entry = shown(folder.path(), "slack.send").await?;
    assert_eq!(
        (&entry["type"], &entry["state"], &entry["warnings"]),
        (&json!("metadata"), &json!("live"), &json!(0))
    );
    assert_eq!(entry["configJson"]["metadata"], json!({"mcpServer": "slack", "useFrequency": 4}));

    let gateway = gateway().arg("--tools").arg(catalogue(folder.path())?).start().await?;
    let list = gateway.get("/mcp/tools").await?.json()?;
    assert_eq!(list["tools"][0]["_meta"]["toolrail/callable"], json!(false), "{list:#}");
    let call = json!({"tool": "github.star", "arguments": {}});
    let refused = gateway.post_json("/mcp/tools/call", &call).await?.json()?;
    assert_eq!(refused["error"]["code"], "UNSUPPORTED_TYPE");
    assert!(refused["error"]["message"].as_str().unwrap().contains("MCP server \"github\""), "{refused:#}");
    Ok(())
}

/// A folder with a tools.json as RegistryTools writes it.
fn catalogue(folder: &Path) -> Result<std::path::PathBuf> {
    let inside = folder.join("RegistryTools");
    std::fs::create_dir(&inside)?;
    let tool = json!({
        "name": "github.star", "description": "Star a repository", "mcp_server": "github", "defer_loading": true,
        "tags": ["git"], "category": "github", "use_frequency": 0, "last_used": null, "temperature": "cold",
        "input_schema": null, "output_schema": null,
    });
    std::fs::write(inside.join("tools.json"), json!({"github.star": tool}).to_string())?;
    Ok(inside)
}

#[tokio::test]
async fn what_is_there_and_differs_stays_unless_overwritten() -> Result<()> {
    let gateway = gateway().start().await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.json");
    let run = async |more: &[&str]| {
        let mut arguments = vec!["import", "a.json", "--url", gateway.url()];
        arguments.extend(more);
        run_in(folder.path(), &arguments).await
    };
    std::fs::write(&file, plain("a", "http://127.0.0.1:9/1").to_string())?;
    let first = run(&[]).await?;
    assert_eq!(
        (first.code, first.stdout.as_str()),
        (Some(0), "+ a  a.json:1:1\n1 definition in a.json (1 file)\n1 created, 0 unchanged\n"),
        "{}",
        first.stderr
    );
    assert_eq!(listed(&gateway).await?, ["a"]);
    std::fs::write(&file, plain("a", "http://127.0.0.1:9/2").to_string())?;
    let kept = run(&[]).await?;
    assert!(
        kept.stdout.contains("! a, differs and stays as it is; --overwrite replaces it"),
        "{}",
        kept.stdout
    );
    assert!(
        kept.stdout.contains("~ /http/url: \"http://127.0.0.1:9/1\" → \"http://127.0.0.1:9/2\""),
        "{}",
        kept.stdout
    );
    let url = async || {
        anyhow::Ok(gateway.get("/admin/tools/a").await?.json()?["configJson"]["http"]["url"].clone())
    };
    assert_eq!(url().await?, "http://127.0.0.1:9/1");
    let mut broken = plain("a", "http://127.0.0.1:9/2");
    broken["inputSchema"] = json!({"type": "object", "properties": {"city": {"description": false}}});
    std::fs::write(folder.path().join("a.json"), broken.to_string())?;
    let refused = run(&[]).await?;
    assert_eq!(refused.code, Some(1), "an error is told even where nothing would be replaced");
    assert!(refused.stderr.contains("not a boolean; quote it"), "{}", refused.stderr);
    assert!(refused.stdout.ends_with("\n0 unchanged, 1 refused\n"), "{}", refused.stdout);
    std::fs::write(&file, plain("a", "http://127.0.0.1:9/2").to_string())?;
    let planned = run(&["--overwrite", "--dry-run"]).await?;
    assert!(
        planned.stdout.ends_with("1 to update, 0 unchanged; nothing was written\n"),
        "{}",
        planned.stdout
    );
    assert_eq!(url().await?, "http://127.0.0.1:9/1");
    let replaced = run(&["--overwrite"]).await?;
    assert!(replaced.stdout.ends_with("1 updated, 0 unchanged\n"), "{}", replaced.stdout);
    assert_eq!(url().await?, "http://127.0.0.1:9/2");
    Ok(())
}

#[tokio::test]
async fn the_good_ones_are_taken_over_and_the_others_told_with_their_line() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("in"))?;
    let write = |name: &str, text: &str| std::fs::write(folder.path().join("in").join(name), text);
    write("good.json", &plain("good", "http://127.0.0.1:9/").to_string())?;
    write("bad.yaml", "name: bad\ndescription: d\nhttp:\n  url: http://127.0.0.1:9/\n  methd: GET\n")?;
    write("broken.yaml", "name: x\nhttp: [1\n")?;
    write("same.json", &plain("GOOD", "http://127.0.0.1:9/").to_string())?;
    write("fine.json", &plain("fine", "http://127.0.0.1:9/").to_string())?;
    write(
        "theirs.json",
        &json!({"tenant": "acme", "configJson": plain("fine", "http://127.0.0.1:9/")}).to_string(),
    )?;
    let ran = run_in(folder.path(), &["import", "in", "--data", "d"]).await?;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.ends_with(
            "5 definitions in in (6 files)\n2 created, 0 unchanged, 3 refused, 1 file unreadable\n"
        ),
        "{}",
        ran.stdout
    );
    let checked = run_in(folder.path(), &["validate", "in"]).await?;
    assert!(checked.stdout.contains("\n5 definitions, 4 errors, "), "{}", checked.stdout);
    assert!(checked.stdout.ends_with(" (3 refused, 1 file unreadable)\n"), "{}", checked.stdout);
    for part in [
        "in/bad.yaml:5:10 /http/methd (bad): unknown field \"methd\"; did you mean \"method\"?",
        "in/broken.yaml:",
        "in/good.json:1:9 /name (good): the name \"good\" is used in in/same.json:1:1 too",
        "in/same.json:1:9 /name (good): the name \"good\" is used in in/good.json:1:1 too",
    ] {
        assert!(ran.stderr.contains(part), "{part:?} is not in {}", ran.stderr);
    }
    Ok(())
}

/// R120: files go into the store when the gateway starts; a bad one does not keep it from starting.
#[tokio::test]
async fn files_are_imported_at_the_start() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("a.json"), plain("a", "http://127.0.0.1:9/").to_string())?;
    std::fs::write(folder.path().join("bad.yaml"), "name: bad\nhttp: {}\n")?;
    let gateway = gateway().arg("--import").arg(folder.path()).start().await?;
    assert_eq!(listed(&gateway).await?, ["a"]);
    assert_eq!(gateway.get("/admin/tools/a").await?.json()?["source"], "store");
    let banner = gateway.banner().await?;
    assert!(banner.contains("1 new, 0 changed, 0 as they were, 1 refused"), "{banner}");
    Ok(())
}

#[tokio::test]
async fn no_password_is_repeated() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for place in [
        "postgrs://u:s3cret@127.0.0.1:9/x",
        "jdbc:mysql://127.0.0.1:9/x?user=u&password=s3cret",
        "postgresql+asyncpg://u:s3cret@127.0.0.1:9/x",
        " postgres://u:s3cret@127.0.0.1:9/x",
        "'postgres://u:s3cret@127.0.0.1:9/x'",
        "u:s3cret@tcp(127.0.0.1:9)/x",
        "postgres://127.0.0.1:9/x?Password=s3cret",
    ] {
        let ran = run_in(folder.path(), &["--log-level", "debug", "import", place, "--data", "d"]).await?;
        assert_eq!(ran.code, Some(1), "{place}");
        assert!(ran.stderr.contains("error: ") && !ran.stderr.contains("s3cret"), "{place}: {}", ran.stderr);
        assert!(!ran.stdout.contains("s3cret"), "{place}: {}", ran.stdout);
    }
    let url = "http://u:s3cret@127.0.0.1:9";
    let ran = run_in(folder.path(), &["tools", "list", "-v", "--url", url]).await?;
    assert!(ran.stderr.contains("no server answers at http://127.0.0.1:9"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_with_pipes_devices_and_links_in_circles_is_read_to_its_end() -> Result<()> {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir()?;
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools)?;
    std::fs::write(tools.join("a.json"), plain("a", "http://127.0.0.1:9/").to_string())?;
    symlink("/dev/zero", tools.join("zero.yaml"))?;
    for link in ["x", "y", "z"] {
        symlink(&tools, tools.join(link))?;
    }
    let made = std::process::Command::new("mkfifo").arg(tools.join("pipe.yaml")).status()?;
    assert!(made.success());
    let ran = run_in(folder.path(), &["import", "tools", "--data", "d"]).await?;
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("1 created"), "{said}");
    assert_eq!(said.matches("is not a regular file").count(), 2, "{said}");
    Ok(())
}
