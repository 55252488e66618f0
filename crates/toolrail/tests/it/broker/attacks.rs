//! What somebody may try who wants to get in with another's account.

use anyhow::Result;
use http::{Method, Request};
use serde_json::json;
use toolrail_testkit::{Gateway, Upstream};

use super::{
    Browser, REDIRECT, Stage, assert_refused, authorize, form, is_let_in, location, parameter, post, redeem,
    refresh, register, tokens,
};
use crate::identity::{ask, first_key};
use crate::support::echo_tool;

async fn code(gateway: &Gateway, client: &str) -> Result<String> {
    parameter(&Browser::default().whole_way(gateway, &authorize(client, &[])).await?, "code")
}

#[tokio::test]
async fn a_code_is_good_once_and_for_whoever_asked_for_it() -> Result<()> {
    let stage = Stage::new().await?;
    let gateway = stage.gateway().start().await?;
    let client = register(&gateway, &[REDIRECT]).await?;
    let used = code(&gateway, &client).await?;
    let answer = redeem(&gateway, &client, &used, &[]).await?.json()?;
    assert_refused(&redeem(&gateway, &client, &used, &[]).await?, "invalid_grant");
    // Whoever had it first may be the thief: what came of it ends too.
    let kept = refresh(&gateway, &client, answer["refresh_token"].as_str().unwrap()).await?;
    assert_refused(&kept, "invalid_grant");
    let other = register(&gateway, &[REDIRECT]).await?;
    for (client_of_thief, more) in [
        (client.as_str(), vec![("code_verifier", "another-verifier-of-at-least-forty-three-characters")]),
        (other.as_str(), vec![]),
        (client.as_str(), vec![("redirect_uri", "http://127.0.0.1:7778/callback")]),
    ] {
        let stolen = code(&gateway, &client).await?;
        assert_refused(&redeem(&gateway, client_of_thief, &stolen, &more).await?, "invalid_grant");
        // What was in wrong hands is of no use to anybody.
        assert_refused(&redeem(&gateway, &client, &stolen, &[]).await?, "invalid_grant");
    }
    let elsewhere = [("resource", "https://other.example.com/mcp")];
    let refused = redeem(&gateway, &client, &code(&gateway, &client).await?, &elsewhere).await?;
    assert_refused(&refused, "invalid_target");
    for made_up in ["", "x", "trcode_x.y", "trcode_00000000000000000000000000000000.AAAA"] {
        let refused = redeem(&gateway, &client, made_up, &[]).await?;
        assert_eq!(refused.status, 400, "{}", refused.text());
    }
    let (owner, theirs) = tokens(&gateway).await?;
    let taken = refresh(&gateway, &client, theirs["refresh_token"].as_str().unwrap()).await?;
    assert_refused(&taken, "invalid_grant");
    assert_refused(
        &refresh(&gateway, &owner, theirs["refresh_token"].as_str().unwrap()).await?,
        "invalid_grant",
    );
    Ok(())
}

#[tokio::test]
async fn nobody_is_asked_about_a_request_that_is_not_right() -> Result<()> {
    let stage = Stage::new().await?;
    let gateway = stage.gateway().start().await?;
    let client = register(&gateway, &[REDIRECT, "https://app.example.com/cb"]).await?;
    let cases = [
        ("client_id", "", "client_id is missing", false),
        ("client_id", "trc_AAAA", "not one that this gateway gave", false),
        ("client_id", "http://app.example.com/x.json", "not one that this gateway gave", false),
        ("redirect_uri", "", "redirect_uri is missing", false),
        ("redirect_uri", "https://evil.example/cb", "not one that the application has registered", false),
        ("redirect_uri", "https://app.example.com/cb/../evil", "not one that the application", false),
        ("redirect_uri", "https://app.example.com/cb?x", "not one that the application", false),
        ("redirect_uri", "https://app.example.com:8443/cb", "not one that the application", false),
        ("redirect_uri", "javascript:alert(1)", "nothing that people can be sent to", false),
        ("redirect_uri", "http://localhost:7777/callback", "not one that the application", false),
        ("response_type", "token", "response_type must be code", true),
        ("code_challenge", "", "PKCE is needed", true),
        ("code_challenge_method", "", "PKCE is needed", true),
        ("code_challenge_method", "plain", "PKCE is needed", true),
        ("code_challenge", "short", "PKCE is needed", true),
        ("resource", "https://other.example.com/mcp", "resource must be", true),
        ("resource", "https://tools.example.com.evil.example", "resource must be", true),
        ("resource", "https://tools.example.com/../x", "resource must be", true),
        ("request_uri", "https://evil.example/r", "request_uri is not supported", true),
        ("response_mode", "fragment", "response_mode must be query", true),
    ];
    for (name, value, part, has_way_back) in cases {
        let more = [(name, value)];
        let page = Browser::default().get(&gateway, &authorize(&client, &more)).await?;
        let text = page.text();
        // Nobody is sent anywhere for a request that others made up.
        assert_eq!((page.status, page.header("location")), (400, None), "{more:?} {text}");
        assert!(text.contains(part), "{more:?} {text}");
        assert_eq!(text.contains("href="), has_way_back, "{more:?} {text}");
        assert!(!text.contains("evil.example/cb"), "{text}");
    }
    let twice = format!("{}&redirect_uri=https%3A%2F%2Fevil.example", authorize(&client, &[]));
    assert!(Browser::default().get(&gateway, &twice).await?.text().contains("more than once"));
    Ok(())
}

