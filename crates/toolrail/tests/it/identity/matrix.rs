//! What each sees and may call, by every way in, against a small oracle.

use http::Method;
use serde_json::{Value, json};
use toolrail_testkit::Gateway;

use super::ask;
use super::oracle::{Somebody, Sort, THINGS, Thing, Verdict, named_in};
use super::stage::{Mismatches, UNKNOWN, rpc, stage, tool_call, verdict};
use super::ways::{Client, Way};
use crate::support::{plain, send};

#[tokio::test]
async fn whatever_lists_or_finds_shows_what_one_may_see_and_nothing_else() {
    let stage = stage().await;
    let mut mismatches = Mismatches::default();
    for (somebody, key) in &stage.keys {
        let mut client = Client::connect(&stage.gateway, key, stage.folder.path()).await.unwrap();
        let (who, tools) = (somebody.name, somebody.seen_tools(|_| true));
        for way in Way::ALL {
            let of_staff = |thing: &Thing| way != Way::Group || thing.is_of_staff();
            let seen = somebody.seen_tools(of_staff);
            let listed = client.rpc(way, "tools/list", &json!({})).await.unwrap().to_string();
            mismatches.compare(
                &[who, &format!("{way:?}"), "tools/list"],
                &named_in(&listed, Thing::is_tool),
                &seen,
                &listed,
            );
            let registers = listed.contains("register_tool");
            mismatches.compare(
                &[who, &format!("{way:?}"), "register_tool"],
                &registers,
                &somebody.may_write(),
                &listed,
            );
            for (tool, method, query) in [
                ("search_tools", "bm25", "tells what has to tell"),
                ("search_tools", "hybrid", "tells what has to tell"),
                ("search_tools", "regex", "has to t.ll"),
                // What is in frequent use is among what is seen.
                ("search_hot_tools", "bm25", "tells what has to tell"),
            ] {
                let search = tool_call(tool, &json!({"query": query, "search_method": method, "limit": 50}));
                let found = client.rpc(way, "tools/call", &search).await.unwrap().to_string();
                let named = named_in(&found, Thing::is_tool);
                let place = [who, &format!("{way:?}"), tool, method];
                if tool == "search_tools" {
                    mismatches.compare(&place, &named, &seen, &found);
                } else {
                    let more: Vec<_> = named.into_iter().filter(|name| !seen.contains(name)).collect();
                    mismatches.compare(&place, &more, &Vec::new(), &found);
                }
            }
            let complete = json!({"ref": {"type": "ref/resource", "uri": "registry://tools/{name}"}, "argument": {"name": "name", "value": ""}});
            let completed = client.rpc(way, "completion/complete", &complete).await.unwrap().to_string();
            mismatches.compare(
                &[who, &format!("{way:?}"), "completion"],
                &named_in(&completed, Thing::is_tool),
                &seen,
                &completed,
            );
            for (sort, method) in [
                (Sort::Prompt, "prompts/list"),
                (Sort::Resource, "resources/list"),
                (Sort::Template, "resources/templates/list"),
            ] {
                let is_sort = |thing: &Thing| thing.sort == sort;
                let seen =
                    THINGS.iter().filter(|thing| is_sort(thing) && of_staff(thing) && somebody.sees(thing));
                let seen: Vec<_> = seen.map(|thing| thing.name).collect();
                let listed = client.rpc(way, method, &json!({})).await.unwrap().to_string();
                mismatches.compare(
                    &[who, &format!("{way:?}"), method],
                    &named_in(&listed, is_sort),
                    &seen,
                    &listed,
                );
            }
            // What is counted is what is seen.
            for uri in ["registry://stats", "registry://categories"] {
                let read = client.rpc(way, "resources/read", &json!({"uri": uri})).await.unwrap().to_string();
                let more: Vec<_> =
                    named_in(&read, Thing::is_tool).into_iter().filter(|name| !seen.contains(name)).collect();
                mismatches.compare(&[who, &format!("{way:?}"), uri], &more, &Vec::new(), &read);
            }
        }
        for path in [
            "/mcp/tools",
            "/mcp/search?q=tells+what+has+to+tell&limit=50",
            "/mcp/search?q=has+to+t.ll&method=regex&limit=50",
        ] {
            let listed = ask(&stage.gateway, Some(key), (Method::GET, path), None).await.unwrap().text();
            mismatches.compare(&[who, "REST", path], &named_in(&listed, Thing::is_tool), &tools, &listed);
        }
        let index = ask(&stage.gateway, Some(key), (Method::GET, "/"), None).await.unwrap().json().unwrap();
        mismatches.compare(&[who, "REST", "/"], &index["tools"], &json!(tools.len()), &index.to_string());
    }
    for (method, path) in [
        (Method::POST, "/mcp"),
        (Method::POST, "/mcp/staff"),
        (Method::GET, "/mcp/tools"),
        (Method::GET, "/sse"),
    ] {
        let refused =
            ask(&stage.gateway, None, (method, path), Some(&rpc("tools/list", &json!({})))).await.unwrap();
        mismatches.compare(&["anonymous", path], &refused.status, &401, &refused.text());
    }
    mismatches.report();
}

