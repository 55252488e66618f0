//! `toolrail export`: the store as files, and back again.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::support::{BINARY, gateway, plain, register, run_in};

/// What the store holds, as JSON text.
async fn stored(folder: &Path, data: &str) -> Result<String> {
    let ran = run_in(folder, &["export", "--format", "json", "--data", data]).await?;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let body: Value = serde_json::from_str(&ran.stdout)?;
    Ok(body.to_string())
}

/// Definitions with all that YAML might take for something else.
fn awkward() -> Vec<Value> {
    let mut one = plain("one.Tool", "http://127.0.0.1:9/{{args.x}}");
    one["inputSchema"] = json!({
        "type": "object", "required": ["x"],
        "properties": {
            "x": {"type": "string", "description": "yes", "enum": ["no", "1.0", "~", "2026-01-02", "0x1F", ""]},
            "n": {"type": "number", "description": "- a: b # c", "default": 1.0, "maximum": 1e300, "minimum": -3},
            "on": {"type": "boolean", "description": "line\nline\n\n  indented\n"},
        },
    });
    one["http"]["query"] =
        json!({"x": "{{args.x}}", "n": "{{args.n}}", "on": "{{args.on}}", "城市": "'\"\\\t"});
    let mut two = plain("two", "http://127.0.0.1:9/");
    two["enabled"] = json!(false);
    two["tags"] = json!([]);
    vec![one, two]
}

#[tokio::test]
async fn what_is_exported_and_imported_again_is_the_same() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("in.json"), json!(awkward()).to_string())?;
    let imported = run_in(folder.path(), &["import", "in.json", "--data", "first"]).await?;
    assert_eq!(imported.code, Some(0), "{}{}", imported.stdout, imported.stderr);
    let before = stored(folder.path(), "first").await?;
    assert!(before.contains(r#""default":1.0"#) && before.contains(r#""enabled":false"#), "{before}");
    for (to, format) in [("yaml", "yaml"), ("json", "json"), ("all.yaml", "yaml"), ("all.json", "json")] {
        let data = format!("data-{to}");
        let out =
            run_in(folder.path(), &["export", "--to", to, "--format", format, "--data", "first"]).await?;
        assert_eq!(out.code, Some(0), "{}", out.stderr);
        let back = run_in(folder.path(), &["import", to, "--data", &data]).await?;
        assert_eq!(back.code, Some(0), "{to}: {}{}", back.stdout, back.stderr);
        assert_eq!(stored(folder.path(), &data).await?, before, "{to}");
        let same =
            run_in(folder.path(), &["sync", to, "--dry-run", "--exit-code", "--data", "first"]).await?;
        assert_eq!((same.code, same.stdout.as_str()), (Some(0), "2 unchanged\n"), "{to}: {}", same.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn only_files_that_change_are_written_and_those_of_gone_tools_go_with_prune() -> Result<()> {
    let gateway = gateway().start().await?;
    for name in ["a", "b", "c"] {
        register(&gateway, &plain(name, "http://127.0.0.1:9/")).await;
    }
    let folder = tempfile::tempdir()?;
    let export = async |more: &[&str]| {
        let mut arguments = vec!["export", "--to", "out", "--url", gateway.url()];
        arguments.extend(more);
        run_in(folder.path(), &arguments).await
    };
    assert_eq!(export(&[]).await?.stdout, "3 definitions in out: 3 new, 0 changed, 0 as they were\n");
    let a = folder.path().join("out/a.yaml");
    let modified = std::fs::metadata(&a)?.modified()?;
    register(&gateway, &plain("b", "http://127.0.0.1:9/other")).await;
    gateway.delete("/admin/tools/c?purge=true").await?;
    std::fs::write(folder.path().join("out/own.yaml"), "tools: []\n")?;
    let again = export(&[]).await?;
    assert_eq!(again.stdout, "2 definitions in out: 0 new, 1 changed, 1 as they were\n");
    assert!(again.stderr.contains("--prune removes them: out/c.yaml"), "{}", again.stderr);
    assert_eq!(std::fs::metadata(&a)?.modified()?, modified);
    assert!(export(&["--prune"]).await?.stdout.ends_with(", 1 removed\n"));
    let mut left: Vec<_> = std::fs::read_dir(folder.path().join("out"))?
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".toolrail-export", "a.yaml", "b.yaml", "own.yaml"]);
    std::fs::remove_file(folder.path().join("out/.toolrail-export"))?;
    std::fs::write(folder.path().join("out/b.yaml"), "name: b\n")?;
    let kept = export(&[]).await?;
    assert_eq!(kept.code, Some(1));
    assert!(kept.stderr.contains("--overwrite replaces them: out/b.yaml"), "{}", kept.stderr);
    assert_eq!(export(&["--overwrite"]).await?.code, Some(0));
    Ok(())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_cannot_be_printed_is_an_error_unless_the_reader_had_enough() -> Result<()> {
    let gateway = gateway().start().await?;
    register(&gateway, &plain("a", "http://127.0.0.1:9/")).await;
    let folder = tempfile::tempdir()?;
    for (to, code, told) in [("> /dev/full", 1, "standard output cannot be written"), ("| true", 0, "")] {
        let script = format!("set -o pipefail; '{BINARY}' export --to - --url '{}' {to}", gateway.url());
        let mut command = tokio::process::Command::new("bash");
        let ran = command.args(["-c", &script]).current_dir(folder.path()).output();
        let ran = tokio::time::timeout(std::time::Duration::from_secs(30), ran).await??;
        let said = String::from_utf8(ran.stderr)?;
        assert_eq!(ran.status.code(), Some(code), "{to}: {said}");
        assert!(said.contains(told) && (code == 1 || said.is_empty()), "{to}: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn tenants_are_exported_apart_and_go_back_where_they_belong() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let tool = |url: &str| plain("same", url);
    let wrapped = json!({"name": "same", "tenant": "acme", "configJson": tool("http://127.0.0.1:9/acme")});
    let tools = json!([tool("http://127.0.0.1:9/shared"), wrapped]);
    std::fs::write(folder.path().join("in.json"), tools.to_string())?;
    let imported = run_in(folder.path(), &["import", "in.json", "--data", "d"]).await?;
    assert_eq!(imported.code, Some(0), "{}{}", imported.stdout, imported.stderr);
    let out = run_in(folder.path(), &["export", "--to", "out", "--all-tenants", "--data", "d"]).await?;
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    assert!(std::fs::read_to_string(folder.path().join("out/same.yaml"))?.contains("/shared"));
    let owned = std::fs::read_to_string(folder.path().join("out/acme/same.yaml"))?;
    assert!(owned.contains("tenant: acme") && owned.contains("/acme"), "{owned}");
    let back = run_in(folder.path(), &["import", "out", "--data", "e"]).await?;
    assert!(back.stdout.contains("2 created"), "{}{}", back.stdout, back.stderr);
    let one = run_in(folder.path(), &["export", "--tenant", "acme", "--data", "e"]).await?;
    assert!(one.stdout.contains("/acme") && !one.stdout.contains("/shared"), "{}", one.stdout);
    Ok(())
}