#[tokio::test]
async fn a_sign_in_stays_in_the_browser_in_which_it_was_begun() -> Result<()> {
    let stage = Stage::new().await?;
    let gateway = stage.gateway().start().await?;
    let client = register(&gateway, &[REDIRECT]).await?;
    let (mut one, mut other) = (Browser::default(), Browser::default());
    let page = one.get(&gateway, &authorize(&client, &[])).await?;
    let cookie = page.header("set-cookie").unwrap_or_default();
    for part in ["__Host-", "; Secure", "; HttpOnly", "; SameSite=Lax", "; Path=/"] {
        assert!(cookie.contains(part) && !cookie.contains("Domain"), "{cookie}");
    }
    let policy = page.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    let request = super::request_in(&page.text())?;
    other.open(&gateway, &authorize(&client, &[])).await?;
    // What the attacker's browser was asked is not answered by the victim's, nor by one without cookies.
    assert_eq!(other.answer(&gateway, &request, "yes").await?.status, 400);
    assert_eq!(Browser::default().answer(&gateway, &request, "yes").await?.status, 400);
    // Nor is where the provider sent the attacker.
    let back = one.sign_in(&gateway, &authorize(&client, &[])).await?;
    for browser in [&mut other, &mut Browser::default()] {
        let page = browser.get(&gateway, &back).await?;
        assert_eq!((page.status, page.header("location")), (400, None), "{}", page.text());
    }
    assert_eq!(one.get(&gateway, &back).await?.status, 303);
    // The provider's own code is good once.
    assert_eq!(one.get(&gateway, &back).await?.header("location"), None);
    // Two cookies: one may be planted.
    let planted = one.cookie.clone().unwrap_or_default();
    one.cookie = Some(format!("{planted}; {planted}"));
    assert_eq!(one.answer(&gateway, &request, "yes").await?.status, 400);
    Ok(())
}

