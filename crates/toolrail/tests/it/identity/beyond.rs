//! What is neither a list nor a plain call, against the same oracle: tasks, notifications, and certificates in the place of keys.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use toolrail_testkit::{Authority, Gateway, RawConnection, TlsClient, Upstream, wait_until};

use super::oracle::{PEOPLE, Somebody, Sort, THINGS, Thing, Verdict, configured, named_in, stored};
use super::stage::{Mismatches, UNKNOWN, definition, rpc, stage, tool_call, verdict};
use super::{ask, first_key, make_key};
use crate::support::{gateway, installed, send};

const META: &str = "io.modelcontextprotocol";
const WITHIN: Duration = Duration::from_secs(30);

fn meta() -> Value {
    json!({
        format!("{META}/protocolVersion"): "2026-07-28",
        format!("{META}/clientInfo"): {"name": "t", "version": "1"},
        format!("{META}/clientCapabilities"): {"elicitation": {}, "extensions": {format!("{META}/tasks"): {}}},
    })
}

/// A request of 2026-07-28 by whoever shows that key.
async fn modern(gateway: &Gateway, key: &str, (method, name): (&str, &str), mut params: Value) -> Value {
    params["_meta"] = meta();
    let request = Request::post("/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .header("mcp-name", name)
        .header("authorization", format!("Bearer {key}"))
        .body(Full::new(Bytes::from(rpc(method, &params).to_string())))
        .unwrap();
    gateway.request(request).await.unwrap().json().unwrap()
}

/// A server whose calls become tasks.
fn task_server(folder: &std::path::Path) -> Value {
    let task = json!({
        "resultType": "task", "taskId": "task-1", "status": "working", "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": 60_000,
    });
    let mut status = task.clone();
    status["resultType"] = json!("complete");
    let results = json!({
        "server/discover": json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}).to_string(),
        "tools/list": json!({"resultType": "complete", "tools": [{"name": "say", "inputSchema": {"type": "object"}}]}).to_string(),
        "tools/call": task.to_string(),
        "tasks/get": status.to_string(),
        "tasks/update": r#"{"resultType":"complete"}"#,
        "tasks/cancel": r#"{"resultType":"complete"}"#,
    });
    let file = folder.join("results.json");
    std::fs::write(&file, results.to_string()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/python/raw_server.py");
    let command = installed("TOOLRAIL_TEST_PYTHON");
    json!({"name": "up", "description": "A server", "type": "mcp", "mcp": {"command": command, "args": [script, file]}})
}

#[tokio::test]
async fn a_task_is_made_by_whoever_may_call_and_is_his_alone() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("toolrail.yaml");
    std::fs::write(&config, json!({"secure": true, "permissions": configured()}).to_string()).unwrap();
    let gateway = gateway().arg("--allow-commands").arg("--config").arg(&config).start().await.unwrap();
    let admin = first_key(&gateway).await.unwrap();
    let server = task_server(folder.path());
    let made = ask(&gateway, Some(&admin), (Method::POST, "/admin/tools"), Some(&server)).await.unwrap();
    assert_eq!(made.status, 200, "{}", made.text());
    wait_until("the tool of the server", WITHIN, async || {
        let listed = ask(&gateway, Some(&admin), (Method::GET, "/mcp/tools"), None).await.ok()?;
        listed.text().contains("\"up_say\"").then_some(())
    })
    .await
    .unwrap();
    let thing = THINGS.iter().find(|thing| thing.name == "up_say").unwrap();
    let (mut people, mut tasks, mut mismatches) = (Vec::new(), Vec::new(), Mismatches::default());
    for somebody in PEOPLE.iter().filter(|somebody| !somebody.by_token && somebody.tools.is_empty()) {
        let Somebody { name, role, tenant, group, .. } = somebody;
        let groups: Vec<&str> = group.iter().copied().collect();
        let body = json!({"name": name, "role": role, "tenant": tenant, "groups": groups});
        people.push((somebody, make_key(&gateway, &admin, &body).await.unwrap()));
    }
    for (somebody, key) in &people {
        let answer = modern(&gateway, key, ("tools/call", "up_say"), tool_call("up_say", &json!({}))).await;
        let text = answer.to_string();
        mismatches.compare(&[somebody.name, "task"], &verdict(&answer), &somebody.may(thing, 0), &text);
        if let Some(id) = answer["result"]["taskId"].as_str() {
            tasks.push((somebody.name, id.to_owned()));
        } else if somebody.may(thing, 0) == Verdict::Hidden {
            let call = tool_call(UNKNOWN, &json!({}));
            let unknown = modern(&gateway, key, ("tools/call", UNKNOWN), call).await.to_string();
            let same = text.replace("up_say", UNKNOWN);
            mismatches.compare(&[somebody.name, "as if unknown"], &same, &unknown, &text);
        }
    }
    assert!(tasks.len() >= 4, "{tasks:?}");
    for (owner, id) in &tasks {
        for (somebody, key) in &people {
            for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
                let params = json!({"taskId": id, "inputResponses": {}});
                let answer = modern(&gateway, key, (method, id), params).await;
                let is_known = answer["error"].is_null();
                let place = [somebody.name, method, "of a task of", owner];
                mismatches.compare(&place, &is_known, &(somebody.name == *owner), &answer.to_string());
            }
        }
    }
    mismatches.report();
}

