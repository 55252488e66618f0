//! Each caller has sessions of his own with a server, and only his own token goes there.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use super::recorder::{Recorder, Seen, Speaks};
use super::{Stage, Talk, WITHIN};

fn sessions(seen: &[Seen]) -> BTreeSet<Option<String>> {
    seen.iter().map(|seen| seen.session.clone()).collect()
}

#[tokio::test]
async fn each_caller_has_sessions_of_his_own_and_lists_have_a_credential_of_theirs() {
    let stage = Stage::open().await;
    let (ann, bob) = (stage.token("ann"), stage.token("bob"));
    for (speaks, shared) in
        [(Speaks::Legacy, false), (Speaks::Legacy, true), (Speaks::Modern, false), (Speaks::Modern, true)]
    {
        let server = Recorder::start(speaks).await;
        server.list_for("list-s3cr3t");
        let list_auth = json!({"type": "bearer", "token": "{{secrets.LISTS}}"});
        let more = json!({"listAuth": list_auth, "shared": shared});
        let name = format!("{speaks:?}-{shared}");
        stage.bring_in(&name, &server, (json!({"type": "caller_token"}), more)).await;
        let tool = format!("{name}_whoami");
        for token in [&ann, &bob, &ann, &bob] {
            let called = stage.call(token, &tool).await;
            assert_eq!(called.status, 200, "{}", called.text());
        }
        let calls = server.seen("tools/call");
        let expected = [&ann, &bob, &ann, &bob].map(|token| format!("Bearer {token}"));
        assert_eq!(calls.iter().map(|seen| seen.authorization.clone()).collect::<Vec<_>>(), expected);
        if speaks == Speaks::Legacy {
            assert_eq!(sessions(&calls).len(), 2, "one for each: {calls:?}");
            let listed = sessions(&server.seen("tools/list"));
            assert!(listed.is_disjoint(&sessions(&calls)), "and none of them is the one for the lists");
        }
        for seen in server.seen("tools/list") {
            assert_eq!(seen.authorization, "Bearer list-s3cr3t");
        }
        let key = stage.call(&stage.admin, &tool).await;
        assert!(key.status == 403 && key.text().contains("came without a token"), "{}", key.text());
        assert_eq!(server.seen("tools/call").len(), 4, "a key is never passed on");
        assert_eq!(server.faults(), Vec::<String>::new());
    }
    let log = stage.gateway.stderr();
    assert!(!log.contains(&ann) && !log.contains(&bob), "no token is in the log");
}