#[tokio::test]
async fn whatever_calls_does_what_one_may_and_hides_what_one_may_not_see() {
    let stage = stage().await;
    let mut mismatches = Mismatches::default();
    for (somebody, key) in &stage.keys {
        let mut client = Client::connect(&stage.gateway, key, stage.folder.path()).await.unwrap();
        for thing in THINGS {
            for way in Way::ALL {
                use_by(&mut client, (somebody, thing, way), &mut mismatches).await;
            }
            if thing.is_tool() {
                call_by_rest(&stage.gateway, key, (somebody, thing), &mut mismatches).await;
            }
        }
    }
    mismatches.report();
}

/// Everything that can be done with a thing on one way.
async fn use_by(
    client: &mut Client<'_>,
    (somebody, thing, way): (&Somebody, &Thing, Way),
    mismatches: &mut Mismatches,
) {
    let (who, name, on) = (somebody.name, thing.name, format!("{way:?}"));
    let is_there = way != Way::Group || thing.is_of_staff();
    let expected = |amount| if is_there { somebody.may(thing, amount) } else { Verdict::Hidden };
    let uses: Vec<(&str, &str, Value, u32)> = match thing.sort {
        Sort::Prompt => vec![("get", "prompts/get", json!({"name": name}), 0)],
        Sort::Resource => vec![("read", "resources/read", json!({"uri": format!("note://{name}")}), 0)],
        Sort::Template => vec![("read", "resources/read", json!({"uri": format!("page://{name}/7")}), 0)],
        Sort::Tool => [20, 500]
            .into_iter()
            .flat_map(|amount| {
                let direct = tool_call(name, &json!({"amount": amount}));
                let through = tool_call("call_tool", &direct);
                [("call", direct), ("call_tool", through)]
                    .map(|(what, params)| (what, "tools/call", params, amount))
            })
            .collect(),
    };
    for (what, method, params, amount) in uses {
        let answer = client.rpc(way, method, &params).await.unwrap();
        let text = answer.to_string();
        let (got, expected) = (verdict(&answer), expected(amount));
        // A resource that nobody lists is asked for at servers, which needs a role.
        let is_resource = matches!(thing.sort, Sort::Resource | Sort::Template);
        let is_unlisted = is_resource && expected == Verdict::Hidden && got == Verdict::Role;
        if !is_unlisted {
            mismatches.compare(&[who, name, &on, what, &amount.to_string()], &got, &expected, &text);
        }
        if !what.starts_with("call_tool") && expected == Verdict::Hidden {
            let unknown = serde_json::from_str(&params.to_string().replace(name, UNKNOWN)).unwrap();
            let other = client.rpc(way, method, &unknown).await.unwrap();
            let mut same: Value = serde_json::from_str(&text.replace(name, UNKNOWN)).unwrap();
            same["id"] = other["id"].clone();
            mismatches.compare(&[who, name, &on, "as if unknown"], &same, &other, &text);
        }
        if expected == Verdict::Hidden {
            let more: Vec<_> = named_in(&text, |other| other != thing && !somebody.sees(other));
            mismatches.compare(&[who, name, &on, what, "names others"], &more, &Vec::new(), &text);
        }
    }
    let sees = is_there && somebody.sees(thing);
    let describe = match thing.sort {
        Sort::Tool => {
            let about = tool_call("get_tool_definition", &json!({"name": name}));
            let resource = json!({"uri": format!("registry://tools/{name}")});
            vec![("describe", "tools/call", about), ("registry://", "resources/read", resource)]
        }
        Sort::Prompt => {
            let begun = json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "city", "value": "O"}});
            vec![("completion", "completion/complete", begun)]
        }
        Sort::Template => {
            let address = format!("page://{name}/{{page}}");
            let begun = json!({"ref": {"type": "ref/resource", "uri": address}, "argument": {"name": "page", "value": "O"}});
            vec![("completion", "completion/complete", begun)]
        }
        Sort::Resource => Vec::new(),
    };
    for (what, method, params) in describe {
        let answer = client.rpc(way, method, &params).await.unwrap().to_string();
        let told = answer.contains("has to tell") || answer.contains("Oslo of");
        mismatches.compare(&[who, name, &on, what], &told, &sees, &answer);
    }
}

async fn call_by_rest(
    gateway: &Gateway,
    key: &str,
    (somebody, thing): (&Somebody, &Thing),
    mismatches: &mut Mismatches,
) {
    for amount in [20, 500] {
        let body = json!({"tool": thing.name, "arguments": {"amount": amount}});
        let called = ask(gateway, Some(key), (Method::POST, "/mcp/tools/call"), Some(&body)).await.unwrap();
        let status = match somebody.may(thing, amount) {
            Verdict::Done => 200,
            Verdict::Hidden => 404,
            Verdict::Refused | Verdict::Role => 403,
        };
        mismatches.compare(
            &[somebody.name, thing.name, "REST", &amount.to_string()],
            &called.status,
            &status,
            &called.text(),
        );
    }
}

