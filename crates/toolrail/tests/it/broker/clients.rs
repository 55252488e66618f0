//! Clients that have a page of their own (client id metadata documents).

use anyhow::{Context, Result};
use serde_json::{Value, json};
use toolrail_testkit::{Authority, Gateway, TlsSite};

use super::{Browser, REDIRECT, Stage, authorize, is_let_in, parameter, redeem};

/// A site on this machine with the page of a client; the address of that.
async fn client(authority: &Authority, page: &Value) -> Result<(TlsSite, String)> {
    let at = |url: &str| format!("{url}/client.json");
    let site = TlsSite::start(authority, |url| {
        let mut page = page.clone();
        if page["client_id"].is_null() {
            page["client_id"] = json!(at(url));
        }
        page.to_string()
    })
    .await?;
    let id = at(site.url());
    Ok((site, id))
}

/// A gateway that believes that authority, with more in the settings of its broker.
async fn stage(authority: &Authority, more: Value) -> Result<(Stage, Gateway)> {
    let stage = Stage::with(more).await?;
    let trusted = stage.folder.path().join("authority.pem");
    std::fs::write(&trusted, authority.pem())?;
    let gateway = stage.gateway().env("SSL_CERT_FILE", &trusted).start().await?;
    Ok((stage, gateway))
}

#[tokio::test]
async fn a_client_is_known_by_its_page() -> Result<()> {
    let authority = Authority::new()?;
    let (_stage, gateway) = stage(&authority, json!({"privateClients": true})).await?;
    let page = json!({"client_name": "Paged", "redirect_uris": [REDIRECT]});
    let (_site, id) = client(&authority, &page).await?;
    let page = Browser::default().get(&gateway, &authorize(&id, &[])).await?.text();
    assert!(page.contains("“Paged”") && page.contains("described at <b>localhost</b>"), "{page}");
    let end = Browser::default().whole_way(&gateway, &authorize(&id, &[])).await?;
    let answer = redeem(&gateway, &id, &parameter(&end, "code")?, &[]).await?.json()?;
    assert!(is_let_in(&gateway, answer["access_token"].as_str().context("no token")?).await?);
    let other = authorize(&id, &[("redirect_uri", "https://evil.example/cb")]);
    assert_eq!(Browser::default().get(&gateway, &other).await?.status, 400);
    Ok(())
}

#[tokio::test]
async fn a_page_that_cannot_be_believed_is_none() -> Result<()> {
    let authority = Authority::new()?;
    let (_stage, gateway) = stage(&authority, json!({"privateClients": true})).await?;
    let redirects = json!([REDIRECT]);
    let pages: [(Value, &str); 5] = [
        (
            json!({"client_id": "https://app.example.com/c.json", "redirect_uris": redirects}),
            "not its own address",
        ),
        (
            json!({"redirect_uris": redirects, "token_endpoint_auth_method": "private_key_jwt"}),
            "only &quot;none&quot;",
        ),
        (json!({"redirect_uris": []}), "at least one address"),
        (json!({"redirect_uris": redirects, "x": "y".repeat(6_000)}), "more than 5120 bytes"),
        (json!({"redirect_uris": ["javascript:alert(1)"]}), "redirect_uris/0"),
    ];
    for (page, part) in pages {
        let (_site, id) = client(&authority, &page).await?;
        let answer = Browser::default().get(&gateway, &authorize(&id, &[])).await?;
        assert!(answer.status == 400 && answer.text().contains(part), "{part}: {}", answer.text());
    }
    for address in ["https://localhost:1/../c", "https://u@localhost:1/c", "https://localhost:1/"] {
        let answer = Browser::default().get(&gateway, &authorize(address, &[])).await?;
        assert!(answer.status == 400 && answer.text().contains("its address"), "{}", answer.text());
    }
    Ok(())
}

#[tokio::test]
async fn nobody_looks_through_us_at_what_stands_behind_a_firewall() -> Result<()> {
    let authority = Authority::new()?;
    let (_stage, gateway) = stage(&authority, json!({})).await?;
    let (_site, id) = client(&authority, &json!({"redirect_uris": [REDIRECT]})).await?;
    for address in [
        id.as_str(),
        "https://127.0.0.1/c.json",
        "https://[::1]/c.json",
        "https://[::ffff:7f00:1]/c.json",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/c.json",
    ] {
        let answer = Browser::default().get(&gateway, &authorize(address, &[])).await?;
        let text = answer.text();
        assert!(answer.status == 400 && text.contains("not at a public address"), "{address} {text}");
    }
    Ok(())
}
