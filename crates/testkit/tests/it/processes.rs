//! Processes under test: shell scripts stand in for the binary, which this crate cannot depend on.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use toolrail_testkit::{Canned, Gateway, Stdio, Upstream};

/// A script beside this file: written at run time, it could still be open in a process another test is starting.
fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/scripts").join(name)
}

#[tokio::test]
async fn a_gateway_is_started_asked_stopped_killed_and_restarted() {
    let upstream = Upstream::start().await.unwrap();
    upstream.answer("/mcp", Canned::json(200, &json!({ "result": {} })));
    let builder =
        Gateway::builder(script("serve")).args(["--tools", "here"]).env("ANSWERS", upstream.url(""));
    let mut gateway = builder.start().await.unwrap();
    assert_eq!(gateway.url(), upstream.url(""));
    assert_eq!(gateway.get("/text").await.unwrap().status, 200);
    assert_eq!(gateway.post_json("/echo", &json!(1)).await.unwrap().json().unwrap()["body"], "1");
    assert_eq!(gateway.delete("/echo").await.unwrap().json().unwrap()["method"], "DELETE");
    assert!(gateway.mcp("tools/list", json!({})).await.unwrap().json().unwrap()["result"].is_object());
    gateway.said("arguments: --tools here").await.unwrap();

    let first = gateway.pid().unwrap();
    assert_eq!(gateway.stop().await.unwrap().signal(), Some(15));
    gateway.restart().await.unwrap();
    let second = gateway.pid().unwrap();
    gateway.kill().await.unwrap();
    gateway.restart().await.unwrap();
    let third = gateway.pid().unwrap();
    gateway.restart().await.unwrap();
    assert!(first != second && second != third && Some(third) != gateway.pid());
}

#[tokio::test]
async fn a_gateway_that_does_not_start_is_reported_with_what_it_said() {
    let error = format!("{:#}", Gateway::builder(script("fail")).start().await.unwrap_err());
    assert!(error.contains("exit status: 7") && error.contains("stderr: port is taken"), "{error}");
}

#[tokio::test]
async fn messages_travel_over_standard_streams() {
    let mut process = Stdio::spawn(script("stdio"), ["hello"]).unwrap();
    let answer = process.call("ping", json!({})).await.unwrap();
    assert_eq!(answer["result"]["said"], "hello");
    assert_eq!(process.receive().await.unwrap()["method"], "notifications/progress");
    assert!(process.finish().await.unwrap().success());
}

#[tokio::test]
async fn anything_but_messages_on_stdout_is_an_error() {
    let mut process = Stdio::spawn(script("chatty"), [""; 0]).unwrap();
    let error = process.receive().await.unwrap_err().to_string();
    assert_eq!(error, "not a message on stdout: \"welcome\"");
}
