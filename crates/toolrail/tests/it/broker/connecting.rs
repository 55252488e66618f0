//! Whoever connects an account at an upstream server is asked here who he is, and must be the one who was invited.

use anyhow::{Context, Result, ensure};
use http::Method;
use serde_json::json;
use toolrail_testkit::HttpClient;

use super::{Browser, PUBLIC, Stage, location, request_in, tokens};
use crate::identity::{ask, first_key};

#[tokio::test]
async fn only_the_person_who_was_invited_goes_on_to_the_upstream() -> Result<()> {
    let stage = Stage::new().await?;
    let gateway = stage.gateway().start().await?;
    let admin = first_key(&gateway).await?;
    let definition = json!({
        "name": "up", "type": "mcp", "auth": {"type": "oauth_user", "issuer": "http://127.0.0.1:1", "clientId": "x"},
        "mcp": {"url": "http://127.0.0.1:1/mcp"},
    });
    let made = ask(&gateway, Some(&admin), (Method::POST, "/admin/tools"), Some(&definition)).await?;
    ensure!(made.status == 200, "{}", made.text());
    let (_, given) = tokens(&gateway).await?;
    let ann = given["access_token"].as_str().context("no token")?;
    let call = json!({"tool": "up_connect", "arguments": {}});
    let told =
        toolrail_testkit::wait_until("an invitation", std::time::Duration::from_secs(20), async || {
            let called =
                ask(&gateway, Some(ann), (Method::POST, "/mcp/tools/call"), Some(&call)).await.ok()?;
            called.text().contains("/connect/").then(|| called.text())
        })
        .await?;
    let rest = told.split_once(&format!("{PUBLIC}/connect/")).context("no address")?.1;
    let id: String =
        rest.chars().take_while(|letter| letter.is_ascii_alphanumeric() || "_-".contains(*letter)).collect();
    let path = format!("/connect/{id}");

    // Another signs in, whom somebody has sent the address.
    stage.provider.change(|script| script.claims = json!({"sub": "victim"}));
    let went = go(&gateway, &path).await?;
    ensure!(went.0 == 403 && went.1.contains("somebody else"), "{went:?}");
    // The one who was invited goes on, as far as there is an upstream.
    stage.provider.change(|script| script.claims = json!({}));
    let went = go(&gateway, &path).await?;
    ensure!(went.0 == 502 && went.1.contains("did not connect it"), "{went:?}");
    Ok(())
}

/// Agrees and signs in; gives what is shown then.
async fn go(gateway: &toolrail_testkit::Gateway, path: &str) -> Result<(u16, String)> {
    let mut browser = Browser::default();
    let page = browser.get(gateway, path).await?;
    let form = super::form(&[("request", &request_in(&page.text())?), ("answer", "yes")]);
    let head = http::Request::post(path)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", PUBLIC);
    let sent = browser.send(gateway, head, form).await?;
    let back = HttpClient::new().send_json(Method::GET, &location(&sent)?, None).await?;
    let back = location(&back)?.strip_prefix(PUBLIC).context("elsewhere")?.to_owned();
    // What was found out is for this browser alone.
    let passed = location(&browser.get(gateway, &back).await?)?;
    let passed = passed.strip_prefix(PUBLIC).context("elsewhere")?.to_owned();
    let stolen = Browser::default().get(gateway, &passed).await?;
    ensure!(stolen.status == 400, "{}", stolen.text());
    let went = browser.get(gateway, &passed).await?;
    Ok((went.status, went.text()))
}