#[tokio::test]
async fn administering_needs_the_role_and_stays_within_the_tenant() {
    let stage = stage().await;
    let (gateway, upstream) = (&stage.gateway, &stage.upstream);
    for (somebody, key) in stage.keys.iter().filter(|(somebody, _)| !somebody.by_token) {
        let who = somebody.name;
        let status = async |method: Method, path: &str, body: Option<&Value>| {
            ask(gateway, Some(key), (method, path), body).await.unwrap().status
        };
        let definition = plain(&format!("made.by_{}", who.replace('-', "_")), &upstream.url("/echo"));
        let expected = if somebody.may_write() { 200 } else { 403 };
        assert_eq!(status(Method::POST, "/admin/tools", Some(&definition)).await, expected, "{who}");
        assert_eq!(status(Method::GET, "/admin/tools", None).await, expected, "{who}");
        let is_boss = somebody.role == "admin";
        assert_eq!(status(Method::GET, "/admin/keys", None).await, if is_boss { 200 } else { 403 }, "{who}");
        // Rules keep nobody from administering.
        let is_whole = somebody.tenant.is_none() && somebody.tools.is_empty();
        let over_all = is_boss && is_whole;
        assert_eq!(
            status(Method::POST, "/admin/refresh", None).await,
            if over_all { 200 } else { 403 },
            "{who}"
        );
        let sees_all = somebody.sees_all();
        let metrics = if sees_all || (somebody.may_write() && is_whole) { 200 } else { 403 };
        assert_eq!(status(Method::GET, "/metrics", None).await, metrics, "{who}");
        let ready = ask(gateway, Some(key), (Method::GET, "/readyz"), None).await.unwrap().json().unwrap();
        let tells = ready.as_object().is_some_and(|members| members.len() > 1);
        assert_eq!(tells, sees_all, "{who} {ready}");
        if is_boss {
            let keys = ask(gateway, Some(key), (Method::GET, "/admin/keys"), None).await.unwrap().text();
            assert_eq!(keys.contains("globex-agent"), over_all, "{who} {keys}");
            let shown = ask(gateway, Some(key), (Method::GET, "/admin/audit"), None).await.unwrap().text();
            assert_eq!(shown.contains("globex"), over_all, "{who} {shown}");
            let foreign = json!({"name": format!("x-{who}"), "role": "read", "tenant": "globex"});
            let made = status(Method::POST, "/admin/keys", Some(&foreign)).await;
            assert_eq!(made, if over_all { 201 } else { 403 }, "{who}");
        }
        // A tenant is what the key says, whatever a header does.
        let request = http::Request::get("/mcp/tools")
            .header("authorization", format!("Bearer {key}"))
            .header("toolrail-tenant", "globex")
            .body(http_body_util::Full::default())
            .unwrap();
        let expected = if somebody.tenant == Some("globex") { 200 } else { 403 };
        assert_eq!(gateway.request(request).await.unwrap().status, expected, "{who}");
    }
}

/// A session of one is nothing to another, whatever he would do with it.
#[tokio::test]
async fn a_session_is_its_holders_alone() {
    let stage = stage().await;
    let mut mismatches = Mismatches::default();
    let initialize = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    let list = rpc("tools/list", &json!({}));
    let with = async |key: &str, (method, session): (&str, Option<&str>), body: &Value| {
        let bearer = format!("Bearer {key}");
        let mut headers = vec![
            ("authorization", &*bearer),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        if let Some(session) = session {
            headers.extend([("mcp-session-id", session), ("mcp-protocol-version", "2025-06-18")]);
        }
        if method == "GET" {
            headers.push(("last-event-id", "1"));
        }
        send(&stage.gateway, &format!("{method} /mcp"), &headers, body).await.unwrap()
    };
    for (owner, key) in &stage.keys {
        let begun = with(key, ("POST", None), &rpc("initialize", &initialize)).await;
        let session = begun.header("mcp-session-id").unwrap().to_owned();
        for (somebody, other) in stage.keys.iter().filter(|(somebody, _)| somebody.name != owner.name) {
            for (method, body) in [("POST", &list), ("GET", &Value::Null), ("DELETE", &Value::Null)] {
                let answer = with(other, (method, Some(&session)), body).await;
                let place = [somebody.name, "in the session of", owner.name, method];
                mismatches.compare(&place, &answer.status, &404, &answer.text());
            }
        }
        let still = with(key, ("POST", Some(&session)), &list).await;
        mismatches.compare(&[owner.name, "in his own session"], &still.status, &200, &still.text());
    }
    mismatches.report();
}
