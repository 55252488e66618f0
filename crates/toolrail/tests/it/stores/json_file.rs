//! A gateway whose store is one readable JSON file, edited by hand while it runs.

use std::time::Duration;

use serde_json::{Value, json};
use toolrail_testkit::wait_until;

use crate::support::{gateway, get_tool, listed, register, run_in};

#[tokio::test]
async fn definitions_live_in_one_readable_file_that_may_be_edited() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tools.json");
    let store = format!("json:{}", file.display());
    let mut gateway = gateway().args(["--store", &store]).start().await.unwrap();
    register(&gateway, &get_tool("one", "http://127.0.0.1:1/")).await;
    register(&gateway, &get_tool("two", "http://127.0.0.1:1/")).await;
    let second = run_in(folder.path(), &["tools", "list", "--store", &store]).await.unwrap();
    assert!(second.stderr.contains("another gateway uses it"), "{}", second.stderr);
    let mut written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    written["tools"][0]["enabled"] = json!(false);
    // As editors save, so that nothing of it is lost to a write of the gateway's.
    let draft = folder.path().join("draft");
    std::fs::write(&draft, written.to_string()).unwrap();
    std::fs::rename(&draft, &file).unwrap();
    let soon = Duration::from_secs(30);
    wait_until("the edit", soon, async || (listed(&gateway).await.ok()? == ["two"]).then_some(()))
        .await
        .unwrap();

    std::fs::write(&file, "{\n \"tools\": oops").unwrap();
    let broken = wait_until("the broken file", soon, async || {
        let ready = gateway.get("/readyz").await.ok()?.json().ok()?;
        (ready["status"] == "degraded").then_some(ready)
    });
    let told = broken.await.unwrap();
    assert!(told["sources"][0]["failure"].as_str().unwrap().contains("line 2 column"), "{told}");
    assert_eq!(listed(&gateway).await.unwrap(), ["two"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\n \"tools\": oops", "nothing is written over it");

    std::fs::write(&file, written.to_string()).unwrap();
    wait_until("the mended file", soon, async || {
        let ready = gateway.get("/readyz").await.ok()?.json().ok()?;
        (ready["status"] == "ready").then_some(())
    })
    .await
    .unwrap();
    gateway.kill().await.unwrap();
    gateway.restart().await.unwrap();
    assert_eq!(listed(&gateway).await.unwrap(), ["two"]);
    gateway.stop().await.unwrap();
    let offline = run_in(folder.path(), &["tools", "list", "--store", &store]).await.unwrap();
    assert!(offline.stdout.contains("one") && offline.stdout.contains("disabled"), "{}", offline.stdout);
}

/// C38, on the built binary: another program breaks a row.
#[tokio::test]
async fn a_row_that_another_program_breaks_is_served_as_it_was_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tools.json");
    let store = format!("json:{}", file.display());
    let mut gateway = gateway().args(["--store", &store]).start().await.unwrap();
    register(&gateway, &get_tool("one", "http://127.0.0.1:1/")).await;
    let mut written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    written["tools"][0]["config"]["http"] = json!({"urll": 1});
    std::fs::write(&file, written.to_string()).unwrap();
    let soon = Duration::from_secs(10);
    let shown = wait_until("the broken version", soon, async || {
        let shown = gateway.get("/admin/tools/one").await.ok()?.json().ok()?;
        (shown["version"] == 2).then_some(shown)
    });
    let shown = shown.await.unwrap();
    assert_eq!((&shown["state"], &shown["servingVersion"]), (&json!("live"), &json!(1)), "{shown}");
    let told = shown["problems"][0]["message"].as_str().unwrap();
    assert!(told.starts_with("the newest version 2 is broken since "), "{told}");
    assert_eq!(listed(&gateway).await.unwrap(), ["one"]);
    gateway.restart().await.unwrap();
    assert_eq!(listed(&gateway).await.unwrap(), ["one"]);
    let off = gateway.delete("/admin/tools/one").await.unwrap();
    assert_eq!(off.status, 200, "{}", off.text());
    assert_eq!(listed(&gateway).await.unwrap(), [""; 0]);
    gateway.stop().await.unwrap();
    let refusing = gateway_refusing(&store).await;
    assert_eq!(listed(&refusing).await.unwrap(), [""; 0]);
}

async fn gateway_refusing(store: &str) -> toolrail_testkit::Gateway {
    gateway().args(["--store", store, "--on-broken", "refuse"]).start().await.unwrap()
}
