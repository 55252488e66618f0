//! People connect their accounts at an upstream server, each his own: the whole way, and everything that somebody may try on it.

use futures_util::future::join_all;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, HttpClient, Reply};

use super::authority::Authority;
use super::recorder::{Recorder, Speaks};
use super::{Stage, Talk, WITHIN};

pub(super) const PUBLIC: &str = "https://tools.example.com";

/// A server at which people have accounts, behind a gateway.
struct Scene {
    stage: Stage,
    server: Recorder,
    authority: Authority,
}

impl Scene {
    /// One that is listed with a credential of its own.
    async fn open(auth: Value) -> Self {
        let list_auth = json!({"type": "bearer", "token": "{{secrets.LISTS}}"});
        let scene = Self::with(auth, json!({"listAuth": list_auth})).await;
        scene.listed("up_whoami").await;
        scene
    }

    /// A client that is known already is known to the authorisation server beside the server.
    async fn with(mut auth: Value, more: Value) -> Self {
        let (stage, authority) = (Stage::open().await, Authority::new("alpha"));
        let server = Recorder::with(Speaks::Legacy, authority.routes()).await;
        let place = format!("{}/.well-known/oauth-protected-resource/mcp", server.origin());
        server.challenge(&format!("Bearer resource_metadata=\"{place}\""));
        if auth.get("clientId").is_some() {
            auth["issuer"] = json!(server.origin());
        }
        let mut mcp = json!({"url": server.url()});
        mcp.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let definition = json!({"name": "up", "type": "mcp", "auth": auth, "mcp": mcp});
        let made = stage.register(&definition).await;
        assert_eq!(made.status, 200, "{}", made.text());
        Self { stage, server, authority }
    }

    async fn listed(&self, tool: &str) {
        toolrail_testkit::wait_until("a tool to be listed", WITHIN, async || {
            let listed = self.stage.ask(&self.stage.admin, (Method::GET, "/mcp/tools"), None).await;
            listed.text().contains(tool).then_some(())
        })
        .await
        .unwrap();
    }

    /// The path that somebody is told to open when he calls that.
    async fn invited(&self, token: &str, tool: &str) -> String {
        let called = self.stage.call(token, tool).await;
        assert_eq!(called.status, 403, "{}", called.text());
        path_in(&called.text())
    }

    /// Somebody connects the account that is signed in at the server.
    async fn connect(&self, token: &str, tool: &str) {
        connect_at(&self.stage, token, tool).await;
    }

    async fn connections(&self, key: &str) -> Vec<Value> {
        let listed = self.stage.ask(key, (Method::GET, "/admin/connections"), None).await;
        listed.json().unwrap()["connections"].as_array().unwrap().clone()
    }

    async fn audit(&self) -> String {
        self.stage.ask(&self.stage.admin, (Method::GET, "/admin/audit?limit=50"), None).await.text()
    }
}

/// Somebody connects the account that is signed in at the server of that tool.
pub(super) async fn connect_at(stage: &Stage, credential: &str, tool: &str) {
    let called = stage.call(credential, tool).await;
    assert_eq!(called.status, 403, "{}", called.text());
    let path = path_in(&called.text());
    let mut browser = Browser::default();
    let back = browser.go_there(&stage.gateway, &path).await;
    let done = browser.get(&stage.gateway, &back).await;
    assert!(done.status == 200 && done.text().contains("is connected"), "{}", done.text());
}

pub(super) fn path_in(text: &str) -> String {
    let rest = text.split_once(&format!("{PUBLIC}/connect/")).unwrap_or_else(|| unreachable!("{text}")).1;
    let id: String =
        rest.chars().take_while(|letter| letter.is_ascii_alphanumeric() || "_-".contains(*letter)).collect();
    format!("/connect/{id}")
}

/// A person's browser: keeps the cookie of the gateway.
#[derive(Default)]
pub(super) struct Browser {
    cookie: Option<String>,
}

