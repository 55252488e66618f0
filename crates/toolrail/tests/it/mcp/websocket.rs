//! MCP over WebSocket at `/mcp/ws`: the full method set and the plain dialect of the source document.

use std::time::Duration;

use serde_json::json;
use toolrail_testkit::{Gateway, RawConnection, WebSocket, wait_until};

use crate::support::{plain, register, started, weather};

async fn connect(gateway: &Gateway) -> WebSocket {
    let url = format!("{}/mcp/ws", gateway.url().replacen("http", "ws", 1));
    WebSocket::connect(&url, &[]).await.unwrap()
}

/// R4, R10, R18: the shapes of mcp-lite.
#[tokio::test]
async fn the_plain_dialect_has_the_documents_shapes() {
    let (gateway, upstream) = started().await;
    register(&gateway, &weather("weather.search", &upstream.url("/echo"))).await;
    register(&gateway, &plain("broken", &upstream.url("/status/500"))).await;
    let mut socket = connect(&gateway).await;
    socket.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})).await.unwrap();
    let answer = socket.receive().await.unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let expected =
        json!({"serverInfo": {"name": "toolrail", "version": version}, "capabilities": {"tools": true}});
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 1, "result": expected}));

    let list = socket.call("tools/list", json!({})).await.unwrap();
    assert_eq!(list["result"]["tools"][1]["name"], "weather.search");
    let call = json!({"tool": "weather.search", "arguments": {"city": "Shanghai"}});
    let answer = socket.call("tools/call", call).await.unwrap();
    assert_eq!(answer["result"]["content"]["query"], "q=Shanghai", "the raw upstream JSON: {answer}");
    let failed = socket.call("tools/call", json!({"tool": "broken", "arguments": {}})).await.unwrap();
    assert_eq!(failed["error"]["code"], -32000);
    let unknown = socket.call("tools/call", json!({"tool": "nope", "arguments": {}})).await.unwrap();
    assert_eq!(unknown["error"]["code"], -32601);
    let standard = socket
        .call("tools/call", json!({"name": "weather.search", "arguments": {"city": "x"}}))
        .await
        .unwrap();
    assert_eq!(standard["result"]["content"][0]["type"], "text", "with `name`, the standard's shape");
}

#[tokio::test]
async fn a_standard_client_gets_the_standards_shapes() {
    let (gateway, upstream) = started().await;
    register(&gateway, &plain("echo", &upstream.url("/echo"))).await;
    let mut socket = connect(&gateway).await;
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    let answer = socket.call("initialize", params).await.unwrap();
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    let unknown = socket.call("tools/call", json!({"name": "nope"})).await.unwrap();
    assert_eq!(unknown["error"]["code"], -32602);
    let call = socket.call("tools/call", json!({"name": "echo"})).await.unwrap();
    assert_eq!(call["result"]["content"][0]["type"], "text");
}

/// R21: a slow call does not block later ones on the socket, and bad messages do not end it.
#[tokio::test]
async fn a_slow_call_blocks_nothing() {
    let (gateway, upstream) = started().await;
    register(&gateway, &plain("slow", &upstream.url("/slow/2000"))).await;
    register(&gateway, &plain("fast", &upstream.url("/echo"))).await;
    let mut socket = connect(&gateway).await;
    for (id, name) in [(1, "slow"), (2, "fast")] {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}});
        socket.send(&call).await.unwrap();
    }
    socket.send_text("{").await.unwrap();
    let (first, second) = (socket.receive().await.unwrap(), socket.receive().await.unwrap());
    let mut early = [first, second];
    early.sort_by_key(|answer| answer["id"].is_null());
    assert_eq!(early[0]["id"], 2);
    assert_eq!(early[1]["error"]["code"], -32700);
    assert_eq!(socket.receive().await.unwrap()["id"], 1);
}

/// A cancelled call gets no answer.
#[tokio::test]
async fn a_call_can_be_cancelled() {
    let (gateway, upstream) = started().await;
    register(&gateway, &plain("slow", &upstream.url("/slow/1500"))).await;
    let mut socket = connect(&gateway).await;
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "slow"}});
    socket.send(&call).await.unwrap();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    socket.send(&cancel).await.unwrap();
    register(&gateway, &plain("later", &upstream.url("/slow/2000"))).await;
    let call = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "later"}});
    socket.send(&call).await.unwrap();
    assert_eq!(socket.receive().await.unwrap()["id"], 6);
}

