//! Calls that wait for a person, where their client cannot be asked: who sees them, who decides, and what becomes of them.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, Reply, Upstream, wait_until};

use super::{ask, first_key, make_key};
use crate::support::{gateway, run_in};

const WITHIN: Duration = Duration::from_secs(20);

/// A tool that pays, with what its approval says.
fn pay(upstream: &Upstream, approval: Value) -> Value {
    json!({
        "name": "pay",
        "description": "Sends money",
        "inputSchema": {
            "type": "object",
            "properties": {
                "to": {"type": "string", "description": "Whom"},
                "password": {"type": "string", "description": "Of the account"}
            },
            "required": ["to"]
        },
        "http": {"url": upstream.url("/echo"), "query": {"to": "{{args.to}}", "pin": "{{args.password}}"}},
        "approval": approval
    })
}

/// A gateway that asks for keys, with the keys of its people.
struct Office {
    gateway: Gateway,
    upstream: Upstream,
    admin: String,
    agent: String,
    other: String,
    boss: String,
}

impl Office {
    async fn open(approval: Value) -> Self {
        let gateway = gateway().arg("--secure").start().await.unwrap();
        let admin = first_key(&gateway).await.unwrap();
        let upstream = Upstream::start().await.unwrap();
        let key = async |name: &str, role: &str| {
            make_key(&gateway, &admin, &json!({"name": name, "role": role})).await.unwrap()
        };
        let (agent, other, boss) =
            (key("agent", "call").await, key("other", "call").await, key("boss", "write").await);
        let definition = pay(&upstream, approval);
        let made =
            ask(&gateway, Some(&admin), (Method::POST, "/admin/tools"), Some(&definition)).await.unwrap();
        assert_eq!(made.status, 200, "{}", made.text());
        Self { gateway, upstream, admin, agent, other, boss }
    }

    async fn call(&self, key: &str, arguments: Value) -> Reply {
        call(&self.gateway, key, arguments).await
    }

    async fn list(&self, key: &str) -> Vec<Value> {
        let listed = ask(&self.gateway, Some(key), (Method::GET, "/admin/approvals"), None).await.unwrap();
        assert_eq!(listed.status, 200, "{}", listed.text());
        listed.json().unwrap()["approvals"].as_array().cloned().unwrap()
    }

    /// The id of the only call that waits, as soon as there is one.
    async fn waiting(&self) -> String {
        let only = async || match self.list(&self.boss).await.as_slice() {
            [one] => Some(one["id"].as_str().unwrap().to_owned()),
            _ => None,
        };
        wait_until("a call that waits", WITHIN, only).await.unwrap()
    }

    async fn decide(&self, key: &str, id: &str, decision: &str) -> Reply {
        decide(&self.gateway, key, id, decision).await
    }

    async fn audit(&self) -> String {
        ask(&self.gateway, Some(&self.admin), (Method::GET, "/admin/audit"), None).await.unwrap().text()
    }
}

async fn call(gateway: &Gateway, key: &str, arguments: Value) -> Reply {
    let body = json!({"tool": "pay", "arguments": arguments});
    ask(gateway, Some(key), (Method::POST, "/mcp/tools/call"), Some(&body)).await.unwrap()
}

async fn decide(gateway: &Gateway, key: &str, id: &str, decision: &str) -> Reply {
    let body = json!({"decision": decision, "reason": "because of tests"});
    let path = format!("/admin/approvals/{id}");
    ask(gateway, Some(key), (Method::POST, &path), Some(&body)).await.unwrap()
}

fn code(reply: &Reply) -> String {
    reply.json().unwrap()["error"]["code"].as_str().unwrap_or_default().to_owned()
}

/// The id that stands in the answer to a call that nobody decided yet.
fn pending(reply: &Reply) -> String {
    assert_eq!((reply.status, code(reply).as_str()), (409, "APPROVAL_PENDING"), "{}", reply.text());
    let text = reply.text();
    let id = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    id.into_iter().find(|word| word.starts_with("ap_")).unwrap().to_owned()
}

