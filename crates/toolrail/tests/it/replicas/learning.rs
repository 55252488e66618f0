//! What one replica counts and learns, the others know (R75): real gateways on one database of every kind with a server.

use std::time::Duration;

use serde_json::{Value, json};
use toolrail_testkit::{Database, DatabaseKind, Gateway, Upstream, wait_until};

use crate::support::{gateway, plain, register};

const SOON: Duration = Duration::from_secs(10);

struct Pair {
    replicas: [Gateway; 2],
    _upstream: Upstream,
    _database: Database,
}

async fn pair(kind: DatabaseKind) -> Pair {
    let database = Database::fresh(kind).await.unwrap();
    let upstream = Upstream::start().await.unwrap();
    let start = || gateway().store(database.url()).args(["--poll-ms", "250"]).discovery().start();
    let replicas = [start().await.unwrap(), start().await.unwrap()];
    for (name, description) in [("rain.alpha", "Tells of rain"), ("rain.beta", "Tells of rain")] {
        let mut tool = plain(name, &upstream.url("/text"));
        tool["description"] = json!(description);
        register(&replicas[0], &tool).await;
    }
    Pair { replicas, _upstream: upstream, _database: database }
}

/// Calls a tool over MCP.
async fn call(replica: &Gateway, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer = replica.post_json("/mcp", &body).await.unwrap().json().unwrap();
    assert!(answer["result"]["isError"] != true && answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

async fn shows(replica: &Gateway, path: &str, is_so: impl Fn(&Value) -> bool) {
    let mut last = Value::Null;
    let shown = wait_until(path, SOON, async || {
        last = replica.get(path).await.ok()?.json().ok()?;
        is_so(&last).then_some(())
    });
    let told = shown.await;
    assert!(told.is_ok(), "{told:?}: {last}");
}

async fn calls_on_one_replica_are_seen_on_the_other(kind: DatabaseKind) {
    let Pair { replicas: [one, other], .. } = &pair(kind).await;
    shows(other, "/admin/tools/rain.alpha", |shown| shown["state"] == "live").await;
    for _ in 0..4 {
        call(one, "rain.alpha", json!({})).await;
    }
    let counted = one.get("/admin/tools/rain.alpha").await.unwrap().json().unwrap();
    assert_eq!(counted["useFrequency"], 4, "at once where they were made: {counted}");
    call(other, "call_tool", json!({"name": "rain.alpha", "arguments": {}})).await;
    for replica in [one, other] {
        shows(replica, "/admin/tools/rain.alpha", |shown| shown["useFrequency"] == 5).await;
        let stats = |stats: &Value| stats["most_used"][0]["use_count"] == 5;
        shows(replica, "/admin/stats", stats).await;
    }
}

async fn what_one_replica_learns_the_other_knows_and_forgets(kind: DatabaseKind) {
    let Pair { replicas: [one, other], .. } = &pair(kind).await;
    let found = call(one, "search_tools", json!({"query": "will it rain"})).await;
    assert!(found.to_string().contains("rain.beta"), "{found}");
    call(one, "rain.beta", json!({})).await;
    let learnt = json!([{"tool": "rain.beta", "queries": [{"query": "will it rain", "times": 1}]}]);
    for replica in [one, other] {
        shows(replica, "/admin/learnt", |shown| shown["tools"] == learnt).await;
    }
    let forgotten = other.delete("/admin/learnt?tool=Rain.Beta").await.unwrap().json().unwrap();
    assert_eq!(forgotten, json!({"ok": true, "tools": 1}));
    for replica in [other, one] {
        shows(replica, "/admin/learnt", |shown| shown["tools"] == json!([])).await;
    }
}

#[tokio::test]
async fn r75_calls_on_one_replica_are_seen_on_the_other() {
    for kind in [DatabaseKind::Postgres, DatabaseKind::Mysql] {
        calls_on_one_replica_are_seen_on_the_other(kind).await;
    }
}

#[tokio::test]
async fn what_one_replica_learns_every_replica_knows() {
    for kind in [DatabaseKind::Postgres, DatabaseKind::Sqlite] {
        what_one_replica_learns_the_other_knows_and_forgets(kind).await;
    }
}

#[tokio::test]
async fn what_was_learnt_is_told_and_forgotten_for_those_who_may() {
    let gateway = gateway().discovery().start().await.unwrap();
    let refused = gateway.delete("/admin/learnt?tool=x&allTenants=true").await.unwrap();
    assert_eq!(refused.status, 400, "{}", refused.text());
    let all = gateway.delete("/admin/learnt?allTenants=true").await.unwrap().json().unwrap();
    assert_eq!(all, json!({"ok": true, "tools": 0, "message": "nothing learnt was in the store"}));
    let nobody = gateway.delete("/admin/learnt?tool=nope").await.unwrap().json().unwrap();
    assert_eq!(nobody["message"], "nothing learnt about \"nope\" was in the store");
    let shown = gateway.get("/admin/learnt").await.unwrap().json().unwrap();
    assert_eq!(shown, json!({"learning": true, "tools": []}));
}
