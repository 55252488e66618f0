//! The bridge: whatever a gateway, or a proxy before it, sends back, every request is answered exactly once.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use crate::transport::{BridgeError, Incoming, Remote, RemoteReply, bridge};

type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, BridgeError>> + Send + 'a>>;

/// A remote that gives what it is told to, and remembers what it was sent.
#[derive(Default)]
struct Scripted {
    replies: Mutex<VecDeque<Scene>>,
    sent: Mutex<Vec<(Method, HeaderMap, Bytes)>>,
}

#[derive(Clone)]
enum Scene {
    /// The connection is refused.
    Refused,
    /// An answer of that status and media type.
    Says(u16, &'static str, String),
    /// The same, with the connection reset at the end.
    Breaks(u16, &'static str, String),
    /// The same, with nothing more at the end, nor an end.
    Stalls(u16, &'static str, String),
    /// The connection stands, and that is all.
    Silent,
}

#[derive(Clone, Copy)]
enum End {
    Proper,
    Reset,
    Never,
}

struct Body {
    text: String,
    end: End,
}

impl Body {
    async fn end<T>(&self, proper: T) -> Result<T, BridgeError> {
        match self.end {
            End::Proper => Ok(proper),
            End::Reset => Err(BridgeError("reset".into())),
            End::Never => std::future::pending().await,
        }
    }
}

impl Incoming for Body {
    fn whole(self: Box<Self>) -> Pending<'static, Bytes> {
        Box::pin(async move {
            self.end(()).await?;
            Ok(Bytes::from(self.text))
        })
    }

    fn line(&mut self) -> Pending<'_, Option<Bytes>> {
        Box::pin(async {
            match self.text.split_once('\n').map(|(line, rest)| (line.to_owned(), rest.to_owned())) {
                Some((line, rest)) => {
                    self.text = rest;
                    Ok(Some(line.into()))
                }
                None => self.end(None).await,
            }
        })
    }
}

impl Remote for Scripted {
    fn send(&self, method: Method, headers: HeaderMap, body: Bytes) -> Pending<'_, RemoteReply> {
        Box::pin(async move {
            self.sent.lock().unwrap().push((method, headers, body));
            let scene = self.replies.lock().unwrap().pop_front();
            let (status, kind, text, end) = match scene {
                None | Some(Scene::Refused) => return Err(BridgeError("connection refused".into())),
                Some(Scene::Says(status, kind, text)) => (status, kind, text, End::Proper),
                Some(Scene::Breaks(status, kind, text)) => (status, kind, text, End::Reset),
                Some(Scene::Stalls(status, kind, text)) => (status, kind, text, End::Never),
                Some(Scene::Silent) => return std::future::pending().await,
            };
            let media_type = Some(kind.to_owned()).filter(|kind| !kind.is_empty());
            Ok(RemoteReply { status, session: None, media_type, body: Box::new(Body { text, end }) })
        })
    }
}

/// What the client hears after those lines, and what the remote was sent.
async fn heard(lines: &[Value], scenes: Vec<Scene>) -> (Vec<Value>, Scripted) {
    let remote = Scripted { replies: Mutex::new(scenes.into()), ..Scripted::default() };
    let input = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n";
    let mut output = Vec::new();
    bridge(&remote, input.as_bytes(), &mut output).await.unwrap();
    let output = String::from_utf8(output).unwrap();
    (output.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), remote)
}

