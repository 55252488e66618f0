//! `serve --demo`: every tool is live, well described and works offline.

use anyhow::Result;
use serde_json::json;
use toolrail_testkit::Gateway;

use crate::support::{BINARY, call, listed};

async fn demo() -> Result<Gateway> {
    Gateway::builder(BINARY).arg("--demo").start().await
}

#[tokio::test]
async fn the_demonstration_has_no_problems_not_even_warnings() -> Result<()> {
    let gateway = demo().await?;
    assert_eq!(gateway.get("/admin/problems").await?.json()?, json!({"problems": []}));
    let expected = [
        "chart.image",
        "echo.request",
        "note.add",
        "order.create",
        "user.get",
        "user.search",
        "weather.current",
        "weather.forecast",
    ];
    assert_eq!(listed(&gateway).await?, expected);
    Ok(())
}

#[tokio::test]
async fn every_tool_of_the_demonstration_works() -> Result<()> {
    let gateway = demo().await?;
    let order = json!({
        "userId": 2, "items": [{"sku": "TEA-1", "quantity": 2}, {"sku": "CUP-7", "quantity": 1}],
        "delivery": {"city": "上海"}
    });
    for (tool, arguments, pointer, expected) in [
        ("weather.current", json!({"city": "Paris"}), "/units", json!("celsius")),
        ("weather.current", json!({"city": "北京", "units": "fahrenheit"}), "/city", json!("北京")),
        ("user.get", json!({"id": 2}), "/name", json!("王小明")),
        ("user.search", json!({"role": ["admin", "clerk"]}), "/1/id", json!(3)),
        ("user.search", json!({"name": "alan"}), "/0/name", json!("Alan Turing")),
        (
            "order.create",
            order,
            "/received",
            json!({
                "user": {"id": 2},
                "lines": [{"sku": "TEA-1", "quantity": 2}, {"sku": "CUP-7", "quantity": 1}],
                "delivery": {"city": "上海"}
            }),
        ),
        (
            "note.add",
            json!({"text": "buy milk & tea", "label": ["a", "b"]}),
            "",
            json!({
                "count": 1, "text": "buy milk & tea", "labels": ["a", "b"]
            }),
        ),
        ("echo.request", json!({"message": "你好"}), "/body/message", json!("你好")),
        ("chart.image", json!({"values": [1, 5, 3]}), "/content/0/mimeType", json!("image/png")),
    ] {
        let reply = call(&gateway, tool, arguments).await?;
        let body = reply.json()?;
        assert_eq!(body["result"].pointer(pointer), Some(&expected), "{tool}: {body:#}");
    }
    let forecast = call(&gateway, "weather.forecast", json!({"city": "Paris", "days": 2})).await?.json()?;
    assert_eq!(forecast["result"].as_str().unwrap().trim().lines().count(), 3, "{forecast}");
    Ok(())
}

#[tokio::test]
async fn the_demonstrations_secret_is_masked_in_preview_and_answer() -> Result<()> {
    let gateway = demo().await?;
    let arguments = json!({"arguments": {"message": "hi"}});
    let preview = gateway.post_json("/admin/tools/echo.request/preview", &arguments).await?;
    let answer = call(&gateway, "echo.request", json!({"message": "hi"})).await?;
    for reply in [&preview, &answer] {
        assert!(reply.status == 200 && reply.text().contains("***"), "{}", reply.text());
        assert!(!reply.text().contains("demo-0a1b2c3d4e5f"), "{}", reply.text());
    }
    Ok(())
}

#[tokio::test]
async fn the_demonstration_gives_the_same_answers_every_time() -> Result<()> {
    let (one, other) = (demo().await?, demo().await?);
    let arguments = json!({"city": "Paris"});
    let answer = call(&one, "weather.current", arguments.clone()).await?;
    assert_eq!(answer.text(), call(&other, "weather.current", arguments).await?.text());
    Ok(())
}