/// Opens a stream of changes and waits until it is there.
async fn listen(gateway: &Gateway, key: &str) -> RawConnection {
    let notifications =
        json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
    let request = rpc("subscriptions/listen", &json!({"_meta": meta(), "notifications": notifications}));
    let bearer = format!("Bearer {key}");
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "subscriptions/listen"),
        ("authorization", &*bearer),
    ];
    let mut connection = RawConnection::open(gateway.url()).await.unwrap();
    connection.post("/mcp", &headers, request.to_string().as_bytes()).await.unwrap();
    connection.until(b"notifications/subscriptions/acknowledged").await.unwrap();
    connection.until(b"\n\n").await.unwrap();
    connection
}

/// Those who see it are waited for; the others are asked what they heard only then, when their keys have been revoked, which ends
/// their streams.
#[tokio::test]
async fn a_change_is_told_to_those_who_see_what_changed_and_to_nobody_else() {
    let stage = stage().await;
    let (gateway, admin) = (&stage.gateway, &stage.admin);
    let mut mismatches = Mismatches::default();
    for (name, told) in [
        ("hr.fire", "notifications/tools/list_changed"),
        ("acme.stock", "notifications/tools/list_changed"),
        ("hr.ask", "notifications/prompts/list_changed"),
        ("hr.page", "notifications/resources/list_changed"),
    ] {
        let thing = THINGS.iter().find(|thing| thing.name == name).unwrap();
        let (mut seeing, mut others) = (JoinSet::new(), Vec::new());
        for somebody in PEOPLE.iter().filter(|somebody| !somebody.by_token) {
            let Somebody { role, tenant, tools, group, .. } = somebody;
            let groups: Vec<&str> = group.iter().copied().collect();
            let key = format!("{}-hears-{}", somebody.name, name.replace('.', "-"));
            let mut body = json!({"name": key, "role": role, "tenant": tenant, "groups": groups});
            if !tools.is_empty() {
                body["tools"] = json!(tools);
            }
            let text = make_key(gateway, admin, &body).await.unwrap();
            let mut stream = listen(gateway, &text).await;
            if somebody.sees(thing) {
                let who = somebody.name;
                seeing.spawn(async move { (who, stream.until(told.as_bytes()).await.is_ok(), stream) });
            } else {
                others.push((somebody, key, stream));
            }
        }
        change(gateway, admin, (thing, &stage.upstream)).await;
        let heard = tokio::time::timeout(WITHIN, seeing.join_all()).await.unwrap();
        for (who, was_told, _) in &heard {
            mismatches.compare(&[who, "hears of", name], was_told, &true, "");
        }
        for (somebody, key, mut stream) in others {
            let bearer = format!("Bearer {admin}");
            let mut headers = vec![("authorization", &*bearer)];
            headers.extend(somebody.tenant.map(|tenant| ("toolrail-tenant", tenant)));
            let revoke = format!("DELETE /admin/keys/{key}");
            let revoked = send(gateway, &revoke, &headers, &Value::Null).await.unwrap();
            assert_eq!(revoked.status, 200, "{}", revoked.text());
            let rest = tokio::time::timeout(WITHIN, stream.until(b"\r\n0\r\n\r\n")).await.unwrap().unwrap();
            let rest = String::from_utf8_lossy(&rest);
            mismatches.compare(&[somebody.name, "hears of", name], &rest.contains(told), &false, &rest);
        }
    }
    mismatches.report();
}

async fn change(gateway: &Gateway, admin: &str, (thing, upstream): (&Thing, &Upstream)) {
    let mut changed = definition(thing, upstream);
    changed["description"] = json!("Tells what it has to tell, and more than before");
    let bearer = format!("Bearer {admin}");
    let mut headers = vec![("authorization", &*bearer), ("content-type", "application/json")];
    headers.extend(thing.owner.map(|owner| ("toolrail-tenant", owner)));
    let made = send(gateway, "POST /admin/tools", &headers, &changed).await.unwrap();
    assert_eq!(made.status, 200, "{}", made.text());
}

/// A gateway at which certificates stand for those of the oracle whom rules for certificates can describe.
struct CertifiedStage {
    gateway: Gateway,
    authority: Authority,
    upstream: Upstream,
    _folder: tempfile::TempDir,
}

fn certified() -> impl Iterator<Item = &'static Somebody> {
    PEOPLE.iter().filter(|somebody| !somebody.by_token && somebody.group.is_none())
}

