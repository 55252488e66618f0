//! What `/admin/…` refuses before it looks at any definition: paths and bodies that cannot be read for sure.

use anyhow::Result;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::json;

use crate::support::{assert_failed, gateway_and_upstream};

#[tokio::test]
async fn a_path_that_is_no_text_is_refused_in_json() -> Result<()> {
    let (gateway, _upstream) = gateway_and_upstream().await?;
    for path in ["", "/history", "/history/1", "/diff"] {
        let reply = gateway.get(&format!("/admin/tools/%FF{path}")).await?;
        assert_failed(&reply, 400, "INVALID_REQUEST", "the path cannot be read");
    }
    for path in ["/enable", "/preview", "/rollback"] {
        let reply = gateway.post_json(&format!("/admin/tools/%FF{path}"), &json!({})).await?;
        assert_failed(&reply, 400, "INVALID_REQUEST", "the path cannot be read");
    }
    Ok(())
}

#[tokio::test]
async fn a_definition_in_which_a_key_stands_twice_is_refused() -> Result<()> {
    let (gateway, _upstream) = gateway_and_upstream().await?;
    let definition = r#"{"name": "a", "description": "d", "http": {"url": "http://x/", "url": "http://y/"}}"#;
    let wrapped = json!({"name": "a", "configJson": definition}).to_string();
    let listed = format!("{{\"tools\": [{definition}]}}");
    for (path, body, pointer) in [
        ("/admin/tools", definition, "/http/url"),
        ("/admin/tools", &wrapped, "/configJson/http/url"),
        ("/admin/tools/batch", &listed, "/tools/0/http/url"),
        ("/admin/sync", &listed, "/tools/0/http/url"),
    ] {
        let request = Request::post(path).body(Full::new(Bytes::copy_from_slice(body.as_bytes())))?;
        let reply = gateway.request(request).await?;
        assert_failed(&reply, 422, "INVALID_DEFINITION", &format!("{pointer}: stands twice"));
    }
    let request = Request::post("/admin/tools/validate").body(Full::new(Bytes::from(definition)))?;
    let checked = gateway.request(request).await?.json()?;
    assert_eq!((&checked["valid"], &checked["problems"][0]["pointer"]), (&json!(false), &json!("/http/url")));
    Ok(())
}
