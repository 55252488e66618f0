//! How often a call and a search take memory, from the request of a client to its answer, with everything warm. The numbers
//! are nearly the same on every machine; one that grew is found here before somebody feels it.

use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError};
use std::thread;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolrail_admin::Admin;
use toolrail_core::{Principal, Way};
use toolrail_http::{Addresses, Doorkeeper, Guard, Guarded, Listener, Plane, Served, Tenants};
use toolrail_mcp::{Server, ServerInfo};
use toolrail_store::StoreUrl;

use crate::measured::{set_apart, times_taken};
use crate::{ALONE, serving_all};

/// What each took when somebody last looked.
const SMALL_CALL: u64 = 46;
const LARGE_CALL: u64 = 56;
const SEARCH: u64 = 79;
/// Another system may hand over an answer in other pieces.
const MORE_ELSEWHERE: u64 = 3;

const LARGE: usize = 64 * 1024;

#[test]
fn a_call_and_a_search_take_memory_no_more_often_than_recorded() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    set_apart();
    let here = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let counted = here.block_on(async {
        let upstream = upstream().await;
        let gateway = gateway(upstream);
        let mut stream = TcpStream::connect(gateway).await.unwrap();
        let small = count(&mut stream, &call(gateway, "small")).await;
        let large = count(&mut stream, &call(gateway, "large")).await;
        let search = format!("GET /mcp/search?q=weather&limit=5 HTTP/1.1\r\nHost: {gateway}\r\n\r\n");
        let search = count(&mut stream, &search).await;
        [
            ("a small call", small, SMALL_CALL),
            ("a call that answers 64 KB", large, LARGE_CALL),
            ("a search", search, SEARCH),
        ]
    });
    let more: Vec<_> =
        counted.iter().filter(|(_, count, recorded)| *count > recorded + MORE_ELSEWHERE).collect();
    assert!(more.is_empty(), "more than recorded (what, now, recorded): {counted:?}");
}

/// The least that one request took of many, in which nothing else happened.
async fn count(stream: &mut TcpStream, request: &str) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..200 {
        let before = times_taken();
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read(stream).await;
        assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("\"isError\":true"), "{answer:.400}");
        assert!(answer.contains("weather"), "{answer:.400}");
        least = least.min(times_taken() - before);
    }
    least
}

/// One answer, as long as its head says.
async fn read(stream: &mut TcpStream) -> String {
    let mut received = Vec::new();
    loop {
        assert!(stream.read_buf(&mut received).await.unwrap() > 0, "the connection ended");
        let text = String::from_utf8_lossy(&received);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let is_whole = match length {
            Some(length) => body.len() >= length.parse::<usize>().unwrap(),
            None => body.ends_with("0\r\n\r\n"),
        };
        if is_whole {
            return text.into_owned();
        }
    }
}

fn call(gateway: SocketAddr, tool: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {"city": "Berlin"}}});
    let body = body.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {gateway}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A service on this thread, which is not counted.
async fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    address
}

async fn answer(mut stream: TcpStream) {
    let mut received = vec![0; 1 << 16];
    while let Ok(length @ 1..) = stream.read(&mut received).await {
        let is_large = received[..length].starts_with(b"GET /large");
        let padding = "x".repeat(if is_large { LARGE } else { 100 });
        let body = json!({"weather": "fine", "more": padding}).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let sent = stream.write_all((head + &body).as_bytes()).await;
        if sent.is_err() {
            return;
        }
    }
}

/// A gateway on a thread of its own.
fn gateway(upstream: SocketAddr) -> SocketAddr {
    let (tell, told) = channel();
    thread::spawn(move || {
        let there =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        there.block_on(async {
            let definitions = ["small", "large"].map(|name| definition(name, upstream)).to_vec();
            let store = toolrail_store::open(&StoreUrl::Memory).await.unwrap();
            let registry = Arc::new(serving_all(definitions, store).await);
            let info =
                ServerInfo { name: "costs".into(), title: None, version: "1".into(), instructions: None };
            let mcp = Server::new(Arc::clone(&registry), info, &[7; 32]);
            let routes = toolrail_admin::routes(Admin::new(registry, "1", Way::AdminApi));
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let calls = listener.local_addr().unwrap();
            let guard = Guard::new(&Addresses { calls, administration: None }, &[], &[]);
            let guarded = Guarded {
                guard,
                doorkeeper: Doorkeeper::Open(Tenants::new(Principal::Anonymous)),
                mcp,
                routes,
                sign_in: None,
            };
            tell.send(calls).unwrap();
            let never = || Box::pin(std::future::pending());
            let served = Arc::new(Served::from_pointee(guarded));
            toolrail_http::serve(Listener::Tcp(listener), Plane::Whole, served, (never(), never())).await;
        });
    });
    told.recv().unwrap()
}

fn definition(name: &str, upstream: SocketAddr) -> Value {
    json!({
        "name": name,
        "description": "Current weather for a city",
        "inputSchema": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}},
        "http": {"method": "GET", "url": format!("http://{upstream}/{name}"), "query": {"q": "{{args.city}}"}},
    })
}
