//! What the properties are checked with: messages that are nearly right, and bytes that are not.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Messages as clients send them, to be broken. None opens a stream that never ends.
const GOOD: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"cursor":"eA=="}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nowhere","arguments":{"a":[1,{"b":"\u00e9"}]}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nowhere","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":7}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"x","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":"x","arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"test://x"}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}}}"#,
    r#"{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"info"}}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":"tasks/get","params":{"taskId":"x"}}"#,
    r#"{"jsonrpc":"2.0","id":10,"result":{}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
];

/// Pieces that readers of JSON, numbers and text stumble over.
const TRAPS: &[&[u8]] = &[
    b"null",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\xc0\xaf",
    b"\xef\xbb\xbf",
    b"\0",
    b"1e999",
    b"-0",
    b"18446744073709551616",
    b",",
    b":",
    b"\r\n",
    b"\n\n",
    b"data:",
    b"{}",
    b"[]",
    b"true",
    b"\"id\":null,",
    b"\"id\":1.5,",
    b"\"jsonrpc\":\"1.0\",",
    b"\"params\":[],",
    b"\"_meta\":1,",
];

/// Any bytes.
pub(crate) fn raw_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..200),
        // A frame's first two bytes as they might be, so that what follows is looked into.
        (
            prop::sample::select(vec![0x81_u8, 0x82, 0x01, 0x80, 0x88, 0x89, 0x8a]),
            any::<u8>(),
            vec(any::<u8>(), 0..200)
        )
            .prop_map(|(first, second, rest)| [&[first, second | 0x80][..], &rest].concat()),
    ]
}

/// A message for the server, good or bad.
pub(crate) fn message() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        1 => vec(any::<u8>(), 0..100),
        6 => broken(),
        2 => envelope().prop_map(|value| value.to_string().into_bytes()),
        1 => json_value().prop_map(|value| value.to_string().into_bytes()),
    ]
}

/// A good message with up to four things done to it.
fn broken() -> impl Strategy<Value = Vec<u8>> {
    (prop::sample::select(GOOD), vec(damage(), 0..5)).prop_map(|(good, damages)| {
        damages.iter().fold(good.as_bytes().to_vec(), |bytes, damage| damage.done_to(bytes))
    })
}

#[derive(Clone, Debug)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, &'static [u8]),
    Remove(prop::sample::Index, usize),
    Double(prop::sample::Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        (place(), any::<u8>()).prop_map(|(at, with)| Damage::Flip(at, with)),
        (place(), prop::sample::select(TRAPS)).prop_map(|(at, trap)| Damage::Insert(at, trap)),
        (place(), 1..20_usize).prop_map(|(at, count)| Damage::Remove(at, count)),
        (place(), 1..60_usize).prop_map(|(at, count)| Damage::Double(at, count)),
    ]
}

impl Damage {
    fn done_to(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let size = bytes.len() + 1;
        match self {
            Self::Flip(at, with) => {
                if let Some(byte) = bytes.get_mut(at.index(size)) {
                    *byte ^= with;
                }
            }
            Self::Insert(at, trap) => {
                let at = at.index(size);
                bytes.splice(at..at, trap.iter().copied());
            }
            Self::Remove(at, count) => {
                let at = at.index(size);
                let end = (at + count).min(bytes.len());
                bytes.drain(at..end);
            }
            Self::Double(at, count) => {
                let at = at.index(size);
                let again = bytes[at..(at + count).min(bytes.len())].to_vec();
                bytes.splice(at..at, again);
            }
        }
        bytes
    }
}

/// An envelope whose members are of any type.
fn envelope() -> impl Strategy<Value = Value> {
    let member = |name: &'static str, good: Value| prop_oneof![3 => Just(Some((name, good))), 1 => json_value().prop_map(move |value| Some((name, value))), 1 => Just(None)];
    let method = prop::sample::select(vec![
        "ping",
        "tools/list",
        "tools/call",
        "server/discover",
        "initialize",
        "nope",
    ]);
    (
        member("jsonrpc", json!("2.0")),
        member("id", json!(1)),
        method.prop_flat_map(move |method| member("method", json!(method))),
        member("params", json!({})),
        prop::option::weighted(0.1, json_value().prop_map(|value| ("result", value))),
    )
        .prop_map(|(version, id, method, params, result)| {
            let members = [version, id, method, params, result].into_iter().flatten();
            Value::Object(members.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
        })
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((".{0,8}", inner), 0..6).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A stream of server-sent events: good ones, broken ones, and what is none.
pub(crate) fn sse_stream() -> impl Strategy<Value = Vec<u8>> {
    let ending = || prop::sample::select(vec!["\n", "\r\n", "\r"]);
    let field = prop_oneof![
        4 => sse_message().prop_map(|message| format!("data: {message}")),
        1 => sse_message().prop_map(|message| format!("data:{message}")),
        1 => ".{0,30}".prop_map(|text| format!("data: {text}")),
        1 => ".{0,10}".prop_map(|text| format!(": {text}")),
        1 => ".{0,10}".prop_map(|text| format!("event: {text}")),
        1 => ".{0,10}".prop_map(|text| format!("id: {text}")),
        1 => Just("retry: 99999999999999999999".to_owned()),
        1 => Just("data".to_owned()),
        3 => Just(String::new()),
    ];
    let lines = vec((field, ending()), 0..12).prop_map(|lines| {
        lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect::<String>()
    });
    (lines, vec(any::<u8>(), 0..20), prop::bool::weighted(0.3)).prop_map(|(lines, junk, is_answered)| {
        let answer: &[u8] = if is_answered {
            // Spread over lines, as a server may.
            b"\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\ndata: \"result\":{\"resultType\":\"complete\",\ndata: \"content\":[]}}\n\n"
        } else {
            b""
        };
        [lines.as_bytes(), &junk, answer].concat()
    })
}

/// What an event may carry; `ID` becomes the id of the call.
fn sse_message() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a\u2028b"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"resultType":"complete"}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required"}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":[]}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":ID,"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"error":{"code":"x","message":1}}"#,
        r#"{"jsonrpc":"2.0","id":"other","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#,
        "[]",
        "{",
    ])
    .prop_map(str::to_owned)
}
