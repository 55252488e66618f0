//! Two administrators at once: whoever names the version he looked at never overwrites another's change (C8).

use anyhow::Result;
use serde_json::{Value, json};

use crate::support::{assert_failed, echo_tool, gateway_and_upstream, send};

#[tokio::test]
async fn c8_a_lost_update_is_refused_with_both_versions_and_how_they_differ() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let put = |headers: &'static [(&'static str, &'static str)], description: &'static str| {
        let mut tool = echo_tool("t", &upstream);
        tool["description"] = json!(description);
        let gateway = &gateway;
        async move { send(gateway, "PUT /admin/tools", headers, &tool).await }
    };
    let created = put(&[("if-none-match", "*")], "first").await?;
    assert_eq!((created.status, created.header("etag")), (200, Some("\"1\"")), "{}", created.text());
    assert_eq!(gateway.get("/admin/tools/t").await?.header("etag"), Some("\"1\""));
    let again = put(&[("if-none-match", "*")], "first").await?;
    assert_failed(&again, 409, "CONFLICT", "already a definition named \"t\"");

    let ours = put(&[("if-match", "\"1\"")], "ours").await?;
    assert_eq!((ours.status, ours.header("etag")), (200, Some("\"2\"")));
    assert_eq!(ours.json()?["version"], 2);
    let theirs = put(&[("if-match", "\"1\"")], "theirs").await?;
    assert_failed(&theirs, 409, "CONFLICT", "you expected version 1, version 2 is there");
    let body = theirs.json()?;
    assert_eq!((&body["yours"]["version"], &body["current"]["version"]), (&json!(1), &json!(2)));
    assert_eq!(body["yours"]["configJson"]["description"], "theirs");
    assert_eq!(body["current"]["configJson"]["description"], "ours");
    assert_eq!(
        (&body["current"]["enabled"], &body["current"]["updatedBy"]),
        (&json!(true), &json!("anonymous"))
    );
    assert!(body["current"]["updatedAt"].is_string(), "{body}");
    assert_eq!(
        body["differences"],
        json!([{"pointer": "/description", "before": "ours", "after": "theirs"}])
    );
    assert_eq!(put(&[], "whatever").await?.status, 200, "without a version the last one wins");
    Ok(())
}

#[tokio::test]
async fn every_change_can_name_the_version_it_is_for() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let tool = echo_tool("t", &upstream);
    let wrapped = |version: i64| json!({"name": "t", "version": version, "configJson": tool});
    assert_failed(
        &gateway.post_json("/admin/tools", &wrapped(1)).await?,
        409,
        "CONFLICT",
        "removed by somebody",
    );
    let mut first = tool.clone();
    first["description"] = "what it was first".into();
    gateway.post_json("/admin/tools", &first).await?;
    assert_eq!(gateway.post_json("/admin/tools", &wrapped(1)).await?.status, 200);

    let old = [("if-match", "\"1\"")];
    for (line, body) in [
        ("POST /admin/tools/t/disable", Value::Null),
        ("POST /admin/tools/t/enable", Value::Null),
        ("DELETE /admin/tools/t", Value::Null),
        ("DELETE /admin/tools/t?purge=true", Value::Null),
        ("POST /admin/tools/t/rollback", json!({"to": 1})),
        ("POST /admin/tools", tool.clone()),
    ] {
        let reply = send(&gateway, line, &old, &body).await?;
        assert_failed(&reply, 409, "CONFLICT", "version 2 is there");
    }
    let disabled = send(&gateway, "POST /admin/tools/t/disable", &[("if-match", "2")], &Value::Null).await?;
    assert_eq!((disabled.status, disabled.header("etag")), (200, Some("\"3\"")));
    let twice = send(&gateway, "POST /admin/tools/t/disable", &[("if-match", "3")], &Value::Null).await?;
    assert_eq!((twice.status, twice.header("etag")), (200, Some("\"3\"")), "it is so already");

    let contradiction = send(&gateway, "POST /admin/tools", &[("if-match", "3")], &wrapped(2)).await?;
    assert_failed(&contradiction, 400, "INVALID_REQUEST", "send one of them");
    for (name, value) in [("if-match", "*"), ("if-match", "\"a\""), ("if-none-match", "\"3\"")] {
        let reply = send(&gateway, "POST /admin/tools", &[(name, value)], &tool).await?;
        assert_failed(&reply, 400, "INVALID_REQUEST", "takes");
    }
    let batch = send(&gateway, "POST /admin/tools/batch", &[("if-match", "3")], &json!([tool])).await?;
    assert_failed(&batch, 400, "INVALID_REQUEST", "one definition");
    Ok(())
}

#[tokio::test]
async fn of_many_writers_with_one_version_one_wins() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let tool = echo_tool("t", &upstream);
    gateway.post_json("/admin/tools", &tool).await?;
    let attempts = (0..12).map(|number| {
        let mut tool = tool.clone();
        tool["description"] = json!(format!("by number {number}"));
        let gateway = &gateway;
        async move { send(gateway, "POST /admin/tools", &[("if-match", "\"1\"")], &tool).await }
    });
    let mut statuses = Vec::new();
    for reply in futures_util::future::join_all(attempts).await {
        statuses.push(reply?.status);
    }
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (200, &[409; 11][..]));
    assert_eq!(gateway.get("/admin/tools/t").await?.header("etag"), Some("\"2\""));
    Ok(())
}

#[tokio::test]
async fn a_batch_with_a_stale_version_is_not_written_unless_each_stands_on_its_own() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    gateway.post_json("/admin/tools", &echo_tool("a", &upstream)).await?;
    let stale = json!({"version": 7, "configJson": echo_tool("a", &upstream)});
    let good = echo_tool("b", &upstream);
    let all = gateway.post_json("/admin/tools/batch", &json!({"tools": [good, stale]})).await?;
    assert_failed(&all, 409, "CONFLICT", "version 7");
    assert_eq!(gateway.get("/admin/tools/b").await?.status, 404);
    let each = json!({"tools": [stale, good], "mode": "each"});
    let body = gateway.post_json("/admin/tools/batch", &each).await?.json()?;
    let statuses: Vec<&Value> =
        body["results"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
    assert_eq!(statuses, ["refused", "created"], "{body}");
    assert_eq!((&body["added"], &body["refused"]), (&json!(1), &json!(1)));
    Ok(())
}