#[tokio::test]
async fn a_call_waits_until_somebody_else_has_approved_of_it_and_runs_once() {
    let office = Office::open(json!({"message": "Sends real money"})).await;
    let arguments = json!({"to": "anna", "password": "hunter2"});
    let decided = async {
        let id = office.waiting().await;
        assert_eq!(office.upstream.total(), 0, "nothing is sent before");
        let path = format!("/admin/approvals/{id}");
        let shown = ask(&office.gateway, Some(&office.boss), (Method::GET, &path), None).await.unwrap();
        let shown = shown.json().unwrap();
        assert_eq!(shown["askedBy"], "agent");
        assert_eq!((&shown["tool"], &shown["message"]), (&json!("pay"), &json!("Sends real money")));
        let request = shown["call"]["request"].to_string();
        assert!(request.contains("/echo?to=anna") && !shown.to_string().contains("hunter2"), "{shown:#}");
        assert_eq!(shown["call"]["arguments"], json!({"to": "anna", "password": "***"}));
        let own = office.decide(&office.agent, &id, "approve").await;
        assert_eq!((own.status, code(&own).as_str()), (403, "FORBIDDEN"), "{}", own.text());
        let stranger = office.decide(&office.other, &id, "approve").await;
        assert_eq!(stranger.status, 404, "{}", stranger.text());
        let good = office.decide(&office.boss, &id, "approve").await;
        assert_eq!(good.status, 200, "{}", good.text());
        assert_eq!(good.json().unwrap()["approval"]["decidedBy"], "boss");
    };
    let (reply, ()) = tokio::join!(office.call(&office.agent, arguments.clone()), decided);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(office.upstream.count("/echo"), 1);
    assert!(office.list(&office.boss).await.is_empty(), "it was used");

    let denied = async {
        let id = office.waiting().await;
        assert_eq!(office.decide(&office.boss, &id, "deny").await.status, 200);
        let twice = office.decide(&office.boss, &id, "approve").await;
        assert_eq!((twice.status, code(&twice).as_str()), (409, "CONFLICT"), "{}", twice.text());
    };
    let (reply, ()) = tokio::join!(office.call(&office.agent, arguments.clone()), denied);
    assert_eq!((reply.status, code(&reply).as_str()), (403, "APPROVAL_DENIED"), "{}", reply.text());
    assert!(reply.text().contains("by boss: because of tests"), "{}", reply.text());
    let again = office.call(&office.agent, arguments).await;
    assert_eq!(code(&again), "APPROVAL_DENIED", "nobody is asked the same again and again");
    assert_eq!(office.upstream.count("/echo"), 1);

    let record = office.audit().await;
    for entry in ["approval.approve", "approval.use", "approval.deny", "because of tests", "sha256:"] {
        assert!(record.contains(entry), "{entry}: {record}");
    }
    assert!(!record.contains("hunter2") && !office.gateway.stderr().contains("hunter2"));
}

#[tokio::test]
async fn a_client_that_does_not_wait_calls_again_with_the_same_arguments() {
    let office = Office::open(json!({"waitSecs": 0})).await;
    let anna = json!({"to": "anna"});
    let id = pending(&office.call(&office.agent, anna.clone()).await);
    assert_eq!(pending(&office.call(&office.agent, anna.clone()).await), id, "equal calls wait as one");
    let others = pending(&office.call(&office.other, anna.clone()).await);
    assert_ne!(others, id, "what one asks is not for another");
    assert_eq!(office.decide(&office.boss, &id, "approve").await.status, 200);
    assert_eq!(pending(&office.call(&office.other, anna.clone()).await), others);
    let swapped = pending(&office.call(&office.agent, json!({"to": "mallory"})).await);
    assert_ne!(swapped, id, "other arguments were not approved");
    assert_eq!(office.upstream.total(), 0);
    let made = office.call(&office.agent, anna.clone()).await;
    assert_eq!(made.status, 200, "{}", made.text());
    assert_ne!(pending(&office.call(&office.agent, anna).await), id, "it was good for one call");
    assert_eq!(office.upstream.count("/echo"), 1);
}

