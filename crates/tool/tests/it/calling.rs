//! Tools that call others.

use serde_json::json;
use toolrail_tool::{Context, Json, ToolError, tool};

use crate::client::{Client, Era, call, call_as, everything, text};

#[tool]
async fn double(number: i64, ctx: &Context) -> Json<i64> {
    ctx.progress(1.0, 1.0).info("doubling");
    Json(number * 2)
}

#[tool]
async fn quadruple(number: i64, ctx: &Context) -> Result<i64, ToolError> {
    let twice: i64 = ctx.call("double", json!({ "number": number })).await?.parse()?;
    ctx.call("double", json!({ "number": twice })).await?.parse()
}

#[tool]
async fn egg(ctx: &Context) -> Result<String, ToolError> {
    Ok(ctx.call("hen", json!({})).await?.text())
}

#[tool]
async fn hen(ctx: &Context) -> Result<String, ToolError> {
    Ok(ctx.call("Egg", json!({})).await?.text())
}

#[tokio::test]
async fn a_tool_calls_another() {
    let client = Client::new(Era::Legacy, json!({}));
    assert_eq!(text(call_as(everything(), "quadruple", json!({"number": 3}), &client).await), "12");
    // The progress of a called tool is not that of the request.
    let heard = client.heard.lock().unwrap().clone();
    assert_eq!(heard, ["double: info \"doubling\"", "double: info \"doubling\""]);
}

#[tokio::test]
async fn tools_that_call_one_another_in_a_circle_are_stopped() {
    let result = call(everything(), "egg", json!({})).await.unwrap();
    assert!(result.is_error);
    assert_eq!(text(Ok(result)), "tools call one another in a circle: egg → hen → Egg");
}

/// A client that is itself at the end of a long chain.
struct Deep(Vec<String>);

impl toolrail_core::Caller for Deep {
    fn chain(&self) -> &[String] {
        &self.0
    }
}

#[tokio::test]
async fn a_chain_of_calls_has_an_end() {
    let deep = Deep((1..=15).map(|number| format!("t{number}")).collect());
    let result = call_as(everything(), "quadruple", json!({"number": 1}), &deep).await.unwrap();
    let told = text(Ok(result));
    assert!(told.starts_with("more than 16 tools call one another: t1 → t2"), "{told}");
}