impl Browser {
    async fn send(&mut self, gateway: &Gateway, mut request: http::request::Builder, body: String) -> Reply {
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        let reply = gateway.request(request.body(Full::new(body.into())).unwrap()).await.unwrap();
        if let Some(cookie) = reply.header("set-cookie") {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        reply
    }

    pub(super) async fn get(&mut self, gateway: &Gateway, path: &str) -> Reply {
        self.send(gateway, Request::get(path), String::new()).await
    }

    /// Opens the page that asks; gives what stands in its form.
    async fn open(&mut self, gateway: &Gateway, path: &str) -> String {
        let page = self.get(gateway, path).await;
        assert_eq!(page.status, 200, "{}", page.text());
        let text = page.text();
        let form = text.split_once("name=\"request\" value=\"").unwrap().1;
        form.split('"').next().unwrap().to_owned()
    }

    async fn answer(&mut self, gateway: &Gateway, path: &str, form: &[(&str, &str)]) -> Reply {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = Request::post(path)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin")
            .header("origin", PUBLIC);
        self.send(gateway, request, body).await
    }

    /// Agrees; gives where the browser is sent.
    pub(super) async fn agree(&mut self, gateway: &Gateway, path: &str) -> String {
        let request = self.open(gateway, path).await;
        let sent = self.answer(gateway, path, &[("request", &request), ("answer", "yes")]).await;
        sent.header("location").unwrap_or_else(|| unreachable!("{}", sent.text())).to_owned()
    }

    /// The same, and the authorisation server asks nothing; gives the path at which it sends the browser back.
    async fn go_there(&mut self, gateway: &Gateway, path: &str) -> String {
        let there = self.agree(gateway, path).await;
        let back = HttpClient::new().send_json(Method::GET, &there, None).await.unwrap();
        let back = back.header("location").unwrap_or_else(|| unreachable!("{}", back.text())).to_owned();
        back.strip_prefix(PUBLIC).unwrap().to_owned()
    }
}

#[tokio::test]
async fn each_connects_his_own_account_and_calls_with_it() {
    let scene = Scene::open(json!({"type": "oauth_user"})).await;
    let (ann, bob) = (scene.stage.token("ann"), scene.stage.token("bob"));
    scene.connect(&ann, "up_connect").await;
    let asked = scene.authority.change(|script| script.asked.clone());
    assert_eq!((asked["scope"].as_str(), asked["client_id"].as_str()), ("use", "client-1"));
    assert_eq!(asked["resource"], scene.server.url());
    let called = scene.stage.call(&ann, "up_whoami").await;
    assert!(called.status == 200 && called.text().contains("alpha"), "{}", called.text());
    // Another has none yet, and connects another account.
    scene.authority.change(|script| script.account = "beta".to_owned());
    scene.connect(&bob, "up_whoami").await;
    for (token, account) in [(&bob, "beta"), (&ann, "alpha"), (&bob, "beta")] {
        let called = scene.stage.call(token, "up_whoami").await;
        assert!(called.status == 200 && called.text().contains(account), "{}", called.text());
        assert!(!called.text().contains("access-"), "tokens are never shown");
    }
    assert_eq!(scene.authority.change(|script| script.registered), 1, "once for all");
    assert_eq!(scene.server.faults(), Vec::<String>::new());

    let (own, all) = (scene.connections(&bob).await, scene.connections(&scene.stage.admin).await);
    assert_eq!((own.len(), own[0]["of"].as_str(), all.len()), (1, Some("bob"), 2), "{own:?} {all:?}");
    let id = own[0]["id"].as_str().unwrap();
    let path = format!("/admin/connections/{id}");
    let foreign = scene.stage.ask(&ann, (Method::DELETE, &path), None).await;
    assert_eq!(foreign.status, 404, "{}", foreign.text());
    let revoked = scene.stage.ask(&bob, (Method::DELETE, &path), None).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    scene.invited(&bob, "up_whoami").await;
    assert_eq!(scene.stage.call(&ann, "up_whoami").await.status, 200, "hers is still there");
    let (audit, log) = (scene.audit().await, scene.stage.gateway.stderr());
    assert!(audit.contains("connection.grant") && audit.contains("connection.revoke"), "{audit}");
    for text in [audit, log] {
        assert!(!text.contains("access-") && !text.contains("refresh-"), "{text}");
    }
}

#[tokio::test]
async fn nobodys_account_lists_a_server_for_others() {
    let scene = Scene::with(json!({"type": "oauth_user"}), json!({})).await;
    scene.listed("up_connect").await;
    // Connecting an account has the server listed once more.
    let asked = || [scene.server.seen("server/discover"), scene.server.seen("initialize")].concat();
    let before = asked().len();
    scene.connect(&scene.stage.token("ann"), "up_connect").await;
    toolrail_testkit::wait_until("the server to be asked again", WITHIN, async || {
        (asked().len() > before).then_some(())
    })
    .await
    .unwrap();
    let problems = scene.stage.ask(&scene.stage.admin, (Method::GET, "/admin/problems"), None).await;
    assert!(problems.text().contains("give a credential for that in mcp.listAuth"), "{}", problems.text());
    assert!(asked().iter().all(|seen| seen.authorization.is_empty()), "{:?}", asked());
    assert_eq!(scene.server.seen("tools/list"), Vec::new());
}

#[tokio::test]
async fn a_key_is_somebody_too_and_nobody_is_nobody() {
    let scene =
        Scene::open(json!({"type": "oauth_user", "scopes": ["one", "two"], "clientId": "given"})).await;
    scene.connect(&scene.stage.admin, "up_connect").await;
    let called = scene.stage.call(&scene.stage.admin, "up_whoami").await;
    assert!(called.status == 200 && called.text().contains("alpha"), "{}", called.text());
    let asked = scene.authority.change(|script| script.asked.clone());
    assert_eq!((asked["scope"].as_str(), asked["client_id"].as_str()), ("one two", "given"));
}

/// Else the upstream server would say who gets the secret.
#[tokio::test]
async fn a_client_that_is_known_already_names_to_whom() {
    let stage = Stage::open().await;
    let auth = json!({"type": "oauth_user", "clientId": "given", "clientSecret": "{{secrets.LISTS}}"});
    let definition =
        json!({"name": "up", "type": "mcp", "auth": auth, "mcp": {"url": "http://127.0.0.1:1/mcp"}});
    let refused = stage.register(&definition).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
    assert!(refused.text().contains("/auth/issuer"), "{}", refused.text());
}

#[tokio::test]
async fn a_token_is_renewed_once_for_all_and_dropped_when_it_is_over() {
    let scene = Scene::open(json!({"type": "oauth_user"})).await;
    let ann = scene.stage.token("ann");
    scene.authority.change(|script| script.first_seconds = 0);
    scene.connect(&ann, "up_connect").await;
    for called in join_all((0..8).map(|_| scene.stage.call(&ann, "up_whoami"))).await {
        assert_eq!(called.status, 200, "{}", called.text());
    }
    assert_eq!(scene.authority.change(|script| script.renewed), 1, "of many at once, one asks");
    // The server takes none of its tokens any more, and the authorisation server renews nothing.
    let id = scene.connections(&ann).await[0]["id"].as_str().unwrap().to_owned();
    scene.authority.change(|script| (script.forgets, script.first_seconds) = (true, 0));
    let revoked = scene.stage.ask(&ann, (Method::DELETE, &format!("/admin/connections/{id}")), None).await;
    assert_eq!(revoked.status, 200);
    scene.connect(&ann, "up_whoami").await;
    scene.invited(&ann, "up_whoami").await;
    assert_eq!(scene.connections(&ann).await, Vec::<Value>::new());
    assert!(scene.audit().await.contains("connection.ended"));
}

#[tokio::test]
async fn clients_that_show_addresses_are_asked_in_the_way_of_their_revision() {
    let scene = Scene::open(json!({"type": "oauth_user"})).await;
    let ann = scene.stage.token("ann");
    let call = json!({"name": "up_connect", "arguments": {}});
    let mut talk =
        Talk::open(&scene.stage.gateway, &ann, json!({"elicitation": {"form": {}, "url": {}}})).await;
    let asked = talk.ask("tools/call", call.clone()).await;
    assert_eq!(asked["code"], -32042, "{asked}");
    let elicitation = &asked["data"]["elicitations"][0];
    assert_eq!(elicitation["mode"], "url");
    let path = path_in(elicitation["url"].as_str().unwrap());
    assert!(path.ends_with(elicitation["elicitationId"].as_str().unwrap()));
    // One that shows forms only gets words.
    let mut plain = Talk::open(&scene.stage.gateway, &ann, json!({"elicitation": {}})).await;
    let told = plain.ask("tools/call", call.clone()).await;
    assert!(told["isError"] == true && told.to_string().contains(&path), "the same address: {told}");
    // A modern one gets the question as the result, and calls again.
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}},
    });
    let ask = async |more: Value| {
        let mut params = json!({"name": "up_connect", "arguments": {}, "_meta": meta});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let request = Request::post("/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("authorization", format!("Bearer {ann}"))
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "up_connect");
        let request = request.body(Full::new(message.to_string().into())).unwrap();
        scene.stage.gateway.request(request).await.unwrap().json().unwrap()
    };
    let asked = ask(json!({})).await;
    let question = &asked["result"]["inputRequests"]["connect"];
    assert_eq!(question["params"]["mode"], "url", "{asked}");
    assert_eq!(path_in(question["params"]["url"].as_str().unwrap()), path);
    let mut stream = talk.stream(&scene.stage.gateway).await;
    scene.connect(&ann, "up_connect").await;
    let told = format!(r#""elicitationId":"{}""#, path.trim_start_matches("/connect/"));
    let heard = stream.until(told.as_bytes()).await.unwrap();
    assert!(String::from_utf8_lossy(&heard).contains("notifications/elicitation/complete"));
    let mut more = json!({"inputResponses": {"connect": {"action": "accept"}}});
    if let Some(state) = asked["result"].get("requestState") {
        more["requestState"] = state.clone();
    }
    let again = ask(more).await;
    assert!(again.to_string().contains("is connected"), "{again}");
}