#[tokio::test]
async fn arguments_are_checked_before_anybody_is_asked() {
    let office = Office::open(json!("required")).await;
    let wrong = office.call(&office.agent, json!({"to": 5})).await;
    assert_eq!((wrong.status, code(&wrong).as_str()), (400, "INVALID_ARGUMENTS"), "{}", wrong.text());
    assert!(office.list(&office.boss).await.is_empty());
}

#[tokio::test]
async fn only_those_decide_who_are_named() {
    let office = Office::open(json!({"by": ["finance-*"], "waitSecs": 0})).await;
    let new = json!({"name": "carl", "role": "call", "groups": ["finance-eu"]});
    let carl = make_key(&office.gateway, &office.admin, &new).await.unwrap();
    let id = pending(&office.call(&office.agent, json!({"to": "anna"})).await);
    for stranger in [&office.admin, &office.boss, &office.other] {
        assert!(office.list(stranger).await.is_empty());
        assert_eq!(office.decide(stranger, &id, "approve").await.status, 404);
    }
    assert_eq!(office.list(&carl).await.len(), 1);
    assert_eq!(office.decide(&carl, &id, "approve").await.status, 200);
    assert_eq!(office.call(&office.agent, json!({"to": "anna"})).await.status, 200);
}

#[tokio::test]
async fn another_tenant_neither_sees_nor_decides() {
    let office = Office::open(json!({"waitSecs": 0})).await;
    let key = async |name: &str, role: &str, tenant: &str| {
        let new = json!({"name": name, "role": role, "tenant": tenant});
        make_key(&office.gateway, &office.admin, &new).await.unwrap()
    };
    let (agent, acme, globex) =
        (key("a", "call", "acme").await, key("b", "admin", "acme").await, key("c", "admin", "globex").await);
    let id = pending(&office.call(&agent, json!({"to": "anna"})).await);
    assert!(office.list(&globex).await.is_empty());
    assert_eq!(office.decide(&globex, &id, "approve").await.status, 404);
    assert_eq!(office.list(&acme).await[0]["tenant"], "acme");
    assert_eq!(office.decide(&acme, &id, "approve").await.status, 200);
    assert_eq!(pending(&office.call(&office.agent, json!({"to": "anna"})).await).len(), id.len());
    assert_eq!(office.call(&agent, json!({"to": "anna"})).await.status, 200);
}

#[tokio::test]
async fn what_nobody_decides_in_time_is_over_and_told() {
    let office = Office::open(json!({"timeoutSecs": 1})).await;
    let late = office.call(&office.agent, json!({"to": "anna"})).await;
    assert_eq!((late.status, code(&late).as_str()), (504, "TIMEOUT"), "{}", late.text());
    assert!(late.text().contains("nobody decided within 1 s"), "{}", late.text());
    assert!(office.list(&office.boss).await.is_empty());
    assert!(office.audit().await.contains("approval.expire"));
    assert_eq!(office.upstream.total(), 0);
}

#[tokio::test]
async fn the_time_of_a_person_is_none_of_the_tool() {
    let office = Office::open(json!("required")).await;
    let mut definition = pay(&office.upstream, json!("required"));
    definition["policy"] = json!({"timeoutMs": 400});
    let put = (Method::POST, "/admin/tools");
    ask(&office.gateway, Some(&office.admin), put, Some(&definition)).await.unwrap();
    let decided = async {
        let id = office.waiting().await;
        // Longer than the tool may take; however much longer, it makes no difference.
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert_eq!(office.decide(&office.boss, &id, "approve").await.status, 200);
    };
    let (reply, ()) = tokio::join!(office.call(&office.agent, json!({"to": "anna"})), decided);
    assert_eq!(reply.status, 200, "{}", reply.text());
}

