//! The whole way, as an application and a person go it.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use toolrail_testkit::wait_until;

use super::{
    Browser, PUBLIC, REDIRECT, Stage, assert_refused, authorize, is_let_in, location, parameter, post,
    redeem, refresh, register, tokens,
};

fn claims(token: &Value) -> Value {
    let part = token.as_str().unwrap().split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[tokio::test]
async fn an_application_finds_its_way_from_the_first_refusal_to_a_token() -> Result<()> {
    let stage = Stage::new().await?;
    let gateway = stage.gateway().start().await?;
    let described = gateway.get("/.well-known/oauth-protected-resource/mcp").await?.json()?;
    assert_eq!(described["authorization_servers"], json!([PUBLIC]));
    for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
        let server = gateway.get(path).await?.json()?;
        assert_eq!(server["issuer"], PUBLIC);
        assert_eq!(server["registration_endpoint"], format!("{PUBLIC}/oauth/register"));
        assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
        assert_eq!(server["client_id_metadata_document_supported"], true);
    }
    let client = register(&gateway, &["http://127.0.0.1/callback"]).await?;
    let end = Browser::default().whole_way(&gateway, &authorize(&client, &[])).await?;
    assert!(end.starts_with(&format!("{REDIRECT}?")), "{end}");
    assert_eq!(parameter(&end, "state")?, "s t&a=te");
    assert_eq!(parameter(&end, "iss")?, PUBLIC);
    let answer = redeem(&gateway, &client, &parameter(&end, "code")?, &[]).await?;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let answer = answer.json()?;
    assert_eq!((&answer["token_type"], &answer["scope"]), (&json!("Bearer"), &json!("tools.call")));
    let said = claims(&answer["access_token"]);
    assert_eq!((&said["aud"], &said["sub"]), (&json!(format!("{PUBLIC}/mcp")), &json!("ann")));
    assert_eq!((&said["email"], &said["groups"]), (&json!("ann@example.com"), &json!(["staff"])));
    assert!(said["phone"].is_null(), "what no rule looks at stays at the provider: {said}");
    assert!(is_let_in(&gateway, answer["access_token"].as_str().unwrap()).await?);
    assert!(!is_let_in(&gateway, answer["refresh_token"].as_str().unwrap()).await?);
    assert!(!is_let_in(&gateway, "x.y.z").await?);
    Ok(())
}

