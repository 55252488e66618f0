//! The JSON-RPC envelope, borrowed from the bytes it came in. Nothing is looked into that the dispatch does not need.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::reply::{Code, Fault};

/// The longest id that is echoed.
const LONGEST_ID: usize = 1024;

/// One incoming message.
pub(crate) enum Message<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification(Notification<'a>),
    /// Answers a request of ours.
    Response(Response<'a>),
}

/// The answer to a request of ours.
pub(crate) struct Response<'a> {
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) result: Result<&'a RawValue, &'a RawValue>,
}

/// A request: its id as it was written, its method, its parameters.
pub(crate) struct Request<'a> {
    pub(crate) id: &'a RawValue,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Params<'a>,
    /// The message it was read from.
    pub(crate) bytes: &'a [u8],
}

impl<'a> Request<'a> {
    /// `params._meta` as it was written. Rarely needed, hence not kept.
    pub(crate) fn raw_meta(&self) -> Option<&'a RawValue> {
        #[derive(Deserialize)]
        struct Outer<'a> {
            #[serde(borrow)]
            params: Inner<'a>,
        }
        #[derive(Deserialize)]
        struct Inner<'a> {
            #[serde(borrow, rename = "_meta")]
            meta: &'a RawValue,
        }
        serde_json::from_slice::<Outer<'a>>(self.bytes).ok().map(|outer| outer.params.meta)
    }
}

/// A notification.
pub(crate) struct Notification<'a> {
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Params<'a>,
}

/// The top level of `params`; each method reads what it needs.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    pub(crate) meta: Option<Meta<'a>>,
    #[serde(borrow, default)]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) tool: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) cursor: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "protocolVersion")]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestId")]
    pub(crate) request_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) uri: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "ref")]
    pub(crate) reference: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) argument: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) context: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) level: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) notifications: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) task: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "taskId")]
    pub(crate) task_id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputResponses")]
    pub(crate) input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState")]
    pub(crate) request_state: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "clientInfo")]
    pub(crate) client_info: Option<&'a RawValue>,
}

/// What a modern client says with each request.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object as _meta")]
pub(crate) struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(crate) client_capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo")]
    pub(crate) client_info: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel")]
    pub(crate) log_level: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "progressToken")]
    pub(crate) progress_token: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Wire<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Tells `null` from absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A request as nearly all are, read in one pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoodRequest<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Params<'a>,
}

/// Reads one message. A fault comes with the id to answer to, if there is one.
pub(crate) fn parse(bytes: &[u8]) -> Result<Message<'_>, (Option<&RawValue>, Fault)> {
    // Where nothing looks into a value, its text would go unchecked.
    let Ok(text) = simdutf8::basic::from_utf8(bytes) else {
        return Err((None, Fault::new(Code::ParseError, "not valid JSON: it must be UTF-8")));
    };
    match serde_json::from_str::<GoodRequest<'_>>(text) {
        Ok(GoodRequest { jsonrpc, id, method, params })
            if jsonrpc == "2.0" && is_id(id) && bytes.first() == Some(&b'{') =>
        {
            Ok(Message::Request(Request { id, method, params, bytes }))
        }
        _ => parse_carefully(bytes),
    }
}

fn parse_carefully(bytes: &[u8]) -> Result<Message<'_>, (Option<&RawValue>, Fault)> {
    // An empty array would pass as a message without members.
    if is_batch(bytes) && serde_json::from_slice::<&RawValue>(bytes).is_ok() {
        let message = "batches belong to revision 2025-03-26; send one message at a time";
        return Err((None, Fault::new(Code::InvalidRequest, message)));
    }
    let wire: Wire<'_> = serde_json::from_slice(bytes).map_err(|error| (None, misread(&error, bytes)))?;
    let id = wire.id.filter(|id| is_id(id));
    let fault = |message: &str| (id, Fault::new(Code::InvalidRequest, message));
    if wire.jsonrpc.as_deref() != Some("2.0") {
        return Err(fault("\"jsonrpc\" must be \"2.0\""));
    }
    if wire.id.is_some() && id.is_none() {
        return Err(fault("\"id\" must be a string or an integer of at most 1024 characters"));
    }
    let Some(method) = wire.method else {
        match (wire.result, wire.error) {
            (Some(result), None) => return Ok(Message::Response(Response { id, result: Ok(result) })),
            (None, Some(error)) => return Ok(Message::Response(Response { id, result: Err(error) })),
            (Some(_), Some(_)) => return Err(fault("an answer has \"result\" or \"error\", not both")),
            (None, None) => {}
        }
        return Err(fault("\"method\" is missing"));
    };
    let Ok(method) = serde_json::from_str::<Text<'_>>(method.get()) else {
        return Err(fault("\"method\" must be a string"));
    };
    let params = match wire.params {
        None => Params::default(),
        Some(raw) => serde_json::from_str(raw.get()).map_err(|error| {
            let message = format!("\"params\" cannot be read: {error}");
            (id, Fault::new(Code::InvalidParams, message))
        })?,
    };
    Ok(match id {
        Some(id) => Message::Request(Request { id, method: method.0, params, bytes }),
        None => Message::Notification(Notification { method: method.0, params }),
    })
}

/// Whether the bytes are an array, hence a batch if anything.
pub(crate) fn is_batch(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().first() == Some(&b'[')
}