#[tokio::test]
async fn what_was_shown_is_what_is_approved() {
    let office = Office::open(json!({"waitSecs": 0})).await;
    let id = pending(&office.call(&office.agent, json!({"to": "anna"})).await);
    let mut changed = pay(&office.upstream, json!({"waitSecs": 0}));
    changed["http"]["query"]["to"] = json!("mallory");
    let put = (Method::POST, "/admin/tools");
    ask(&office.gateway, Some(&office.admin), put, Some(&changed)).await.unwrap();
    let stale = office.decide(&office.boss, &id, "approve").await;
    assert_eq!((stale.status, code(&stale).as_str()), (409, "CONFLICT"), "{}", stale.text());
    assert_ne!(pending(&office.call(&office.agent, json!({"to": "anna"})).await), id);
}

#[tokio::test]
async fn a_flood_of_calls_is_bounded() {
    let office = Office::open(json!({"waitSecs": 0})).await;
    for number in 0..50 {
        pending(&office.call(&office.agent, json!({"to": number.to_string()})).await);
    }
    let more = office.call(&office.agent, json!({"to": "one more"})).await;
    assert_eq!((more.status, code(&more).as_str()), (503, "OVERLOADED"), "{}", more.text());
    pending(&office.call(&office.other, json!({"to": "anna"})).await);
    let id = pending(&office.call(&office.agent, json!({"to": "7"})).await);
    assert_eq!(office.decide(&office.boss, &id, "approve").await.status, 200);
    assert_eq!(office.call(&office.agent, json!({"to": "7"})).await.status, 200);
    pending(&office.call(&office.agent, json!({"to": "one more"})).await);
}

#[tokio::test]
async fn a_call_is_approved_at_another_replica_and_after_a_restart() {
    let mut office = Office::open(json!({"timeoutSecs": 3_600})).await;
    let second = gateway().arg("--secure").data(office.gateway.data()).start().await.unwrap();
    let decided = async {
        let id = office.waiting().await;
        let good = async || {
            let decided = decide(&second, &office.boss, &id, "approve").await;
            (decided.status == 200).then_some(())
        };
        wait_until("the other replica to decide", WITHIN, good).await.unwrap();
    };
    let (reply, ()) = tokio::join!(office.call(&office.agent, json!({"to": "anna"})), decided);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(office.upstream.count("/echo"), 1);

    // Whoever called goes away, and so does the gateway.
    let id = tokio::select! {
        reply = office.call(&office.agent, json!({"to": "carl"})) => unreachable!("{}", reply.text()),
        id = office.waiting() => id,
    };
    drop(second);
    office.gateway.restart().await.unwrap();
    assert_eq!(office.decide(&office.boss, &id, "approve").await.status, 200);
    office.gateway.restart().await.unwrap();
    let made = office.call(&office.agent, json!({"to": "carl"})).await;
    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(office.upstream.count("/echo"), 2);
}

#[tokio::test]
async fn the_command_line_lists_shows_and_decides() {
    let office = Office::open(json!({"waitSecs": 0})).await;
    let data = office.gateway.data().to_str().unwrap();
    let run = async |arguments: &[&str]| {
        let arguments = [&["approvals"], arguments, &["--data", data]].concat();
        run_in(&std::env::temp_dir(), &arguments).await.unwrap()
    };
    assert!(run(&["list"]).await.stderr.contains("no call waits"));
    let id = pending(&office.call(&office.agent, json!({"to": "anna"})).await);
    let listed = run(&["list"]).await.stdout;
    assert!(listed.contains(&id) && listed.contains("agent") && listed.contains("pending"), "{listed}");
    let shown = run(&["show", &id]).await.stdout;
    assert!(shown.contains("asked by: agent") && shown.contains("/echo?to=anna"), "{shown}");
    let denied = run(&["deny", &id, "--reason", "not today"]).await;
    assert!(denied.code == Some(0) && denied.stdout.contains("denied"), "{}{}", denied.stdout, denied.stderr);
    assert!(
        office.call(&office.agent, json!({"to": "anna"})).await.text().contains("by operator: not today")
    );
    let id = pending(&office.call(&office.agent, json!({"to": "carl"})).await);
    let approved = run(&["approve", &id]).await;
    assert!(approved.code == Some(0), "{}", approved.stderr);
    assert_eq!(office.call(&office.agent, json!({"to": "carl"})).await.status, 200);
    assert_ne!(run(&["approve", "ap_none"]).await.code, Some(0));
}