#[tokio::test]
async fn nobody_connects_an_account_by_the_way_of_another() {
    let scene = Scene::open(json!({"type": "oauth_user"})).await;
    let (ann, gateway) = (scene.stage.token("ann"), &scene.stage.gateway);
    let path = scene.invited(&ann, "up_connect").await;
    let mut browser = Browser::default();
    let page = browser.get(gateway, &path).await.text();
    for named in ["<b>ann</b>", "<b>up</b>", &scene.server.url()] {
        assert!(page.contains(named), "{named}: {page}");
    }
    let request = browser.open(gateway, &path).await;
    let form = [("request", request.as_str()), ("answer", "yes")];
    let other = Browser::default().answer(gateway, &path, &form).await;
    assert!(other.status == 400 && other.text().contains("another browser"), "{}", other.text());
    let mut tampered = request.clone().into_bytes();
    tampered[20] ^= 1;
    let tampered = String::from_utf8(tampered).unwrap();
    let stale = browser.answer(gateway, &path, &[("request", &tampered), ("answer", "yes")]).await;
    assert!(stale.status == 400 && stale.text().contains("too old"), "{}", stale.text());
    let foreign = Request::post(&path)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "cross-site");
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let foreign = browser.send(gateway, foreign, body).await;
    assert_eq!(foreign.status, 400, "{}", foreign.text());

    let back = browser.go_there(gateway, &path).await;
    let elsewhere = Browser::default().get(gateway, &back).await;
    assert!(elsewhere.status == 400 && elsewhere.text().contains("another browser"), "{}", elsewhere.text());
    let wrong = back.replace("iss=", "iss=x");
    assert_eq!(browser.get(gateway, &wrong).await.status, 400);
    // Each authorisation server has a way back of its own, also where none says who it is.
    let (own, query) = back.split_once('?').unwrap();
    assert_eq!(own.len(), "/connect/callback/".len() + 32, "{own}");
    let of_another = format!("/connect/callback/{}", "x".repeat(32));
    for other in ["/connect/callback", "/connect/callback/document", &of_another] {
        let mixed = browser.get(gateway, &format!("{other}?{query}")).await;
        assert!(mixed.status == 400 && mixed.text().contains("does not come from"), "{}", mixed.text());
    }
    assert_eq!(browser.get(gateway, &back).await.status, 200);
    let again = browser.get(gateway, &back).await;
    assert!(again.status == 400 && again.text().contains("used before"), "{}", again.text());
    let spent = browser.get(gateway, &path).await;
    assert_eq!(spent.status, 400, "{}", spent.text());
    assert_eq!(scene.connections(&scene.stage.admin).await.len(), 1);
    for unknown in ["/connect/x", "/connect/callback", "/connect/callback?state=x&code=y", "/connect/x/go"] {
        assert_eq!(browser.get(gateway, unknown).await.status, 400, "{unknown}");
    }
    let refused = scene.invited(&scene.stage.token("bob"), "up_connect").await;
    let request = browser.open(gateway, &refused).await;
    let no = browser.answer(gateway, &refused, &[("request", &request), ("answer", "no")]).await;
    assert!(no.status == 200 && no.text().contains("Nothing was connected"), "{}", no.text());
    assert_eq!(browser.get(gateway, &refused).await.status, 400);
}

