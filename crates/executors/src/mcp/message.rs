//! JSON-RPC messages: what a server sent, taken apart only as far as needed, and what we send, put together from raw JSON.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use toolrail_core::{CallError, ErrorCode, Json, RpcError, write_json_string};
use toolrail_protocol::code;

/// A message of a server.
#[derive(Clone, Debug)]
pub(super) enum ServerMessage {
    /// The answer to a request of ours; without an id where it could not be told which.
    Answer { id: Option<u64>, outcome: Result<Json, RpcError> },
    /// A request to us; the id is written back as it came.
    Request { id: Bytes, method: String, params: Option<Bytes> },
    /// A notification.
    Notice { method: String, params: Option<Bytes> },
}

impl ServerMessage {
    /// About how many bytes it takes up.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Answer { outcome, .. } => outcome.as_ref().map_or(0, |json| json.bytes().len()),
            Self::Request { id, method, params } => {
                id.len() + method.len() + params.as_ref().map_or(0, Bytes::len)
            }
            Self::Notice { method, params } => method.len() + params.as_ref().map_or(0, Bytes::len),
        }
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Envelope<'m> {
    #[serde(borrow, default)]
    id: Option<&'m RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'m, str>>,
    #[serde(borrow, default)]
    params: Option<&'m RawValue>,
    #[serde(borrow, default)]
    result: Option<&'m RawValue>,
    #[serde(borrow, default)]
    error: Option<ErrorBody<'m>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with code and message")]
struct ErrorBody<'m> {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(borrow, default)]
    data: Option<&'m RawValue>,
}

impl From<ErrorBody<'_>> for RpcError {
    fn from(body: ErrorBody<'_>) -> Self {
        // Data that is nested too deep is left out; the words are what matters.
        let data = body.data.and_then(|data| serde_json::from_str(data.get()).ok());
        Self { code: body.code, message: body.message, data }
    }
}

impl ServerMessage {
    /// Takes a message apart; the fault comes in words.
    pub(super) fn parse(text: &Bytes) -> Result<Self, String> {
        let envelope: Envelope<'_> =
            serde_json::from_slice(text).map_err(|error| format!("not a JSON-RPC message ({error})"))?;
        let part = |raw: &RawValue| text.slice_ref(raw.get().as_bytes());
        let id = envelope.id.filter(|id| id.get() != "null");
        if let Some(method) = envelope.method {
            let (method, params) = (method.into_owned(), envelope.params.map(part));
            return Ok(match id {
                Some(id) => Self::Request { id: part(id), method, params },
                None => Self::Notice { method, params },
            });
        }
        let id = id.and_then(|id| id.get().trim_matches('"').parse().ok());
        if let Some(error) = envelope.error {
            return Ok(Self::Answer { id, outcome: Err(error.into()) });
        }
        let Some(result) = envelope.result else {
            return Self::without_result(id, "a message with neither method nor result nor error".to_owned());
        };
        match Json::parse(part(result)) {
            Ok(result) => Ok(Self::Answer { id, outcome: Ok(result) }),
            Err(fault) => Self::without_result(
                id,
                format!(
                    "the server's result cannot be passed on: it is {fault}; let the server answer with less"
                ),
            ),
        }
    }

    /// An answer that says what is wrong, so that whoever waits for it is told at once.
    fn without_result(id: Option<u64>, message: String) -> Result<Self, String> {
        if id.is_none() {
            return Err(message);
        }
        let error = RpcError { code: code::SERVER_ERROR, message, data: None };
        Ok(Self::Answer { id, outcome: Err(error) })
    }
}

/// The members of a JSON object as they were written, in their order.
pub(super) struct Members<'m>(pub(super) Vec<(Cow<'m, str>, &'m RawValue)>);

impl<'de: 'm, 'm> Deserialize<'de> for Members<'m> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<'m>(std::marker::PhantomData<&'m ()>);
        impl<'de: 'm, 'm> serde::de::Visitor<'de> for Visitor<'m> {
            type Value = Members<'m>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members<'m>, A::Error> {
                #[derive(Deserialize)]
                struct SessionKey<'k>(#[serde(borrow)] Cow<'k, str>);
                let mut members = Vec::new();
                while let Some((SessionKey(key), value)) =
                    map.next_entry::<SessionKey<'de>, &'de RawValue>()?
                {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor(std::marker::PhantomData))
    }
}

impl<'m> Members<'m> {
    /// The members of `text`; none if it is no object.
    pub(super) fn of(text: &'m str) -> Self {
        serde_json::from_str(text).unwrap_or(Self(Vec::new()))
    }
}

/// A JSON object being written, from members that are JSON already.
#[derive(Debug)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn new() -> Self {
        Self(b"{".to_vec())
    }

    /// Adds a member that is JSON text.
    pub(super) fn raw(&mut self, key: &str, json: &[u8]) -> &mut Self {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        write_json_string(&mut self.0, key);
        self.0.push(b':');
        self.0.extend_from_slice(json);
        self
    }

    /// Adds a text.
    pub(super) fn text(&mut self, key: &str, text: &str) -> &mut Self {
        let mut quoted = Vec::with_capacity(text.len() + 2);
        write_json_string(&mut quoted, text);
        self.raw(key, &quoted)
    }

    /// Adds a value.
    pub(super) fn value(&mut self, key: &str, value: &Value) -> &mut Self {
        self.raw(key, value.to_string().as_bytes())
    }

    pub(super) fn finish(mut self) -> Bytes {
        self.0.push(b'}');
        self.0.into()
    }
}

