//! An upstream that offers something of every sort.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolrail_core::{
    ArgumentCheck, Block, Call, CallError, Changed, Compiled, Completing, Completion, Definition, ErrorCode,
    Executor, InputRequired, Json, Kind, LogLevel, Made, Offer, Offered, OfferedTool, Outcome, Payload,
    Preview, Problems, Progress, Question, Questions, RpcError, TaskRequest, TaskSupport, ToolName,
    ToolResult, Unanswered, Upstream, async_trait,
};

pub(super) struct Fixture;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {}

impl Kind for Fixture {
    const NAME: &'static str = "fixture";
    type Settings = Settings;

    fn compile(&self, _: Settings, _: &Definition, _: &mut Problems) -> Option<Compiled> {
        let made = Made::Upstream(Arc::new(Everything(Arc::new(offer()))));
        Some(Compiled { made, arguments: Vec::new(), uses_other_arguments: true, needs: Vec::new() })
    }
}

struct Everything(Arc<Offer>);

#[async_trait]
impl Upstream for Everything {
    fn start(&self, _: Arc<dyn Fn(Changed) + Send + Sync>) {}

    fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.0)
    }

    fn failure(&self) -> Option<String> {
        None
    }

    async fn task(&self, request: &TaskRequest<'_>) -> Outcome {
        let params = request.params.map_or("", |raw| raw.get());
        let told = json!({"taskId": request.id, "asked": format!("{} {params}", request.method), "ttlMs": 5});
        Ok(ToolResult::good(Payload::Whole(Json::from_value(&told))))
    }
}

type Act = for<'a> fn(&'a Call<'a>) -> BoxFuture<'a, Outcome>;

struct Does(Act);

#[async_trait]
impl Executor for Does {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        (self.0)(call).await
    }

    fn preview(&self, _: &Call<'_>) -> Result<Preview, CallError> {
        Err(CallError::new(ErrorCode::Internal, "nothing to show"))
    }

    async fn complete(&self, asked: &Completing<'_>) -> Result<Completion, CallError> {
        let settled = asked.settled.len();
        let values = (0..150).map(|count| format!("{}{count}-{settled}", asked.value)).collect();
        Ok(Completion { values, ..Completion::default() })
    }
}