impl CertifiedStage {
    async fn set() -> Self {
        let (authority, folder) = (Authority::new().unwrap(), tempfile::tempdir().unwrap());
        authority.for_server("127.0.0.1").unwrap().write(folder.path(), "server").unwrap();
        std::fs::write(folder.path().join("clients.pem"), authority.pem()).unwrap();
        let rules: Vec<Value> = certified()
            .map(|Somebody { name, role, tenant, tools, .. }| {
                let mut rule = json!({"subject": format!("CN={name},O=Test"), "role": role});
                if let Some(tenant) = tenant {
                    rule["tenant"] = json!(tenant);
                }
                if !tools.is_empty() {
                    rule["tools"] = json!(tools);
                }
                rule
            })
            .collect();
        let config = folder.path().join("toolrail.json");
        let written = json!({
            "secure": true, "permissions": configured(),
            "tls": {"cert": "server.pem", "key": "server.key", "clientCa": "clients.pem", "clientCert": "optional", "clients": rules},
        });
        std::fs::write(&config, written.to_string()).unwrap();
        let gateway = gateway().arg("--config").arg(&config).discovery().start().await.unwrap();
        let upstream = Upstream::start().await.unwrap();
        let stage = Self { gateway, authority, _folder: folder, upstream };
        let boss = stage.client("boss");
        for thing in THINGS.iter().filter(|thing| !thing.is_foreign()) {
            let body = definition(thing, &stage.upstream);
            let made = stage.send(&boss, ("POST", "/admin/tools"), thing.owner, &body).await;
            assert_eq!(made.0, 200, "{}", made.1);
        }
        let ruled = stage.send(&boss, ("PUT", "/admin/permissions"), None, &stored()).await;
        assert_eq!(ruled.0, 200, "{}", ruled.1);
        stage
    }

    fn client(&self, name: &str) -> TlsClient {
        let shown = self.authority.for_client(&format!("CN={name},O=Test"), None).unwrap();
        TlsClient::trusting(&self.authority).unwrap().showing(&shown)
    }

    async fn send(
        &self,
        client: &TlsClient,
        (method, path): (&str, &str),
        tenant: Option<&str>,
        body: &Value,
    ) -> (u16, String) {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.gateway.url()))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(tenant) = tenant {
            request = request.header("toolrail-tenant", tenant);
        }
        let request = request.body(Full::new(Bytes::from(body.to_string()))).unwrap();
        let reply = client.send(request).await.unwrap().0;
        (reply.status, reply.text())
    }
}

#[tokio::test]
async fn whoever_shows_a_certificate_sees_and_does_what_the_oracle_says() {
    let stage = CertifiedStage::set().await;
    let mut mismatches = Mismatches::default();
    for (number, somebody) in certified().enumerate() {
        let client = stage.client(somebody.name);
        // One after the other over either version of HTTP.
        let client = if number % 2 == 0 { client } else { client.http2() };
        let asked = async |method: &str, params: &Value| {
            let (_, text) = stage.send(&client, ("POST", "/mcp"), None, &rpc(method, params)).await;
            serde_json::from_str::<Value>(&text).unwrap_or_default()
        };
        for (sort, method) in [
            (Sort::Tool, "tools/list"),
            (Sort::Prompt, "prompts/list"),
            (Sort::Resource, "resources/list"),
            (Sort::Template, "resources/templates/list"),
        ] {
            let here = |thing: &Thing| thing.sort == sort && !thing.is_foreign();
            let listed = asked(method, &json!({})).await.to_string();
            let seen: Vec<_> = THINGS.iter().filter(|thing| here(thing) && somebody.sees(thing)).collect();
            let seen: Vec<_> = seen.into_iter().map(|thing| thing.name).collect();
            mismatches.compare(&[somebody.name, method], &named_in(&listed, here), &seen, &listed);
        }
        for thing in THINGS.iter().filter(|thing| thing.is_tool() && !thing.is_foreign()) {
            for amount in [20, 500] {
                let answer = asked("tools/call", &tool_call(thing.name, &json!({"amount": amount}))).await;
                let (got, expected) = (verdict(&answer), somebody.may(thing, amount));
                let place = [somebody.name, thing.name, &amount.to_string()];
                mismatches.compare(&place, &got, &expected, &answer.to_string());
            }
        }
        let keys = stage.send(&client, ("GET", "/admin/keys"), None, &Value::Null).await;
        let expected = if somebody.role == "admin" { 200 } else { 403 };
        mismatches.compare(&[somebody.name, "/admin/keys"], &keys.0, &expected, &keys.1);
    }
    // A certificate of the same authority that no rule is about stands for nobody.
    let refused =
        stage.send(&stage.client("stranger"), ("POST", "/mcp"), None, &rpc("tools/list", &json!({}))).await;
    mismatches.compare(&["stranger"], &refused.0, &401, &refused.1);
    mismatches.report();
}