/// A request.
pub(super) fn request(id: u64, method: &str, params: &[u8]) -> Bytes {
    let mut writer = Writer::new();
    writer.text("jsonrpc", "2.0").raw("id", id.to_string().as_bytes()).text("method", method);
    writer.raw("params", params);
    writer.finish()
}

/// A notification.
pub(super) fn notice(method: &str, params: Option<&Value>) -> Bytes {
    let mut writer = Writer::new();
    writer.text("jsonrpc", "2.0").text("method", method);
    if let Some(params) = params {
        writer.value("params", params);
    }
    writer.finish()
}

/// The answer to a request of the server.
pub(super) fn answer(id: &[u8], outcome: Result<&Value, &RpcError>) -> Bytes {
    let mut writer = Writer::new();
    writer.text("jsonrpc", "2.0").raw("id", id);
    match outcome {
        Ok(result) => writer.value("result", result),
        Err(error) => {
            let mut body = Writer::new();
            body.raw("code", error.code.to_string().as_bytes()).text("message", &error.message);
            if let Some(data) = &error.data {
                body.value("data", data);
            }
            writer.raw("error", &body.finish())
        }
    };
    writer.finish()
}

/// The error of a server as the outcome of a call; MCP clients get it as it came.
pub(super) fn refused(error: RpcError) -> CallError {
    let code = match error.code {
        RpcError::INVALID_PARAMS => ErrorCode::InvalidArguments,
        code::PARSE_ERROR | code::INVALID_REQUEST | code::METHOD_NOT_FOUND | RpcError::MISSING_CAPABILITY => {
            ErrorCode::InvalidRequest
        }
        _ => ErrorCode::UpstreamInvalid,
    };
    CallError::new(code, error.message.clone()).with_rpc(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_keeps_its_bytes() {
        let text = Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"z\":1.50,\"a\" : [ ]}}");
        let ServerMessage::Answer { id: Some(7), outcome: Ok(result) } = ServerMessage::parse(&text).unwrap()
        else {
            panic!("no answer");
        };
        assert_eq!(result.text(), "{\"z\":1.50,\"a\" : [ ]}");
    }

    #[test]
    fn an_error_of_the_server_is_told_by_its_sort() {
        for (number, code) in [
            (-32602, ErrorCode::InvalidArguments),
            (-32021, ErrorCode::InvalidRequest),
            (-32601, ErrorCode::InvalidRequest),
            (-32600, ErrorCode::InvalidRequest),
            (-32603, ErrorCode::UpstreamInvalid),
            (-32000, ErrorCode::UpstreamInvalid),
        ] {
            let error = refused(RpcError { code: number, message: "no".to_owned(), data: None });
            assert_eq!((error.code, error.rpc.map(|rpc| rpc.code)), (code, Some(number)));
        }
    }

    #[test]
    fn requests_notices_and_errors_are_told_apart() {
        let parse = |text: &str| ServerMessage::parse(&Bytes::copy_from_slice(text.as_bytes()));
        assert!(
            matches!(parse(r#"{"id":"a","method":"ping"}"#), Ok(ServerMessage::Request { id, .. }) if id == "\"a\"")
        );
        assert!(matches!(parse(r#"{"method":"x","params":{}}"#), Ok(ServerMessage::Notice { .. })));
        let refused = parse(r#"{"id":null,"error":{"code":-32601,"message":"no","data":[1]}}"#).unwrap();
        let ServerMessage::Answer { id: None, outcome: Err(error) } = refused else { panic!("{refused:?}") };
        assert_eq!((error.code, error.data), (-32601, Some(serde_json::json!([1]))));
        for empty in [r#"{"id":1}"#, r#"{"id":1,"result":null}"#] {
            let answer = parse(empty);
            assert!(
                matches!(answer, Ok(ServerMessage::Answer { id: Some(1), outcome: Err(_) })),
                "{answer:?}"
            );
        }
        assert_eq!(
            parse("5").unwrap_err(),
            "not a JSON-RPC message (invalid type: integer `5`, expected an object at line 1 column 1)"
        );
        for bad in ["", "[]", "{}", "{\"id\":null}", "nul", "{\"method\":5}"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_an_answer_that_says_so() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let parse = |text: String| match ServerMessage::parse(&Bytes::from(text)).unwrap() {
            ServerMessage::Answer { id: Some(1), outcome: Err(error) } => error,
            other => panic!("{other:?}"),
        };
        let told = refused(parse(format!(r#"{{"id":1,"result":{{"content":{deep}}}}}"#)));
        assert_eq!(told.code, ErrorCode::UpstreamInvalid);
        assert_eq!(
            told.message,
            "the server's result cannot be passed on: it is nested deeper than 120 levels; let the server answer with less"
        );
        let error = parse(format!(r#"{{"id":1,"error":{{"code":-7,"message":"no","data":{deep}}}}}"#));
        assert_eq!((error.code, error.message.as_str(), error.data), (-7, "no", None));
    }

    #[test]
    fn members_keep_their_order_and_spelling() {
        let members = Members::of("{\"b\": 1.0, \"\\u0061\":{\"x\":[ 1 ]}}");
        let seen: Vec<_> = members.0.iter().map(|(key, raw)| (&**key, raw.get())).collect();
        assert_eq!(seen, [("b", "1.0"), ("a", "{\"x\":[ 1 ]}")]);
    }
}
