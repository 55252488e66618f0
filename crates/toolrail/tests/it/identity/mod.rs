//! Who may do what: keys, tokens, rules, and what whoever shows one sees and may do, by every way in.

mod approvals;
mod beyond;
mod doctor;
mod keys;
mod matrix;
mod on_behalf;
mod oracle;
mod rules;
mod stage;
mod stored_rules;
pub(crate) mod tokens;
mod ways;

use anyhow::Result;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::Value;
use toolrail_testkit::{Gateway, Reply};

/// A request that shows a key, or none.
pub(crate) async fn ask(
    gateway: &Gateway,
    key: Option<&str>,
    (method, path): (Method, &str),
    body: Option<&Value>,
) -> Result<Reply> {
    let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    gateway.request(request.body(Full::new(body))?).await
}

/// The key that the first start printed.
pub(crate) async fn first_key(gateway: &Gateway) -> Result<String> {
    let banner = gateway.banner().await?;
    let words = banner.split_whitespace().find(|word| word.starts_with("tr_") && word.len() == 67);
    Ok(words.ok_or_else(|| anyhow::anyhow!("no key in {banner}"))?.to_owned())
}

/// Makes a key and gives its text.
async fn make_key(gateway: &Gateway, admin: &str, body: &Value) -> Result<String> {
    let made = ask(gateway, Some(admin), (Method::POST, "/admin/keys"), Some(body)).await?;
    anyhow::ensure!(made.status == 201, "{}", made.text());
    Ok(made.json()?["key"].as_str().unwrap_or_default().to_owned())
}
