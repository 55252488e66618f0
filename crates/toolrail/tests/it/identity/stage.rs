//! A gateway with everything that the oracle knows of, and somebody's key or token for each of its people.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolrail_testkit::{Gateway, Upstream, wait_until};

use super::oracle::{PEOPLE, STAFF, Somebody, Sort, THINGS, Thing, Verdict, configured, stored};
use super::tokens::Issuer;
use super::{ask, first_key, make_key};
use crate::support::{gateway, register_all, send, started};

/// One gateway with all things, and a key or token for each.
pub(super) struct Stage {
    pub(super) gateway: Gateway,
    pub(super) upstream: Upstream,
    pub(super) keys: Vec<(&'static Somebody, String)>,
    pub(super) folder: TempDir,
    /// The key of whoever administers.
    pub(super) admin: String,
    _inner: (Gateway, Upstream),
}

/// Anything's definition. Each tells its own name.
pub(super) fn definition(thing: &Thing, upstream: &Upstream) -> Value {
    let name = thing.name;
    let about = format!("Tells what {name} has to tell");
    match thing.sort {
        Sort::Prompt => json!({
            "name": name, "description": about, "type": "prompt",
            "prompt": {
                "arguments": [{"name": "city", "description": "Where", "complete": [format!("Oslo of {name}")]}],
                "messages": [{"role": "user", "text": format!("{name} has to tell this")}],
            },
        }),
        Sort::Resource => json!({
            "name": name, "description": about, "type": "resource",
            "resource": {"uri": format!("note://{name}"), "mimeType": "text/plain", "text": format!("{name} has to tell this")},
        }),
        Sort::Template => json!({
            "name": name, "description": about, "type": "resource",
            "resource": {
                "uriTemplate": format!("page://{name}/{{page}}"), "mimeType": "text/plain",
                "text": format!("{name} has to tell this on {{{{args.page}}}}"), "complete": {"page": [format!("Oslo of {name}")]},
            },
        }),
        Sort::Tool => {
            let danger = name == "store.wipe";
            json!({
                "name": name, "description": about, "type": "http",
                "tags": if danger { json!(["danger"]) } else { json!([]) },
                "annotations": {"destructiveHint": danger},
                "inputSchema": {"type": "object", "properties": {"amount": {"type": "integer", "description": "How much"}}},
                "http": {"url": upstream.url("/echo"), "query": {"amount": "{{args.amount}}"}, "timeoutMs": 20_000},
            })
        }
    }
}

pub(super) async fn stage() -> Stage {
    let (issuer, folder) = (Issuer::start().await.unwrap(), tempfile::tempdir().unwrap());
    let inner = started().await;
    let foreign = THINGS.iter().filter(|thing| thing.is_foreign());
    let foreign = foreign.map(|thing| Thing { name: thing.name.trim_start_matches("up_"), ..*thing });
    let foreign: Vec<Value> = foreign.map(|thing| definition(&thing, &inner.1)).collect();
    register_all(&inner.0, &foreign).await.unwrap();
    let config = folder.path().join("toolrail.yaml");
    let written = json!({
        "secure": true, "permissions": configured(), "groups": {"staff": {"patterns": STAFF}},
        "publicUrl": "https://tools.example.com",
        "issuers": [{"issuer": issuer.url, "claims": {"groups": "groups"}, "grants": [{"scopes": ["tools.call"], "role": "call"}]}],
    });
    std::fs::write(&config, written.to_string()).unwrap();
    let upstream = Upstream::start().await.unwrap();
    let gateway = gateway().arg("--config").arg(&config).discovery().start().await.unwrap();
    let admin = first_key(&gateway).await.unwrap();
    let bearer = format!("Bearer {admin}");
    let server = json!({"name": "up", "description": "Another gateway", "type": "mcp", "mcp": {"url": format!("{}/mcp", inner.0.url())}});
    let own = THINGS.iter().filter(|thing| !thing.is_foreign());
    let all = own.map(|thing| (thing.owner, definition(thing, &upstream))).chain([(None, server)]);
    for (owner, definition) in all {
        let mut headers = vec![("authorization", &*bearer), ("content-type", "application/json")];
        headers.extend(owner.map(|owner| ("toolrail-tenant", owner)));
        let made = send(&gateway, "POST /admin/tools", &headers, &definition).await.unwrap();
        assert_eq!(made.status, 200, "{}", made.text());
    }
    let ruled =
        ask(&gateway, Some(&admin), (Method::PUT, "/admin/permissions"), Some(&stored())).await.unwrap();
    assert_eq!(ruled.json().unwrap()["warnings"], json!([]), "{}", ruled.text());
    let mut keys = Vec::new();
    for somebody in PEOPLE {
        let Somebody { name, role, tenant, tools, group, by_token } = somebody;
        let groups: Vec<&str> = group.iter().copied().collect();
        if *by_token {
            let claims = json!({"sub": name, "scope": "tools.call", "groups": groups});
            keys.push((somebody, issuer.token(claims)));
            continue;
        }
        let mut body = json!({"name": name, "role": role, "tenant": tenant, "groups": groups});
        if !tools.is_empty() {
            body["tools"] = json!(tools);
        }
        keys.push((somebody, make_key(&gateway, &admin, &body).await.unwrap()));
    }
    wait_until("the tools of the server", Duration::from_secs(20), async || {
        let listed = ask(&gateway, Some(&admin), (Method::GET, "/mcp/tools"), None).await.ok()?;
        listed.text().contains("\"up_say\"").then_some(())
    })
    .await
    .unwrap();
    Stage { gateway, upstream, keys, folder, admin, _inner: inner }
}

/// What did not come out as the oracle says, one line each.
#[derive(Default)]
pub(super) struct Mismatches(Vec<String>);

impl Mismatches {
    pub(super) fn compare<T: std::fmt::Debug + PartialEq>(
        &mut self,
        place: &[&str],
        got: &T,
        expected: &T,
        answer: &str,
    ) {
        if got != expected {
            let place: Vec<String> = place.iter().map(|part| format!("{part:<24}")).collect();
            let answer: String = answer.chars().take(300).collect();
            self.0.push(format!("{} got {got:?}, expected {expected:?}: {answer}", place.join(" ")));
        }
    }

    #[track_caller]
    pub(super) fn report(self) {
        assert!(self.0.is_empty(), "{} mismatches:\n{}", self.0.len(), self.0.join("\n"));
    }
}

pub(super) fn rpc(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

pub(super) fn tool_call(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// The name of nothing.
pub(super) const UNKNOWN: &str = "no.such_thing";

/// What an answer comes to.
pub(super) fn verdict(answer: &Value) -> Verdict {
    let text = answer.to_string();
    if text.contains("needs the role") {
        Verdict::Role
    } else if text.contains("refuses this call") {
        Verdict::Refused
    } else if answer["error"].is_null() && answer["result"]["isError"] != true {
        Verdict::Done
    } else {
        Verdict::Hidden
    }
}