#[tokio::test]
async fn a_page_of_another_site_answers_for_nobody() -> Result<()> {
    let stage = Stage::new().await?;
    let gateway = stage.gateway().start().await?;
    let client = register(&gateway, &[REDIRECT]).await?;
    let mut browser = Browser::default();
    let request = browser.open(&gateway, &authorize(&client, &[])).await?;
    let body = form(&[("request", &request), ("answer", "yes")]);
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost:3000"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let head = Request::post("/oauth/consent")
            .header("content-type", "application/x-www-form-urlencoded")
            .header(name, value);
        let reply = browser.send(&gateway, head, body.clone()).await?;
        assert!(reply.status >= 400 && reply.header("location").is_none(), "{name} {value} {}", reply.text());
    }
    // Sealed texts are not made up, changed, or taken for one another.
    for made_up in ["", "AAAA", &request[1..], &client[4..], &format!("{request}A")] {
        let reply = browser.answer(&gateway, made_up, "yes").await?;
        assert_eq!((reply.status, reply.header("location")), (400, None), "{}", reply.text());
        let path = format!(
            "/oauth/callback?{}",
            form(&[("code", "x"), ("state", made_up), ("iss", &stage.provider.url)])
        );
        assert_eq!(browser.get(&gateway, &path).await?.status, 400);
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_of_another_provider_is_not_taken() -> Result<()> {
    let stage = Stage::new().await?;
    let gateway = stage.gateway().start().await?;
    let client = register(&gateway, &[REDIRECT]).await?;
    for (name, value, part) in [
        ("iss", "https://evil.example", "(iss)"),
        ("iss", "", "(iss)"),
        ("code", "code-of-somebody-else", "invalid_grant"),
        ("error", "access_denied", "access_denied"),
    ] {
        stage.provider.change(|script| script.back = vec![(name, value.to_owned())]);
        let mut browser = Browser::default();
        let back = browser.sign_in(&gateway, &authorize(&client, &[])).await?;
        let page = browser.get(&gateway, &back).await?;
        assert_eq!(page.header("location"), None);
        assert!(page.status >= 400 && page.text().contains(part), "{name} {}", page.text());
    }
    Ok(())
}

#[tokio::test]
async fn tokens_of_the_provider_and_of_other_keys_are_not_ours() -> Result<()> {
    let stage = Stage::new().await?;
    let (gateway, foreign) = (stage.gateway().start().await?, stage.gateway().start().await?);
    let (client, answer) = tokens(&foreign).await?;
    let access = answer["access_token"].as_str().unwrap();
    assert!(is_let_in(&foreign, access).await?);
    assert!(!is_let_in(&gateway, access).await?, "another store has another key");
    assert_refused(
        &refresh(&gateway, &client, answer["refresh_token"].as_str().unwrap()).await?,
        "invalid_grant",
    );
    let unknown = Browser::default().get(&gateway, &authorize(&client, &[])).await?;
    assert_eq!(unknown.status, 400, "nor is its client");
    // A token is given back only by whoever has it.
    let own = register(&foreign, &[REDIRECT]).await?;
    assert_eq!(post(&foreign, "/oauth/revoke", &[("token", access), ("client_id", &own)]).await?.status, 200);
    let kept = refresh(&foreign, &client, answer["refresh_token"].as_str().unwrap()).await?;
    assert_eq!(kept.status, 200, "{}", kept.text());
    Ok(())
}

#[tokio::test]
async fn what_is_open_to_everybody_takes_little_and_tells_nothing() -> Result<()> {
    let stage = Stage::new().await?;
    let gateway = stage.gateway().start().await?;
    for (said, error) in [
        (json!({"redirect_uris": ["https://evil.example/#x"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": ["http://evil.example/"]}), "invalid_redirect_uri"),
        (json!({}), "invalid_redirect_uri"),
        (json!({"redirect_uris": [REDIRECT], "x": "y".repeat(40_000)}), "invalid_request"),
    ] {
        assert_refused(&gateway.post_json("/oauth/register", &said).await?, error);
    }
    assert_refused(
        &post(&gateway, "/oauth/token", &[("grant_type", "password")]).await?,
        "unsupported_grant_type",
    );
    assert_refused(&post(&gateway, "/oauth/token", &[]).await?, "invalid_request");
    assert_eq!(gateway.get("/oauth/elsewhere").await?.status, 404);
    assert_eq!(gateway.get("/.well-known/oauth-authorization-server/other").await?.status, 404);
    assert_eq!(gateway.get("/mcp/tools").await?.status, 401);
    let keys = gateway.get("/oauth/jwks").await?.json()?;
    assert!(keys["keys"][0]["x"].is_string() && keys["keys"][0]["d"].is_null(), "{keys}");
    let all = format!("{}{}", gateway.stdout(), gateway.stderr());
    assert!(!all.contains("s3cret-of-the-gateway"));
    assert!(location(&gateway.get("/oauth/authorize").await?).is_err());
    Ok(())
}

/// Whoever got it could come back with it.
#[tokio::test]
async fn a_token_of_ours_is_passed_on_to_nobody() -> Result<()> {
    let stage = Stage::new().await?;
    let (upstream, gateway) = (Upstream::start().await?, stage.gateway().start().await?);
    let mut tool = echo_tool("orders.mine", &upstream);
    tool["auth"] = json!({"type": "caller_token"});
    let admin = first_key(&gateway).await?;
    let made = ask(&gateway, Some(&admin), (Method::POST, "/admin/tools"), Some(&tool)).await?;
    assert_eq!(made.status, 200, "{}", made.text());
    let (_, tokens) = tokens(&gateway).await?;
    let token = tokens["access_token"].as_str().unwrap_or_default();
    let call = json!({"tool": "orders.mine", "arguments": {"q": "x"}});
    let refused = ask(&gateway, Some(token), (Method::POST, "/mcp/tools/call"), Some(&call)).await?;
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(refused.text().contains("came without a token that may be passed on"), "{}", refused.text());
    assert_eq!(upstream.count("/echo"), 0);
    Ok(())
}
