//! What functions return, and how clients get it.

use serde_json::{Value, json};
use toolrail_core::{Block, ErrorCode, Payload, ToolResult};
use toolrail_tool::{Content, IntoToolResult, Offering, ResourceContents, Tool, ToolError, ToolOutput, tool};

use crate::client::{call, everything, text};

async fn result<R: IntoToolResult + Clone + Send + Sync + 'static>(value: R) -> ToolResult {
    let offering = Offering::new();
    let tool = Tool::new("it", move |_| {
        let value = value.clone();
        Box::pin(async move { value })
    });
    offering.add(tool).unwrap();
    call(&offering, "it", json!({})).await.unwrap()
}

fn whole(result: ToolResult) -> Value {
    match result.payload {
        Payload::Whole(json) => json.to_value(),
        other => panic!("not whole: {other:?}"),
    }
}

#[tokio::test]
async fn plain_values_are_text() {
    assert_eq!(text(Ok(result("a").await)), "a");
    assert_eq!(text(Ok(result(1.5).await)), "1.5");
    assert_eq!(text(Ok(result(true).await)), "true");
    assert_eq!(result(()).await.payload, Payload::Empty);
}

#[tokio::test]
async fn content_keeps_its_kind() {
    let blocks = vec![
        Content::text("a"),
        Content::image(&b"png"[..], "image/png"),
        ResourceContents::text("x://y", "text/plain", "z").into(),
    ];
    let expected = vec![
        Block::Text("a".into()),
        Block::Image { data: "png".into(), mime: "image/png".into() },
        Block::TextResource { uri: "x://y".into(), mime: "text/plain".into(), text: "z".into() },
    ];
    assert_eq!(result(blocks).await.payload, Payload::Blocks(expected));
    let linked = whole(result(Content::link("x://y", "y")).await);
    let link = json!({"type": "resource_link", "uri": "x://y", "name": "y"});
    assert_eq!(linked, json!({"content": [link], "isError": false}));
}

#[tokio::test]
async fn a_whole_output_says_everything() {
    let mut output = ToolOutput::structured(json!([1]));
    output.is_error = true;
    output.meta.insert("a/b".into(), json!(2));
    let told = result(output).await;
    assert!(told.is_error);
    assert_eq!(
        whole(told),
        json!({
            "content": [{"type": "text", "text": "[1]"}], "isError": true,
            "structuredContent": [1], "_meta": {"a/b": 2},
        })
    );
}

#[tokio::test]
async fn an_error_is_told_to_the_model() {
    let failed = result(Err::<(), _>("no such file")).await;
    assert!(failed.is_error);
    assert_eq!(text(Ok(failed)), "no such file");
}

#[tokio::test]
async fn a_json_rpc_error_is_told_to_the_client() {
    let offering = Offering::new();
    let tool = Tool::new("it", |_| {
        Box::pin(async { Err::<(), _>(ToolError::rpc(-32603, "broken", Some(json!({"a": 1})))) })
    });
    offering.add(tool).unwrap();
    let error = call(&offering, "it", json!({})).await.unwrap_err();
    let rpc = error.rpc.unwrap();
    assert_eq!((rpc.code, rpc.message.as_str(), rpc.data), (-32603, "broken", Some(json!({"a": 1}))));
}

#[tokio::test]
async fn a_panic_is_a_failure_of_the_tool() {
    let offering = Offering::new();
    let tool = Tool::new("it", |ctx| {
        Box::pin(async move {
            assert_ne!(ctx.name(), "it", "panicking on purpose, for a test");
        })
    });
    offering.add(tool).unwrap();
    let failed = call(&offering, "it", json!({})).await.unwrap();
    assert!(failed.is_error);
    assert_eq!(text(Ok(failed)), "it panicked; the log of the gateway says where");
}

#[tool(timeout_ms = 5_000)]
async fn endless() {
    std::future::pending::<()>().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_end_is_ended() {
    let error = call(everything(), "endless", json!({})).await.unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::Timeout, "endless did not end within 5000 ms; try again, or raise its timeout_ms")
    );
}

#[tokio::test]
async fn work_elsewhere_hears_of_the_end_of_a_call() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let offering = Offering::new();
    let tool = Tool::new("it", move |ctx| {
        let sender = sender.clone();
        Box::pin(async move {
            let cancellation = ctx.cancellation();
            assert!(!cancellation.is_cancelled());
            sender.send(cancellation).unwrap();
            std::future::pending::<()>().await;
        })
    });
    offering.add(tool).unwrap();
    {
        let mut running = Box::pin(call(&offering, "it", json!({})));
        assert!(futures_util::poll!(&mut running).is_pending());
    }
    assert!(receiver.recv().unwrap().is_cancelled());
}
