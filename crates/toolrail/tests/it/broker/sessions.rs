//! Sessions of people from the point of view of those who run the gateway: who is signed in, who is ended, and which key signs.

use std::time::Duration;

use anyhow::{Context, Result};
use http::Method;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, wait_until};

use super::{Stage, is_let_in, refresh, tokens};
use crate::identity::{ask, first_key};
use crate::support::run_in;

const WITHIN: Duration = Duration::from_secs(40);

fn access(tokens: &Value) -> &str {
    tokens["access_token"].as_str().unwrap()
}

fn key_of(token: &str) -> Result<String> {
    use base64::Engine;
    let head = token.split('.').next().context("no head")?;
    let head = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(head)?;
    let head: Value = serde_json::from_slice(&head)?;
    Ok(head["kid"].as_str().context("no kid")?.to_owned())
}

async fn two_replicas(stage: &Stage) -> Result<(Gateway, Gateway, String)> {
    let store = format!("sqlite:{}", stage.folder.path().join("shared.db").display());
    let one = stage.gateway().store(&store).start().await?;
    let admin = first_key(&one).await?;
    let other = stage.gateway().store(&store).start().await?;
    Ok((one, other, admin))
}

#[tokio::test]
async fn a_program_that_refreshes_twice_at_once_gets_the_same_wherever_it_asks() -> Result<()> {
    let stage = Stage::new().await?;
    let (one, other, _) = two_replicas(&stage).await?;
    let (client, first) = tokens(&one).await?;
    let text = first["refresh_token"].as_str().unwrap();
    let both = tokio::join!(refresh(&one, &client, text), refresh(&other, &client, text));
    let answers = [both.0?.json()?, both.1?.json()?, refresh(&one, &client, text).await?.json()?];
    for answer in &answers {
        assert_eq!(answer["refresh_token"], answers[0]["refresh_token"], "{answer}");
        assert!(is_let_in(&one, access(answer)).await? && is_let_in(&other, access(answer)).await?);
    }
    let next = answers[0]["refresh_token"].as_str().unwrap();
    assert_eq!(refresh(&other, &client, next).await?.status, 200, "and it goes on from there");
    Ok(())
}

#[tokio::test]
async fn whoever_administers_sees_who_is_signed_in_and_ends_it() -> Result<()> {
    let stage = Stage::new().await?;
    let (one, other, admin) = two_replicas(&stage).await?;
    let (_, ann) = tokens(&one).await?;
    let (_, again) = tokens(&other).await?;
    let list = async |key: &str| ask(&one, Some(key), (Method::GET, "/admin/sessions"), None).await;
    let listed = wait_until("both sessions", WITHIN, async || {
        let listed = list(&admin).await.ok()?.json().ok()?;
        (listed["count"] == 2).then_some(listed)
    })
    .await?;
    let text = listed.to_string();
    assert!(text.contains("ann@example.com") && text.contains("Robot"), "{text}");
    for secret in [access(&ann), ann["refresh_token"].as_str().unwrap()] {
        assert!(!text.contains(secret), "{text}");
    }
    // Those of no tenant are not those of acme, and tokens administer nothing.
    let acme = json!({"name": "acme-boss", "role": "admin", "tenant": "acme"});
    let acme = ask(&one, Some(&admin), (Method::POST, "/admin/keys"), Some(&acme)).await?.json()?;
    let acme = acme["key"].as_str().unwrap();
    assert_eq!(list(acme).await?.json()?["count"], 0);
    let id = listed["sessions"][0]["id"].as_str().unwrap();
    let path = format!("/admin/sessions/{id}");
    let foreign = ask(&one, Some(acme), (Method::DELETE, &path), None).await?;
    assert_eq!(foreign.status, 404, "{}", foreign.text());
    assert_eq!(list(access(&ann)).await?.status, 403);
    let rotate = (Method::POST, "/admin/broker/keys/rotate");
    assert_eq!(ask(&one, Some(acme), rotate, None).await?.status, 403, "the key is for all tenants");

    let data = one.data().to_str().context("a path")?;
    let run = async |arguments: &[&str]| run_in(stage.folder.path(), arguments).await;
    let shown = run(&["sessions", "list", "--data", data]).await?;
    assert!(shown.stdout.contains("ann@example.com") && shown.stdout.contains(id), "{}", shown.stdout);
    let ended = run(&["sessions", "end", "ann@example.com", "--data", data]).await?;
    assert!(ended.stdout.contains("ended 2 sessions"), "{}{}", ended.stdout, ended.stderr);
    wait_until("all tokens to be refused everywhere", WITHIN, async || {
        for gateway in [&one, &other] {
            for tokens in [&ann, &again] {
                if is_let_in(gateway, access(tokens)).await.ok()? {
                    return None;
                }
            }
        }
        Some(())
    })
    .await?;
    assert_ne!(run(&["sessions", "end", "nobody", "--data", data]).await?.code, Some(0));
    let record = ask(&one, Some(&admin), (Method::GET, "/admin/audit"), None).await?.text();
    assert!(record.contains("session.end"), "{record}");
    Ok(())
}

#[tokio::test]
async fn a_key_is_replaced_and_nobody_notices_or_given_up_and_everybody_does() -> Result<()> {
    let stage = Stage::new().await?;
    let (one, other, admin) = two_replicas(&stage).await?;
    let (client, before) = tokens(&one).await?;
    let data = one.data().to_str().context("a path")?;
    let rotated = run_in(stage.folder.path(), &["broker", "keys", "rotate", "--data", data]).await?;
    assert!(rotated.stdout.contains("signs from"), "{}{}", rotated.stdout, rotated.stderr);
    let mut newest = before.clone();
    wait_until("the new key to sign", WITHIN, async || {
        let answer = refresh(&other, &client, newest["refresh_token"].as_str()?).await.ok()?;
        newest = answer.json().ok()?;
        // Each token is good on each replica, whichever key has signed it.
        for gateway in [&one, &other] {
            let lets_in = is_let_in(gateway, access(&newest)).await.ok()?;
            let old = is_let_in(gateway, access(&before)).await.ok()?;
            assert!(lets_in && old, "{newest}");
        }
        (key_of(access(&newest)).ok()? != key_of(access(&before)).ok()?).then_some(())
    })
    .await?;
    let jwks = other.get("/oauth/jwks").await?.json()?;
    assert_eq!(jwks["keys"].as_array().map(Vec::len), Some(2), "{jwks}");

    let body = json!({"overlap": "0s"});
    let gone = ask(&other, Some(&admin), (Method::POST, "/admin/broker/keys/rotate"), Some(&body)).await?;
    assert_eq!(gone.status, 200, "{}", gone.text());
    wait_until("what the old keys signed to be refused", WITHIN, async || {
        for gateway in [&one, &other] {
            for tokens in [&before, &newest] {
                if is_let_in(gateway, access(tokens)).await.ok()? {
                    return None;
                }
            }
        }
        Some(())
    })
    .await?;
    let next = refresh(&one, &client, newest["refresh_token"].as_str().unwrap()).await?.json()?;
    assert!(is_let_in(&one, access(&next)).await? && is_let_in(&other, access(&next)).await?, "{next}");
    Ok(())
}