#[tokio::test]
async fn what_a_server_says_of_itself_must_fit() {
    let scene = Scene::open(json!({"type": "oauth_user"})).await;
    let (ann, gateway) = (scene.stage.token("ann"), &scene.stage.gateway);
    let path = scene.invited(&ann, "up_connect").await;
    let mut browser = Browser::default();
    for (described, words) in [
        (json!({"issuer": "https://evil.example"}), "of somebody else"),
        (json!({"code_challenge_methods_supported": ["plain"]}), "no PKCE"),
        (json!({"authorization_endpoint": "http://192.0.2.1/authorize"}), "where accounts are connected"),
        (json!({"registration_endpoint": null}), "registers no clients"),
    ] {
        scene.authority.change(|script| script.described = described.clone());
        let request = browser.open(gateway, &path).await;
        let sent = browser.answer(gateway, &path, &[("request", &request), ("answer", "yes")]).await;
        assert!(
            sent.status >= 500 && sent.text().contains(words),
            "{words}: {} {}",
            sent.status,
            sent.text()
        );
    }
    // A document is the same for all authorisation servers, so it is for those only who say who they are.
    let documents = "client_id_metadata_document_supported";
    let says = "authorization_response_iss_parameter_supported";
    scene.authority.change(|script| script.described = json!({documents: true, says: false}));
    browser.go_there(gateway, &path).await;
    assert_eq!(scene.authority.change(|script| script.asked["client_id"].clone()), "client-1");
    scene.authority.change(|script| script.described = json!({documents: true}));
    browser.go_there(gateway, &path).await;
    let id = format!("{PUBLIC}/connect/client.json");
    assert_eq!(scene.authority.change(|script| script.asked["client_id"].clone()), id);
    let about = browser.get(gateway, "/connect/client.json").await.json().unwrap();
    assert_eq!(
        (&about["client_id"], &about["redirect_uris"][0]),
        (&json!(id), &json!(format!("{PUBLIC}/connect/callback/document")))
    );
}