#[tokio::test]
async fn a_page_of_another_site_cannot_connect() {
    let (gateway, _upstream) = started().await;
    let url = format!("{}/mcp/ws", gateway.url().replacen("http", "ws", 1));
    assert!(WebSocket::connect(&url, &[("origin", "https://evil.example")]).await.is_err());
}

#[tokio::test]
async fn a_client_that_closes_is_answered() {
    let (gateway, _upstream) = started().await;
    for code in [1000, 1001, 4321] {
        let mut socket = connect(&gateway).await;
        socket.call("ping", json!({})).await.unwrap();
        assert_eq!(socket.close_with(code).await.unwrap(), Some(code));
    }
}

/// 1001: going away.
#[tokio::test]
async fn a_server_that_stops_says_goodbye() {
    let (mut gateway, _upstream) = started().await;
    let mut socket = connect(&gateway).await;
    socket.call("ping", json!({})).await.unwrap();
    let (stopped, code) = tokio::join!(gateway.stop(), socket.closed());
    assert_eq!(code.unwrap(), Some(1001));
    assert!(stopped.unwrap().success());
}

/// 1001 comes after the answers to the calls that were under way.
#[tokio::test]
async fn a_server_that_stops_lets_the_calls_under_way_finish() {
    let (mut gateway, upstream) = started().await;
    register(&gateway, &plain("slow", &upstream.url("/slow/1000"))).await;
    let mut socket = connect(&gateway).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow"}});
    socket.send(&call).await.unwrap();
    let reached = wait_until("the call to reach the upstream", Duration::from_secs(10), async || {
        (upstream.count("/slow/1000") == 1).then_some(())
    });
    reached.await.unwrap();
    let talking = async {
        let answer = socket.receive().await.unwrap();
        assert_eq!((&answer["id"], answer.get("error")), (&json!(1), None), "{answer}");
        socket.closed().await.unwrap()
    };
    let (stopped, code) = tokio::join!(gateway.stop(), talking);
    assert_eq!(code, Some(1001));
    assert!(stopped.unwrap().success());
}

/// Opens a socket by hand, sends these bytes and tells what comes back.
async fn said_to(gateway: &Gateway, bytes: &[u8]) -> Vec<u8> {
    let mut connection = RawConnection::open(gateway.url()).await.unwrap();
    let upgrade = format!(
        "GET /mcp/ws HTTP/1.1\r\nhost: {}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        connection.host()
    );
    connection.send(upgrade.as_bytes()).await.unwrap();
    assert!(connection.head().await.unwrap().starts_with("http/1.1 101"));
    connection.send(bytes).await.unwrap();
    connection.rest().await.unwrap()
}

/// 1009: too big.
#[tokio::test]
async fn a_message_over_the_limit_closes_with_its_own_code() {
    let (gateway, _upstream) = started().await;
    // A masked text of which only the length is said: whoever sends all of it may hear of nothing but a broken pipe.
    let mut head = vec![0x81, 0xff];
    head.extend((4_u64 * 1024 * 1024 + 1).to_be_bytes());
    head.extend([0; 4]);
    let said = said_to(&gateway, &head).await;
    assert_eq!((said[0], &said[2..4]), (0x88, &1009_u16.to_be_bytes()[..]), "{said:?}");
}

/// 1002: a protocol error; 1007: data that does not fit the type of the message.
#[tokio::test]
async fn a_bad_frame_closes_with_a_code_and_the_reason() {
    let (gateway, _upstream) = started().await;
    for (frame, code, reason) in [
        // A reserved bit, a reserved kind of frame, a frame without a mask, the rest of nothing.
        (&[0xc1, 0x80, 0, 0, 0, 0][..], 1002_u16, "not a proper frame: "),
        (&[0x83, 0x80, 0, 0, 0, 0], 1002, "not a proper frame: "),
        (&[0x81, 0x01, b'x'], 1002, "not a proper frame: "),
        (&[0x80, 0x80, 0, 0, 0, 0], 1002, "not a proper frame: "),
        (&[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe], 1007, "a text must be UTF-8"),
    ] {
        let said = said_to(&gateway, frame).await;
        assert!(said.len() >= 4, "{frame:x?} -> {said:?}");
        assert_eq!((said[0], &said[2..4]), (0x88, &code.to_be_bytes()[..]), "{frame:x?} -> {said:?}");
        let told = String::from_utf8_lossy(&said[4..]);
        assert!(told.starts_with(reason), "{frame:x?} -> {told}");
    }
}
