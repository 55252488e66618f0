//! A disk that is full, as far as the gateway can tell: its files may not grow. Nothing is claimed meanwhile, and all of it
//! works again by itself once there is room.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use toolrail_testkit::{DatabaseKind, Gateway, Server, wait_until};

use crate::support::{BINARY, get_tool, listed, register};

/// The largest that a file of that process may become from now on.
async fn limit_files(gateway: &Gateway, bytes: &str) {
    let pid = gateway.pid().unwrap().to_string();
    let ran = tokio::process::Command::new("prlimit")
        .args(["--pid", &pid, &format!("--fsize={bytes}:")])
        .output()
        .await
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Starts the gateway. Without this, a process that writes too much is ended instead of being told.
fn told_of_limits(folder: &Path) -> PathBuf {
    let script = folder.join("gateway.sh");
    std::fs::write(&script, format!("#!/bin/sh\ntrap '' XFSZ\nexec '{BINARY}' \"$@\"\n")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    script
}

#[tokio::test]
async fn a_full_disk_is_told_and_writing_works_again_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let script = told_of_limits(folder.path());
    let gateway = Gateway::builder(&script).start().await.unwrap();
    register(&gateway, &get_tool("one", "http://127.0.0.1:1/")).await;
    let status = async || gateway.get("/readyz").await.unwrap().json().unwrap();
    assert_eq!(status().await["status"], "ready");

    limit_files(&gateway, "4096").await;
    for round in 0..3 {
        let tool = get_tool(&format!("new{round}"), "http://127.0.0.1:1/");
        let refused = gateway.post_json("/admin/tools", &tool).await.unwrap();
        assert_eq!(refused.status, 503, "{}", refused.text());
    }
    let told = status().await;
    assert_eq!((&told["status"], &told["store"]["writable"]), (&json!("degraded"), &json!(false)), "{told}");
    assert!(told["store"]["unwritableSince"].as_str().unwrap().ends_with('Z'), "{told}");
    let problems = gateway.get("/admin/problems").await.unwrap().text().clone();
    assert!(problems.contains("cannot be written"), "{problems}");
    assert_eq!(listed(&gateway).await.unwrap(), ["one"], "what is there is served");

    limit_files(&gateway, "unlimited").await;
    wait_until("readiness without any request that writes", Duration::from_secs(20), async || {
        (status().await["status"] == "ready").then_some(())
    })
    .await
    .unwrap();
    for round in 0..3 {
        register(&gateway, &get_tool(&format!("new{round}"), "http://127.0.0.1:1/")).await;
    }
    let off = gateway.delete("/admin/tools/one").await.unwrap();
    assert_eq!(off.status, 200, "{}", off.text());
    assert_eq!(listed(&gateway).await.unwrap(), ["new0", "new1", "new2"]);
}

/// The store is elsewhere and has what was switched off; what a start without it would need waits for room.
#[tokio::test]
async fn a_full_data_folder_is_told_and_what_was_switched_off_is_kept_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let script = told_of_limits(folder.path());
    let mut server = Server::start(DatabaseKind::Postgres).await.unwrap();
    let database = server.database().await.unwrap();
    let mut gateway = Gateway::builder(&script).args(["--store", database.url()]).start().await.unwrap();
    for name in ["off", "gone", "stays"] {
        register(&gateway, &get_tool(name, "http://127.0.0.1:1/")).await;
    }
    // Writes the definitions with all three.
    gateway.stop().await.unwrap();
    gateway.restart().await.unwrap();
    limit_files(&gateway, "0").await;
    let off = gateway.post_json("/admin/tools/off/disable", &json!({})).await.unwrap();
    assert_eq!(off.status, 200, "{}", off.text());
    let gone = gateway.delete("/admin/tools/gone?purge=true").await.unwrap();
    assert_eq!(gone.status, 200, "{}", gone.text());
    let told = gateway.get("/readyz").await.unwrap().json().unwrap();
    assert_eq!(
        (&told["status"], &told["lastGood"]["writable"]),
        (&json!("degraded"), &json!(false)),
        "{told}"
    );
    assert!(told["lastGood"]["reason"].is_string(), "{told}");
    let problems = gateway.get("/admin/problems").await.unwrap().text().clone();
    assert!(problems.contains("the data folder cannot be written"), "{problems}");

    limit_files(&gateway, "unlimited").await;
    wait_until("readiness without any request that writes", Duration::from_secs(20), async || {
        let told = gateway.get("/readyz").await.ok()?.json().ok()?;
        (told["status"] == "ready").then_some(())
    })
    .await
    .unwrap();
    gateway.kill().await.unwrap();
    server.kill().await.unwrap();
    gateway.restart().await.unwrap();
    assert_eq!(listed(&gateway).await.unwrap(), ["stays"]);
}