#[tokio::test]
async fn a_refresh_token_that_is_followed_by_others_ends_the_session() -> Result<()> {
    let stage = Stage::new().await?;
    let gateway = stage.gateway().start().await?;
    let (client, first) = tokens(&gateway).await?;
    let second = refresh(&gateway, &client, first["refresh_token"].as_str().unwrap()).await?.json()?;
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    assert!(is_let_in(&gateway, second["access_token"].as_str().unwrap()).await?);
    let third = refresh(&gateway, &client, second["refresh_token"].as_str().unwrap()).await?.json()?;
    let again = refresh(&gateway, &client, first["refresh_token"].as_str().unwrap()).await?;
    assert_refused(&again, "invalid_grant");
    let newest = refresh(&gateway, &client, third["refresh_token"].as_str().unwrap()).await?;
    assert_refused(&newest, "invalid_grant");
    wait_until("the access tokens to be refused", std::time::Duration::from_secs(10), async || {
        let [one, two] = [&first, &second].map(|tokens| tokens["access_token"].as_str().unwrap());
        let refused = !is_let_in(&gateway, one).await.ok()? && !is_let_in(&gateway, two).await.ok()?;
        refused.then_some(())
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn what_one_replica_begins_another_goes_on_with_and_a_third_takes_back() -> Result<()> {
    let (stage, data) = (Stage::new().await?, tempfile::tempdir()?);
    let store = format!("sqlite:{}", data.path().join("shared.db").display());
    let one = stage.gateway().store(&store).start().await?;
    let other = stage.gateway().store(&store).start().await?;
    let client = register(&one, &[REDIRECT]).await?;
    let mut browser = Browser::default();
    let request = browser.open(&other, &authorize(&client, &[])).await?;
    let there = location(&browser.answer(&one, &request, "yes").await?)?;
    let back = toolrail_testkit::HttpClient::new().send_json(http::Method::GET, &there, None).await?;
    let back = location(&back)?.replace(PUBLIC, "");
    let end = location(&browser.get(&other, &back).await?)?;
    let answer = redeem(&one, &client, &parameter(&end, "code")?, &[]).await?.json()?;
    let access = answer["access_token"].as_str().unwrap();
    assert!(is_let_in(&one, access).await? && is_let_in(&other, access).await?);
    let next = refresh(&other, &client, answer["refresh_token"].as_str().unwrap()).await?.json()?;
    let given_back = [("token", next["refresh_token"].as_str().unwrap()), ("client_id", client.as_str())];
    assert_eq!(post(&one, "/oauth/revoke", &given_back).await?.status, 200);
    wait_until("both replicas to refuse", std::time::Duration::from_secs(10), async || {
        let refused = !is_let_in(&one, access).await.ok()? && !is_let_in(&other, access).await.ok()?;
        refused.then_some(())
    })
    .await?;
    let refused = refresh(&other, &client, next["refresh_token"].as_str().unwrap()).await?;
    assert_refused(&refused, "invalid_grant");
    Ok(())
}

#[tokio::test]
async fn whoever_the_provider_knows_no_more_is_out_with_the_next_refresh() -> Result<()> {
    let stage = Stage::new().await?;
    let gateway = stage.gateway().start().await?;
    let (client, first) = tokens(&gateway).await?;
    stage.provider.change(|script| script.claims = json!({"groups": ["ops"]}));
    let second = refresh(&gateway, &client, first["refresh_token"].as_str().unwrap()).await?.json()?;
    assert_eq!(claims(&second["access_token"])["groups"], json!(["ops"]), "groups are those of now");
    stage.provider.change(|script| script.forgets = true);
    let refused = refresh(&gateway, &client, second["refresh_token"].as_str().unwrap()).await?;
    assert_refused(&refused, "invalid_grant");
    wait_until("the access token to be refused", std::time::Duration::from_secs(10), async || {
        let refused = !is_let_in(&gateway, second["access_token"].as_str()?).await.ok()?;
        refused.then_some(())
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn a_person_is_told_in_words_why_it_does_not_work() -> Result<()> {
    let stage = Stage::new().await?;
    let gateway = stage.gateway().start().await?;
    let client = register(&gateway, &[REDIRECT]).await?;
    for (claims, part) in [
        (
            json!({"groups": ["guests"]}),
            "ann@example.com: no rule of this gateway gives that account any rights",
        ),
        (json!({"groups": null, "_claim_names": {"groups": "src1"}}), "too many groups"),
        (json!({"groups": vec!["g".repeat(40); 200]}), "have it name fewer groups"),
        (json!({"nonce": "other"}), "made for another sign-in"),
        (json!({"aud": "somebody-else"}), "another audience"),
        (json!({"aud": ["gateway", "somebody-else"]}), "another client (azp)"),
        (json!({"exp": 5}), "expired"),
        (json!({"iss": "https://other.example.com"}), "another issuer"),
    ] {
        stage.provider.change(|script| script.claims = claims.clone());
        let mut browser = Browser::default();
        let back = browser.sign_in(&gateway, &authorize(&client, &[])).await?;
        let page = browser.get(&gateway, &back).await?;
        let text = page.text();
        assert!(page.status >= 400 && text.contains(part), "{claims} {} {text}", page.status);
        assert!(text.contains("error=") && !text.contains("code="), "there is a way back: {text}");
    }
    let mut request = Request::get(authorize(&client, &[])).header("accept-language", "zh-CN");
    request = request.header("x", "y");
    let page = gateway.request(request.body(Full::default())?).await?.text();
    assert!(page.contains("“Robot &lt;b&gt;”") && page.contains("继续并登录"), "{page}");
    Ok(())
}

#[tokio::test]
async fn a_gateway_starts_without_its_provider_and_says_so_to_whoever_signs_in() -> Result<()> {
    let stage = Stage::with(json!({"issuer": "http://127.0.0.1:9"})).await?;
    let gateway = stage.gateway().start().await?;
    let client = register(&gateway, &[REDIRECT]).await?;
    let mut browser = Browser::default();
    let request = browser.open(&gateway, &authorize(&client, &[])).await?;
    let page = browser.answer(&gateway, &request, "yes").await?;
    assert_eq!(page.status, 503);
    assert!(page.text().contains("could not connect to http://127.0.0.1:9"), "{}", page.text());
    let denied = location(&browser.answer(&gateway, &request, "no").await?)?;
    assert_eq!(parameter(&denied, "error")?, "access_denied");
    assert_eq!(parameter(&denied, "iss")?, PUBLIC);
    assert!(stage.folder.path().exists());
    Ok(())
}
