//! Servers that mean harm: what they may cost is bounded.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolrail_core::{CallError, Mute};

use super::client::Server;
use super::rogue::{Rogue, Said, stream};
use super::script::Eras;

/// Calls the tool of a server that answers calls with `said`.
async fn call(settings: &Value, said: impl Fn(&Value) -> Vec<Said> + Send + Sync + 'static) -> CallError {
    let rogue = Rogue::start(Eras::Modern, move |message| {
        (message["method"] == "tools/call").then(|| said(message))
    })
    .await;
    let mut settings = settings.clone();
    settings["url"] = rogue.url().into();
    let server = Server::start(&settings);
    server.ready().await;
    server.call("up_t", "{}", &Mute).await.unwrap_err()
}

#[tokio::test]
async fn lines_without_end_and_without_a_message_are_refused() {
    for line in [": hi\n", "\n", "data:\n\n", "data: x\n\n", "id: 7\n"] {
        let flood = move |_: &Value| vec![stream(), Said::Again(line.repeat(10_000), Duration::ZERO)];
        let began = Instant::now();
        let refused = call(&json!({"timeoutMs": 15_000}), flood).await;
        assert_eq!(refused.code.word(), "UPSTREAM_INVALID", "{line:?}: {refused}");
        assert!(refused.message.contains("no message"), "{line:?}: {refused}");
        assert!(began.elapsed() < Duration::from_secs(10), "{line:?}");
    }
}