fn ping(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

const HTML: &str = "<html><head><title>502 Bad Gateway</title></head>\n<body>nginx</body></html>";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

#[tokio::test(start_paused = true)]
async fn whatever_comes_back_a_request_gets_one_answer_that_says_what_it_was() {
    let good = json!({"jsonrpc": "2.0", "id": 7, "result": {}}).to_string();
    let other = json!({"jsonrpc": "2.0", "id": 8, "result": {}}).to_string();
    let event = |message: &str| format!("data: {message}\n\n");
    for (scene, part) in [
        (Scene::Refused, "connection refused"),
        (Scene::Says(502, "text/html", HTML.into()), "status 502 with text/html"),
        (Scene::Says(502, "text/html", HTML.into()), "502 Bad Gateway"),
        (Scene::Says(404, "text/html", "<h1>Not Found</h1>".into()), "status 404"),
        (Scene::Says(200, "text/html", HTML.into()), "status 200 with text/html"),
        (Scene::Says(200, JSON, good[..20].into()), "no answer to this request"),
        (Scene::Says(200, JSON, other.clone()), "no answer to this request"),
        (Scene::Says(200, JSON, "[1]".into()), "no answer to this request"),
        (Scene::Says(200, JSON, String::new()), "status 200 without a message"),
        (Scene::Says(202, "", String::new()), "status 202 without a message"),
        (Scene::Breaks(200, JSON, good[..20].into()), "reset"),
        (Scene::Says(200, EVENTS, String::new()), "ended without an answer"),
        (Scene::Says(200, EVENTS, event(&other)), "ended without an answer"),
        (Scene::Says(200, EVENTS, event("{\"half\":")), "ended without an answer"),
        (Scene::Breaks(200, EVENTS, String::new()), "reset"),
    ] {
        let (said, _) = heard(&[ping(7)], vec![scene]).await;
        assert_eq!(said.len(), 1, "{part}: {said:?}");
        assert_eq!(
            (&said[0]["id"], &said[0]["error"]["code"]),
            (&json!(7), &json!(-32000)),
            "{part}: {said:?}"
        );
        assert!(said[0]["error"]["message"].as_str().unwrap().contains(part), "{part}: {said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_answers_the_first_counts_and_one_without_an_id_is_given_it() {
    let answer = |id: Value| json!({"jsonrpc": "2.0", "id": id, "result": {}});
    let twice = format!("data: {}\n\ndata: {}\n\n", answer(json!(7)), answer(json!(7)));
    let (said, _) = heard(&[ping(7)], vec![Scene::Says(200, EVENTS, twice)]).await;
    assert_eq!(said, [answer(json!(7))]);
    let refusal = json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": "not here"}});
    let mut nobodys = refusal.clone();
    nobodys["id"] = Value::Null;
    for refusal in [refusal, nobodys] {
        let (said, _) = heard(&[ping(7)], vec![Scene::Says(403, JSON, refusal.to_string())]).await;
        let error = json!({"code": -32600, "message": "not here"});
        assert_eq!(said, [json!({"jsonrpc": "2.0", "id": 7, "error": error})]);
    }
    let batch = json!([ping(1), ping(2)]);
    let (said, _) = heard(&[batch], vec![Scene::Says(502, "text/html", HTML.into())]).await;
    assert_eq!((&said[0][0]["id"], &said[0][1]["id"]), (&json!(1), &json!(2)), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn every_request_of_a_batch_gets_one_answer_whatever_comes_back() {
    let answer = |id: u64| json!({"jsonrpc": "2.0", "id": id, "result": {}});
    let refusal = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "no"}});
    let news = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
    let event = |message: &Value| format!("data: {message}\n\n");
    let says = |message: Value| Scene::Says(200, JSON, message.to_string());
    let streams = |messages: &[Value]| Scene::Says(200, EVENTS, messages.iter().map(event).collect());
    for (scene, good, code) in [
        (says(json!([answer(1), answer(2)])), 2, None),
        (says(json!([answer(2)])), 1, Some(-32000)),
        (says(answer(2)), 1, Some(-32000)),
        (says(json!([])), 0, Some(-32000)),
        (says(json!(["<html>"])), 0, Some(-32000)),
        (says(json!([answer(1), "<html>", answer(1), answer(9), answer(2)])), 2, None),
        (says(json!([refusal, answer(1)])), 1, Some(-32000)),
        (says(refusal.clone()), 0, Some(-32600)),
        (Scene::Says(202, "", String::new()), 0, Some(-32000)),
        (Scene::Says(200, JSON, "[{".into()), 0, Some(-32000)),
        (streams(&[answer(1)]), 1, Some(-32000)),
        (streams(&[answer(1), answer(1), json!("<html>"), answer(2), answer(2)]), 2, None),
        (streams(&[json!([answer(2), "<html>"])]), 1, Some(-32000)),
        (streams(std::slice::from_ref(&refusal)), 0, Some(-32600)),
        (streams(&[]), 0, Some(-32000)),
        (Scene::Breaks(200, EVENTS, event(&answer(1))), 1, Some(-32000)),
        (Scene::Stalls(200, EVENTS, event(&answer(1))), 1, Some(-32000)),
        (Scene::Silent, 0, Some(-32000)),
    ] {
        let (said, _) = heard(&[json!([ping(1), news, ping(2)])], vec![scene]).await;
        let answers: Vec<&Value> = said
            .iter()
            .flat_map(|line| line.as_array().map_or_else(|| vec![line], |list| list.iter().collect()))
            .collect();
        let mut ids: Vec<u64> = answers.iter().filter_map(|answer| answer["id"].as_u64()).collect();
        ids.sort_unstable();
        assert_eq!((ids.as_slice(), answers.len()), (&[1, 2][..], 2), "{said:?}");
        assert_eq!(answers.iter().filter(|answer| answer["result"].is_object()).count(), good, "{said:?}");
        let refused = answers.iter().find_map(|answer| answer["error"]["code"].as_i64());
        assert_eq!(refused, code, "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_batch_brings_beside_its_answers_is_passed_on_and_an_empty_one_is_answered() {
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    let unread = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "no"}});
    let news = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
    let list = json!([news, unread, answer, unread]).to_string();
    let (said, _) = heard(&[json!([ping(1), 5])], vec![Scene::Says(200, JSON, list)]).await;
    assert_eq!(said, [news.clone(), json!([unread, answer])]);
    let (said, _) = heard(&[json!([])], vec![Scene::Says(400, JSON, unread.to_string())]).await;
    assert_eq!(said, [unread]);
    let (said, _) = heard(&[json!([news])], vec![Scene::Says(202, "", String::new())]).await;
    assert!(said.is_empty(), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_says_nothing_is_given_up_and_a_call_is_waited_for() {
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "t"}});
    for (asked, scene, minutes) in [
        (ping(7), Scene::Silent, 2),
        (call.clone(), Scene::Silent, 11),
        (json!([ping(6), call]), Scene::Silent, 11),
        (ping(7), Scene::Stalls(200, JSON, "{".into()), 5),
        (call.clone(), Scene::Stalls(200, EVENTS, ": here\n".into()), 2),
    ] {
        let started = tokio::time::Instant::now();
        let (said, _) = heard(&[asked], vec![scene]).await;
        assert!(said[0].to_string().contains(&format!("within {minutes} minutes")), "{said:?}");
        assert_eq!(started.elapsed().as_secs() / 60, minutes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_starts_is_asked_again_until_it_is_there_or_too_late() {
    let starting = || Scene::Says(503, JSON, json!({"ok": false, "status": "starting"}).to_string());
    let answer = json!({"jsonrpc": "2.0", "id": 7, "result": {}});
    let there = Scene::Says(200, JSON, answer.to_string());
    let (said, remote) = heard(&[ping(7)], vec![starting(), starting(), there]).await;
    assert_eq!(said, [answer]);
    assert_eq!(remote.sent.lock().unwrap().len(), 3);
    let (said, remote) = heard(&[ping(7)], vec![starting(); 200]).await;
    assert!(said[0]["error"]["message"].as_str().unwrap().contains("starting"), "{said:?}");
    assert!(remote.sent.lock().unwrap().len() < 100);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_is_come_back_to_where_it_says_how() {
    let answer = json!({"jsonrpc": "2.0", "id": 7, "result": {}});
    let rest = Scene::Says(200, EVENTS, format!("data: {answer}\n\n"));
    let breaks = Scene::Breaks(200, EVENTS, "id: 5-1-1\ndata:\n\n".into());
    let (said, remote) = heard(&[ping(7)], vec![breaks.clone(), Scene::Refused, rest]).await;
    assert_eq!(said, [answer]);
    let sent = remote.sent.lock().unwrap().clone();
    assert_eq!((&sent[1].0, &sent[2].1["last-event-id"]), (&Method::GET, &"5-1-1".parse().unwrap()));
    let (said, _) = heard(&[ping(7)], vec![breaks, Scene::Says(404, JSON, "{}".into())]).await;
    assert!(said[0]["error"]["message"].as_str().unwrap().contains("lost the call"), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_larger_than_what_others_may_leave_waiting_is_passed_on() {
    let large = json!({"jsonrpc": "2.0", "id": 7, "result": {"text": "x".repeat(20 * 1024 * 1024)}});
    let (said, _) = heard(&[ping(7)], vec![Scene::Says(200, JSON, large.to_string())]).await;
    assert!(said == [large]);
}

#[tokio::test(start_paused = true)]
async fn the_revision_travels_with_requests_whichever_way_initialize_was_answered() {
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18"}});
    let ok = json!({"jsonrpc": "2.0", "id": 2, "result": {}});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    for scene in [
        Scene::Says(200, JSON, answer.to_string()),
        Scene::Says(200, EVENTS, format!("event: message\ndata: {answer}\n\n")),
    ] {
        let remote = Scripted {
            replies: Mutex::new(vec![scene, Scene::Says(200, JSON, ok.to_string())].into()),
            ..Scripted::default()
        };
        let (mut client, input) = tokio::io::duplex(4096);
        let (output, said) = tokio::io::duplex(4096);
        let talking = async {
            use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
            let mut said = BufReader::new(said).lines();
            for line in [&initialize, &ping(2)] {
                client.write_all(format!("{line}\n").as_bytes()).await.unwrap();
                said.next_line().await.unwrap();
            }
            drop(client);
        };
        let (bridged, ()) = tokio::join!(bridge(&remote, input, output), talking);
        bridged.unwrap();
        let sent = remote.sent.lock().unwrap();
        assert_eq!(sent[1].1.get("mcp-protocol-version").unwrap(), "2025-06-18");
    }
}

/// 2026-07-28: arguments annotated with `x-mcp-header` are repeated in headers.
#[tokio::test(start_paused = true)]
async fn annotated_arguments_travel_in_headers_even_if_the_client_never_listed() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": "t", "arguments": {"region": "欧洲"}, "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params});
    let mismatch =
        json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32020, "message": "Mcp-Param-Region"}});
    let schema =
        json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    let tools =
        json!({"jsonrpc": "2.0", "id": "x", "result": {"tools": [{"name": "t", "inputSchema": schema}]}});
    let good = json!({"jsonrpc": "2.0", "id": 3, "result": {"content": []}});
    let says = |value: &Value| Scene::Says(200, JSON, value.to_string());
    let (said, remote) = heard(&[call], vec![says(&mismatch), says(&tools), says(&good)]).await;
    assert_eq!(said, [good]);
    let sent = remote.sent.lock().unwrap();
    assert_eq!(sent[1].1["mcp-method"], "tools/list");
    assert_eq!(sent[2].1["mcp-param-region"], "=?base64?5qyn5rSy?=");
}
