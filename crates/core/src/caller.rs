//! The client at the other end of a request, as far as whoever carries the request out may speak to it: progress, log
//! messages, and questions for its user or its model. Faces implement it; executors use it and know no protocol revision.

use std::any::Any;
use std::net::IpAddr;
use std::sync::LazyLock;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::{CallError, CallerToken, ErrorCode, RpcError, ToolName};

/// How far a request has got.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Grows with each report.
    pub progress: f64,
    /// What it grows to, if that is known.
    pub total: Option<f64>,
    /// What is being done, for people.
    pub message: Option<String>,
}

/// How grave a log message is, in the words of RFC 5424, from the least to the gravest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words are RFC 5424's")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    /// Every level, from the least to the gravest.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// The level of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.word() == word)
    }
}

/// Questions to the client, each under a key of the asker's choice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Questions {
    /// By key; the keys of one request must stay the same from one run to the next.
    pub by_key: Vec<(String, Question)>,
    /// What [`Caller::remembered`] gives back when the request comes again with the answers.
    pub remember: Option<Value>,
}

/// One question: a request that a server may send to its client.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// Its parameters.
    pub params: Value,
}

impl Question {
    /// The capability a client must have declared to be asked this; nothing for a method that is no question.
    pub fn capability(&self) -> Option<&'static str> {
        match self.method.as_str() {
            "elicitation/create" => Some("elicitation"),
            "sampling/createMessage" => Some("sampling"),
            "roots/list" => Some("roots"),
            _ => None,
        }
    }
}

/// Why questions were not answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Unanswered {
    /// The client answers by making the same request again: end this run with exactly this as its result.
    Later(InputRequired),
    /// It cannot be asked, went away, or answered nonsense.
    Never(CallError),
    /// It answered with an error of its own.
    Refused(Box<Refusal>),
}

/// The JSON-RPC error with which a client answered a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was asked.
    pub method: String,
    /// What it said.
    pub error: RpcError,
}

impl Refusal {
    /// The refusal of that question, from the `error` that the client sent. Whoever asked gets it as it is, but for what is
    /// larger than any reason.
    pub fn read(method: &str, error: &Value) -> Self {
        const LARGEST_DATA: usize = 64 << 10;
        let code = error.get("code").and_then(Value::as_i64).unwrap_or(RpcError::INTERNAL);
        let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
        let data = error.get("data").filter(|data| data.to_string().len() <= LARGEST_DATA).cloned();
        // Only so that the message stays short.
        let CallError { message, .. } = CallError::new(ErrorCode::UpstreamInvalid, message);
        Self { method: method.to_owned(), error: RpcError { code, message, data } }
    }

    /// The same for those who know no errors of clients.
    pub fn into_error(self) -> CallError {
        let message = format!("the client refused {}: {}", self.method, self.error.message);
        CallError::new(ErrorCode::UpstreamInvalid, message)
    }
}

/// What a client of 2026-07-28 must supply before the request can be carried out; it then makes the request again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRequired {
    /// `{key: {method, params}}`
    pub requests: Map<String, Value>,
    /// What the client hands back unchanged.
    pub state: Option<String>,
}

/// What a client of 2026-07-28 sent along when it made a request again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resumed<'a> {
    /// `params.inputResponses`, as sent.
    pub responses: Option<&'a RawValue>,
}

/// What is kept for a conversation: it is dropped when that ends.
pub type Kept = Box<dyn Any + Send + Sync>;

/// The client at the other end of one request.
#[async_trait]
pub trait Caller: Send + Sync {
    /// Whether it wants to hear of progress.
    fn wants_progress(&self) -> bool {
        false
    }

    /// Tells how far the request has got; nothing happens if the client did not ask for that.
    fn progress(&self, _progress: &Progress) {}

    /// Whether it waits for the result however long that takes: because it hears of progress, or asks now and then for what
    /// has become of a task.
    fn is_patient(&self) -> bool {
        self.wants_progress()
    }

    /// The least grave log messages it wants; none at all if nothing.
    fn log_level(&self) -> Option<LogLevel> {
        None
    }

    /// Sends a log message; nothing happens if the client does not want messages of that level.
    fn log(&self, _level: LogLevel, _logger: Option<&str>, _data: &Value) {}

    /// What the client declared it can do (`ClientCapabilities`).
    fn capabilities(&self) -> &Value {
        static NONE: LazyLock<Value> = LazyLock::new(|| json!({}));
        &NONE
    }

    /// How the client introduced itself, if it did.
    fn client_info(&self) -> Option<&Value> {
        None
    }

    /// The `_meta` of its request, as sent.
    fn meta(&self) -> Option<&RawValue> {
        None
    }

