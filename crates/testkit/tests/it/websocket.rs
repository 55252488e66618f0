//! The WebSocket client against a server that answers every text with a notification and then with what it got.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;
use toolrail_testkit::WebSocket;

#[tokio::test]
async fn messages_travel_over_a_web_socket() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp/ws", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        while let Some(Ok(Message::Text(text))) = socket.next().await {
            let request: Value = serde_json::from_str(&text).unwrap();
            let answer = json!({ "id": request["id"], "result": request["params"] });
            for message in [json!({ "method": "notifications/progress" }), answer] {
                socket.send(Message::text(message.to_string())).await.unwrap();
            }
        }
        socket.close(None).await.unwrap();
    });
    let mut socket = WebSocket::connect(&url, &[("origin", "http://127.0.0.1")]).await.unwrap();
    assert_eq!(socket.call("ping", json!({ "a": 1 })).await.unwrap()["result"], json!({ "a": 1 }));
    assert_eq!(socket.receive().await.unwrap()["method"], "notifications/progress");
    socket.close().await.unwrap();
}