#[tokio::test]
async fn prompts_resources_and_tasks_are_asked_for_in_the_name_of_whoever_asks() {
    let stage = Stage::open().await;
    let server = Recorder::start(Speaks::Legacy).await;
    stage.bring_in("up", &server, (json!({"type": "caller_token"}), json!({}))).await;
    let mut ids = Vec::new();
    for who in ["ann", "bob"] {
        let mut talk = Talk::open(&stage.gateway, &stage.token(who), json!({})).await;
        let prompt = talk.ask("prompts/get", json!({"name": "up_mine"})).await;
        let read = talk.ask("resources/read", json!({"uri": "mine://all"})).await;
        talk.ask("resources/subscribe", json!({"uri": "mine://all"})).await;
        for answer in [prompt.to_string(), read.to_string()] {
            assert!(answer.contains(&format!(r#"\"who\":\"{who}\""#)), "{answer}");
        }
        let begun = talk.ask("tools/call", json!({"name": "up_whoami", "arguments": {}, "task": {}})).await;
        let id = begun["task"]["taskId"].as_str().unwrap_or_default().to_owned();
        let found = talk.ask("tasks/get", json!({"taskId": id})).await;
        assert_eq!(found["status"], "working", "{begun} {found}");
        ids.push((talk, id));
    }
    let (theirs, (talk, _)) = (ids[0].1.clone(), &mut ids[1]);
    let foreign = talk.ask("tasks/get", json!({"taskId": theirs})).await;
    assert!(foreign["status"].is_null(), "{foreign}");
    for method in ["prompts/get", "resources/read", "resources/subscribe", "tools/call", "tasks/get"] {
        let seen = server.seen(method);
        assert_eq!(seen.len(), 2, "{method}");
        assert!(seen[0].session != seen[1].session && seen.iter().all(|seen| seen.session.is_some()));
    }
    assert_eq!(server.faults(), Vec::<String>::new());
}

#[tokio::test]
async fn a_session_ends_when_its_token_is_good_no_more() {
    let stage = Stage::open().await;
    let server = Recorder::start(Speaks::Legacy).await;
    stage.bring_in("up", &server, (json!({"type": "caller_token"}), json!({}))).await;
    let old = stage.token("ann");
    assert_eq!(stage.call(&old, "up_whoami").await.status, 200);
    server.refuse(&old);
    let refused = stage.call(&old, "up_whoami").await;
    assert!(
        refused.status == 502 && refused.text().contains("401 Unauthorized to the token"),
        "{}",
        refused.text()
    );
    // Another token of the same person.
    let new = stage.issuer.token(json!({"sub": "ann", "scope": "tools.call", "jti": "new"}));
    let called = stage.call(&new, "up_whoami").await;
    assert_eq!(called.status, 200, "{}", called.text());
    let calls = server.seen("tools/call");
    assert_ne!(calls[0].session, calls.last().unwrap().session);
    assert_eq!(calls.last().unwrap().authorization, format!("Bearer {new}"));
}

#[tokio::test]
async fn a_server_that_lists_nothing_for_nobody_says_what_is_missing() {
    let stage = Stage::open().await;
    let server = Recorder::start(Speaks::Legacy).await;
    server.list_for("somebody");
    let definition =
        json!({"name": "up", "type": "mcp", "auth": {"type": "caller_token"}, "mcp": {"url": server.url()}});
    assert_eq!(stage.register(&definition).await.status, 200);
    toolrail_testkit::wait_until("it to be told", WITHIN, async || {
        let problems = stage.ask(&stage.admin, (Method::GET, "/admin/problems"), None).await;
        problems.text().contains("give a credential for that in mcp.listAuth").then_some(())
    })
    .await
    .unwrap();
    let check = async |change: Value, pointer: &str, words: &str| {
        let mut wrong = definition.clone();
        wrong["name"] = json!("wrong");
        for (field, value) in change.as_object().unwrap() {
            wrong[field] = value.clone();
        }
        let refused = stage.register(&wrong).await;
        let text = refused.text();
        assert!(refused.status == 422 && text.contains(pointer) && text.contains(words), "{text}");
    };
    let with = |list_auth: Value| json!({"url": server.url(), "listAuth": list_auth});
    check(
        json!({"mcp": with(json!({"type": "caller_token"}))}),
        "/mcp/listAuth/type",
        "nobody in particular",
    )
    .await;
    check(json!({"mcp": with(json!({"type": "bearer"}))}), "/mcp/listAuth", "needs").await;
    check(
        json!({"auth": {"type": "none"}, "mcp": with(json!({"type": "none"}))}),
        "/mcp/listAuth",
        "remove it",
    )
    .await;
    check(json!({"auth": {"type": "caller_token", "hosts": ["a.example"]}}), "/auth/hosts", "add it").await;
    check(json!({"registeredBy": "agent"}), "/auth", "an agent registered").await;
}

#[tokio::test]
async fn what_a_server_tells_one_caller_no_other_hears() {
    let stage = Stage::open().await;
    let server = Recorder::start(Speaks::Legacy).await;
    for shared in [false, true] {
        let (name, more) = (format!("up-{shared}"), json!({"shared": shared, "exclude": ["*x"]}));
        stage.bring_in(&name, &server, (json!({"type": "caller_token"}), more)).await;
    }
    let tokens = ["ann", "bob"].map(|who| stage.token(who));
    let mut streams = Vec::new();
    for token in &tokens {
        let mut talk = Talk::open(&stage.gateway, token, json!({})).await;
        let stream = talk.stream(&stage.gateway).await;
        assert_eq!(talk.ask("resources/subscribe", json!({"uri": "mine://all"})).await, json!({}));
        streams.push((talk, stream));
    }
    for (token, at) in [(&tokens[0], 0), (&tokens[1], 1)] {
        server.tell(&format!("Bearer {token}"), "mine://all");
        let heard = streams[at].1.until(b"mine://all").await.unwrap();
        let heard = String::from_utf8_lossy(&heard);
        assert_eq!(heard.matches("resources/updated").count(), 1, "{heard}");
    }
}