/// The messages of a batch. The count is bounded before anything is kept of them.
pub(crate) fn parse_batch(bytes: &[u8]) -> Result<Vec<&RawValue>, Fault> {
    /// The most messages in one batch.
    const MOST: usize = 500;

    struct Bounded;

    impl<'de> Visitor<'de> for Bounded {
        type Value = Option<Vec<&'de RawValue>>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an array of messages")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
            let mut messages = Vec::new();
            while let Some(message) = sequence.next_element()? {
                if messages.len() == MOST {
                    // The rest is still read, so that what is not JSON is told as that.
                    while sequence.next_element::<IgnoredAny>()?.is_some() {}
                    return Ok(None);
                }
                messages.push(message);
            }
            Ok(Some(messages))
        }
    }

    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let messages = deserializer
        .deserialize_seq(Bounded)
        .and_then(|messages| deserializer.end().map(|()| messages))
        .map_err(|error| unreadable(&error))?;
    match messages {
        None => Err(Fault::new(Code::InvalidRequest, format!("a batch has at most {MOST} messages"))),
        Some(messages) if messages.is_empty() => {
            Err(Fault::new(Code::InvalidRequest, "a batch has at least one message"))
        }
        Some(messages) => Ok(messages),
    }
}

/// A string, borrowed where it has no escapes.
#[derive(Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl Params<'_> {
    /// The text of a field, or nothing if it is absent; a fault if it is not a string.
    pub(crate) fn text<'a>(field: &str, raw: Option<&'a RawValue>) -> Result<Option<Cow<'a, str>>, Fault> {
        raw.map(|raw| serde_json::from_str::<Text<'a>>(raw.get()).map(|text| text.0))
            .transpose()
            .map_err(|_| Fault::new(Code::InvalidParams, format!("\"{field}\" must be a string")))
    }
}

/// Whether it is a string or an integer, as MCP wants it. Readers do not agree on fractions and exponents.
fn is_id(raw: &RawValue) -> bool {
    let text = raw.get().as_bytes();
    let is_known = match text.first() {
        Some(b'"') => true,
        Some(b'-' | b'0'..=b'9') => !text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')),
        _ => false,
    };
    is_known && text.len() <= LONGEST_ID
}

/// What was wrong with the whole message: a member of the wrong type is met before a fault in the JSON behind it.
fn misread(error: &serde_json::Error, bytes: &[u8]) -> Fault {
    let broken = serde_json::from_slice::<IgnoredAny>(bytes).err();
    unreadable(broken.as_ref().unwrap_or(error))
}

fn unreadable(error: &serde_json::Error) -> Fault {
    if error.is_data() {
        return Fault::new(Code::InvalidRequest, format!("not a JSON-RPC message: {error}"));
    }
    Fault::new(Code::ParseError, format!("not valid JSON: {error}"))
}

/// The id of the request that a notification cancels, if it is one that does.
pub(crate) fn cancelled<'a>(notification: &Notification<'a>) -> Option<&'a RawValue> {
    notification.params.request_id.filter(|_| notification.method == "notifications/cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> i64 {
        parse(text.as_bytes()).err().map_or(0, |(_, fault)| fault.code.number())
    }

    #[test]
    fn an_id_is_echoed_with_its_type() {
        for id in ["1", "\"1\"", "-7", "123456789012345678901234567890"] {
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}");
            let Ok(Message::Request(request)) = parse(text.as_bytes()) else { panic!("{id}") };
            assert_eq!(request.id.get(), id);
        }
    }

    #[test]
    fn bad_envelopes_are_told_apart_from_bad_json() {
        assert_eq!(code("{"), -32700);
        assert_eq!(code(""), -32700);
        assert_eq!(code("[]"), -32600);
        assert_eq!(code("1"), -32600);
        assert_eq!(code("{\"id\":1,\"method\":\"ping\"}"), -32600);
        assert_eq!(code("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}"), -32600);
        assert_eq!(code("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}"), -32600);
        assert_eq!(code("{\"jsonrpc\":\"2.0\",\"id\":1e999,\"method\":\"ping\"}"), -32600);
        assert_eq!(code("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}"), -32600);
        assert_eq!(code("{\"jsonrpc\":\"2.0\",\"id\":1}"), -32600);
        assert_eq!(code("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[1]}"), -32602);
        assert_eq!(code("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}"), -32600);
    }

    #[test]
    fn what_is_wrong_is_told_in_the_words_of_json() {
        let told = |text: &str| parse(text.as_bytes()).err().map(|(_, fault)| fault.message.clone()).unwrap();
        let request = |params: &str| {
            told(&format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{params}}}"))
        };
        for (told, words) in [
            (told("1"), "not a JSON-RPC message: invalid type: integer `1`, expected an object"),
            (told("\"x\""), "not a JSON-RPC message: invalid type: string \"x\", expected an object"),
            (request("7"), "\"params\" cannot be read: invalid type: integer `7`, expected an object"),
            (
                request("{\"_meta\":7}"),
                "\"params\" cannot be read: invalid type: integer `7`, expected an object as _meta",
            ),
        ] {
            assert!(told.starts_with(words), "{told}");
        }
    }

    #[test]
    fn invalid_utf8_is_a_parse_error() {
        let bytes = b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}";
        assert_eq!(parse(bytes).err().unwrap().1.code.number(), -32700);
    }

    #[test]
    fn deep_nesting_is_refused_without_overflow() {
        let deep = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"x\":{}1{}}}}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let _ = parse(deep.as_bytes());
    }
}