    /// Whether questions can only be answered by making the request again (2026-07-28), with what it sent along;
    /// nothing if they are answered while the request is under way.
    fn resumed(&self) -> Option<Resumed<'_>> {
        None
    }

    /// Asks the client. Where answers come with a new request, answers it has brought are returned at once, and missing ones
    /// end this run ([`Unanswered::Later`]). Where a call becomes a task, what is asked before anything else is waited for is
    /// asked like that, too, and there is no task before it is answered; later questions are the task's.
    async fn ask(&self, questions: &Questions) -> Result<Map<String, Value>, Unanswered> {
        let wanted = questions.by_key.first().and_then(|(_, question)| question.capability());
        Err(Unanswered::Never(missing_capability(wanted.unwrap_or("elicitation"))))
    }

    /// What was to be remembered when the request was interrupted by questions; an error if the client tampered with it.
    fn remembered(&self) -> Result<Option<Value>, CallError> {
        Ok(None)
    }

    /// The questions of a server that asks by its result itself (2026-07-28), as the result for this client: it makes the same
    /// request again, [`Caller::resumed`] then has its answers and [`Caller::remembered`] has `remember`. What is to be
    /// remembered is sealed on its way, for this request of this caller.
    fn pass_on(
        &self,
        _questions: Map<String, Value>,
        _remember: Option<Value>,
    ) -> Result<InputRequired, CallError> {
        Err(CallError::new(ErrorCode::Internal, "this client does not make its request again"))
    }

    /// `params.task`, as sent by a client of 2025-11-25 that wants the result of its call later, as a task.
    fn task(&self) -> Option<&RawValue> {
        None
    }

    /// The id under which this client asks for a task that an upstream server made of its call: what the server's own id has
    /// become here, sealed so that it is of use to nobody else.
    fn task_id(&self, id: String) -> Result<String, CallError> {
        Ok(id)
    }

    /// The tools that called one another up to this request, the first one first; empty if a client made it.
    fn chain(&self) -> &[String] {
        &[]
    }

    /// What tells the client's conversation from those of others, where something does: its session, or else who it says
    /// it is and where it comes from. Whatever is learnt from what it does in a row hangs on this.
    fn conversation(&self) -> Option<&str> {
        None
    }

    /// Keeps something under a name as long as the client's conversation lasts; what is there under that name stays. False,
    /// and nothing is made, where the end of the conversation is not heard of: then nothing says, either, that it is one
    /// client's alone.
    fn keep(&self, _name: &str, _make: &mut dyn FnMut() -> Kept) -> bool {
        false
    }

    /// The group whose endpoint it speaks to, as in `/mcp/{group}`; none at `/mcp` itself, where everything is seen.
    fn group(&self) -> Option<&str> {
        None
    }

    /// Whether what it asks for may change definitions: only a face that knows whom it serves says so. A web page from
    /// elsewhere may call tools, but not make them.
    fn may_change(&self) -> bool {
        false
    }

    /// The address it comes from, where it has one, for the audit record.
    fn address(&self) -> Option<IpAddr> {
        None
    }

    /// The token of another issuer with which it came, if it came with one: for upstreams that are asked in its name, where a
    /// definition says so.
    fn token(&self) -> Option<&CallerToken> {
        None
    }

    /// Closes the stream of this request so that the client comes back for the result (2025-11-25); elsewhere nothing happens.
    fn hang_up(&self) {}
}

/// The most tools that may call one another.
const DEEPEST: usize = 16;

/// The chain of a call that the tool `by`, called by `caller`, makes of `tool`; or why it may not be made.
pub fn chain_to(caller: &dyn Caller, by: &str, tool: &str) -> Result<Vec<String>, String> {
    let mut chain = caller.chain().to_vec();
    chain.push(by.to_owned());
    let told = || format!("{} → {tool}", chain.join(" → "));
    if chain.iter().any(|name| ToolName::fold(name) == ToolName::fold(tool)) {
        return Err(format!("tools call one another in a circle: {}", told()));
    }
    if chain.len() >= DEEPEST {
        return Err(format!("more than {DEEPEST} tools call one another: {}", told()));
    }
    Ok(chain)
}

/// The header of every request that a gateway makes on behalf of a tool. Whoever gets one, even by way of a redirect, knows that
/// no operator made it: nothing is administered by it.
pub const HOP_HEADER: &str = "toolrail-hop";

/// Stands among the extensions of a request that comes from a web page of somewhere else: it may call tools, but not change
/// definitions. See [`Caller::may_change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignPage;

/// A caller that can be told and asked nothing, such as that of the REST face.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mute;

impl Caller for Mute {}

/// The error that a client without that capability gets.
pub fn missing_capability(name: &str) -> CallError {
    let message = format!("this needs a client that declares the capability {name:?}");
    let data = json!({"requiredCapabilities": {name: {}}});
    CallError::new(ErrorCode::InvalidRequest, &*message).with_rpc(RpcError {
        code: RpcError::MISSING_CAPABILITY,
        message,
        data: Some(data),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_as_the_client_wrote_it_unless_it_is_too_large() {
        let said = json!({"code": -1, "message": "User rejected", "data": {"why": [1]}});
        let refusal = Refusal::read("sampling/createMessage", &said);
        let error = RpcError { code: -1, message: "User rejected".into(), data: Some(json!({"why": [1]})) };
        assert_eq!(refusal.error, error);
        assert_eq!(refusal.into_error().message, "the client refused sampling/createMessage: User rejected");
        let long = "ü".repeat(100_000);
        let large = Refusal::read("roots/list", &json!({"code": 7, "message": long, "data": long}));
        assert!(large.error.message.len() < 20_000 && large.error.data.is_none());
        for odd in [json!(null), json!([]), json!({"code": "x", "message": 5}), json!({"code": 1e300})] {
            assert_eq!(Refusal::read("roots/list", &odd).error.code, RpcError::INTERNAL, "{odd}");
        }
    }
}