fn offer() -> Offer {
    Offer {
        tools: vec![
            tool("text", TaskSupport::Never, |_| good(Payload::Text("hi".into()))),
            tool("whole", TaskSupport::Never, |_| good(whole(WHOLE_TOOL))),
            tool("no_object", TaskSupport::Never, |_| good(whole("[1]"))),
            tool("asks", TaskSupport::Never, |_| good(Payload::InputRequired(needed()))),
            tool("refuses", TaskSupport::Never, |_| refuse()),
            tool("quick", TaskSupport::Required, |_| good(whole(WHOLE_TOOL))),
            tool("slow", TaskSupport::Optional, slow),
            tool("fails", TaskSupport::Optional, |_| {
                async { Err(CallError::new(ErrorCode::Timeout, "too late")) }.boxed()
            }),
            tool("refuses_later", TaskSupport::Optional, |_| refuse()),
            tool("panics", TaskSupport::Optional, |_| async { panic!("on purpose") }.boxed()),
            tool("confirms", TaskSupport::Optional, confirm),
            tool("asks_first", TaskSupport::Required, ask_first),
            tool("knows", TaskSupport::Never, |call| {
                let told = json!({"conversation": call.caller.conversation(), "group": call.caller.group()});
                good(Payload::Json(Json::from_value(&told)))
            }),
            tool("waits", TaskSupport::Never, slow),
            tool("talks", TaskSupport::Never, talk),
            tool("asks_twice", TaskSupport::Never, ask_twice),
            tool("hangs_up", TaskSupport::Never, hang_up),
            tool("pretty", TaskSupport::Never, |call| reported(call, Payload::Json(json_of(PRETTY)))),
            tool("pretty_whole", TaskSupport::Never, |call| {
                let text = format!("{{\n\"content\": [\r\n],\n\"structuredContent\": {PRETTY}\n}}");
                reported(call, Payload::Whole(json_of(&text)))
            }),
            tool("pretty_large", TaskSupport::Never, |call| {
                let rows = vec![PRETTY; 1_000].join(",\r\n");
                reported(call, Payload::Json(json_of(&format!("{{\n\"rows\": [\n{rows}\n]\n}}"))))
            }),
            tool("fails_wholly", TaskSupport::Never, |_| {
                let payload = whole(r#"{"content":[{"type":"text","text":"no luck"}],"isError":true}"#);
                async { Ok(ToolResult { is_error: true, ..ToolResult::good(payload) }) }.boxed()
            }),
        ],
        prompts: vec![
            offered("plain", "name", |_| good(Payload::Text("say it".into()))),
            offered("whole", "name", |_| good(whole(r#"{"x":1,"messages":[]}"#))),
            offered("refused", "name", |_| refuse()),
            offered("failing", "name", |_| {
                let payload = Payload::Text("status 500".into());
                async { Ok(ToolResult { is_error: true, ..ToolResult::good(payload) }) }.boxed()
            }),
        ],
        resources: vec![
            offered("test://text", "uri", |_| good(Payload::Text("a text".into()))),
            offered("test://json", "uri", |_| good(Payload::Json(Json::from_value(&json!({"a": 1}))))),
            offered("test://blob", "uri", |_| {
                let data = Bytes::from_static(b"\x00\x01");
                good(Payload::Blocks(vec![Block::Image { data, mime: "image/png".into() }]))
            }),
            offered("test://whole", "uri", |_| good(whole(r#"{"contents":[],"ttlMs":7,"x":1}"#))),
            offered("test://asks", "uri", |_| good(Payload::InputRequired(needed()))),
            offered("test://gone", "uri", |_| {
                async { Err(CallError::new(ErrorCode::NotFound, "the upstream answered 404")) }.boxed()
            }),
        ],
        templates: vec![offered("test://pages/{page}", "uriTemplate", |call| {
            good(Payload::Text(call.tool.to_owned()))
        })],
        ..Offer::default()
    }
}

/// `call_tool`, which is resolved before anybody carries it out.
pub(super) fn call_tool() -> Offer {
    let tool = tool("call_tool", TaskSupport::Never, |_| refuse());
    Offer { tools: vec![tool], ..Offer::default() }
}

pub(super) const WHOLE_TOOL: &str = r#"{"zebra":1.50,"content":[],"structuredContent":[1],"_meta":{"b":1,"io.modelcontextprotocol/serverInfo":{"name":"theirs"},"a":2},"apple":{"z":1,"a":2}}"#;

/// JSON with line breaks of every sort, as some servers print it.
pub(super) const PRETTY: &str = "{\n  \"a\": [\r\n    1,\r    \"two\\nlines\"\n  ]\r\n}";

fn tool(name: &str, tasks: TaskSupport, act: Act) -> OfferedTool {
    OfferedTool {
        name: ToolName::parse(name).expect("a good name"),
        entry: json!({"name": name, "inputSchema": {"type": "object"}}).into(),
        executor: Arc::new(Does(act)),
        arguments: ArgumentCheck::Here,
        tasks,
    }
}

fn offered(key: &str, field: &str, act: Act) -> Offered {
    let mut entry = json!({field: key, "mimeType": "text/x-test"});
    if field != "name" {
        entry["name"] = key.into();
    }
    Offered { key: key.to_owned(), entry: entry.into(), executor: Arc::new(Does(act)) }
}

fn good<'a>(payload: Payload) -> BoxFuture<'a, Outcome> {
    async { Ok(ToolResult::good(payload)) }.boxed()
}

fn whole(json: &str) -> Payload {
    Payload::Whole(json_of(json))
}

fn json_of(text: &str) -> Json {
    Json::parse(Bytes::copy_from_slice(text.as_bytes())).expect("JSON")
}

/// Reports progress before it answers.
fn reported<'a>(call: &'a Call<'a>, payload: Payload) -> BoxFuture<'a, Outcome> {
    async {
        call.caller.progress(&Progress { progress: 1.0, total: None, message: None });
        tokio::task::yield_now().await;
        Ok(ToolResult::good(payload))
    }
    .boxed()
}

fn refuse<'a>() -> BoxFuture<'a, Outcome> {
    let rpc = RpcError { code: -32050, message: "no".into(), data: Some(json!({"why": "so"})) };
    async { Err(CallError::new(ErrorCode::InvalidRequest, "no").with_rpc(rpc)) }.boxed()
}

pub(super) fn needed() -> InputRequired {
    let mut requests = Map::new();
    requests.insert("name".into(), json!({"method": "elicitation/create", "params": {}}));
    InputRequired { requests, state: Some("sealed".into()) }
}

/// Works until it is stopped.
fn slow<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Outcome> {
    async {
        call.caller.progress(&Progress { progress: 1.0, total: None, message: Some("thinking".into()) });
        std::future::pending().await
    }
    .boxed()
}

/// Tells how far it is, logs, asks, and tells what was answered.
fn talk<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Outcome> {
    async {
        call.caller.progress(&Progress { progress: 1.0, total: Some(2.0), message: None });
        call.caller.log(LogLevel::Warning, Some("test"), &json!("careful"));
        call.caller.log(LogLevel::Debug, None, &json!("details"));
        match call.caller.ask(&questions(&["name"])).await {
            Ok(answers) => Ok(ToolResult::good(Payload::Json(Json::from_value(&answers.into())))),
            Err(Unanswered::Later(needed)) => Ok(ToolResult::good(Payload::InputRequired(needed))),
            Err(Unanswered::Never(error)) => Err(error),
            Err(Unanswered::Refused(refusal)) => {
                let error = refusal.error;
                let told = json!({"code": error.code, "message": error.message, "data": error.data});
                Ok(ToolResult::good(Payload::Json(Json::from_value(&told))))
            }
        }
    }
    .boxed()
}

/// Asks for one thing, then for another, and tells both.
fn ask_twice<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Outcome> {
    async {
        let mut said = Map::new();
        for key in ["one", "two"] {
            match call.caller.ask(&questions(&[key])).await {
                Ok(answers) => said.insert(key.to_owned(), answers[key].clone()),
                Err(Unanswered::Later(needed)) => {
                    return Ok(ToolResult::good(Payload::InputRequired(needed)));
                }
                Err(Unanswered::Never(error)) => return Err(error),
                Err(Unanswered::Refused(refusal)) => return Err(refusal.into_error()),
            };
        }
        Ok(ToolResult::good(Payload::Json(Json::from_value(&said.into()))))
    }
    .boxed()
}

/// Sends its client away and is done once it has come back, or might have.
fn hang_up<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Outcome> {
    async {
        call.caller.hang_up();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        Ok(ToolResult::good(Payload::Text("done".into())))
    }
    .boxed()
}

pub(super) fn questions(keys: &[&str]) -> Questions {
    let question = Question { method: "elicitation/create".into(), params: json!({"message": "well?"}) };
    let by_key = keys.iter().map(|key| ((*key).to_owned(), question.clone())).collect();
    Questions { by_key, remember: None }
}

/// Asks for two things at once, then again for one of them, and tells what was said.
fn confirm<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Outcome> {
    async {
        // What is asked before anything is waited for is asked without a task.
        tokio::task::yield_now().await;
        let mut said = answered(call.caller.ask(&questions(&["one", "two"])).await)?;
        said.append(&mut answered(call.caller.ask(&questions(&["one"])).await)?);
        Ok(ToolResult::good(Payload::Json(Json::from_value(&said.into()))))
    }
    .boxed()
}

fn answered(answers: Result<Map<String, Value>, Unanswered>) -> Result<Vec<Value>, CallError> {
    match answers {
        Ok(answers) => Ok(answers.into_iter().map(|(_, answer)| answer).collect()),
        Err(Unanswered::Never(error)) => Err(error),
        Err(Unanswered::Refused(refusal)) => Err(refusal.into_error()),
        Err(Unanswered::Later(_)) => Err(CallError::new(ErrorCode::Internal, "asked to come again")),
    }
}

fn ask_first<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Outcome> {
    async {
        let answers = match call.caller.ask(&questions(&["name"])).await {
            Ok(answers) => answers,
            Err(Unanswered::Later(needed)) => return Ok(ToolResult::good(Payload::InputRequired(needed))),
            Err(Unanswered::Never(error)) => return Err(error),
            Err(Unanswered::Refused(refusal)) => return Err(refusal.into_error()),
        };
        tokio::task::yield_now().await;
        Ok(ToolResult::good(Payload::Json(Json::from_value(&answers["name"]))))
    }
    .boxed()
}
