//! What the scripted MCP server does, whatever carries its messages: a few tools that show every way in which a server can
//! behave, in both eras.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::{Notify, broadcast, mpsc, oneshot};

/// What belongs to a task says so in `_meta` (2025-11-25).
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// The scripted server.
pub(crate) struct Script {
    pub(crate) eras: Eras,
    /// Every message that came, in order.
    pub(crate) received: Mutex<Vec<Value>>,
    /// Ids of calls that were cancelled.
    pub(crate) cancelled: Mutex<Vec<Value>>,
    cancel: Notify,
    /// What the server has to tell by itself.
    pub(crate) told: broadcast::Sender<String>,
    pub(crate) has_more_tools: AtomicBool,
    /// Whether it has a tool only for clients that have a model.
    pub(crate) is_gated: AtomicBool,
    /// Whether it asks for the roots of a client as soon as the session's own stream stands.
    pub(crate) asks_for_roots: AtomicBool,
    /// Answers to questions of the server, by id.
    answers: Mutex<HashMap<String, oneshot::Sender<Value>>>,
    asked: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eras {
    Modern,
    Legacy,
    /// Both, as the client likes.
    Both,
}

/// Where the messages of one request go.
#[derive(Clone)]
pub(crate) struct Out {
    pub(crate) messages: mpsc::UnboundedSender<String>,
    /// The session's own stream, if it has one.
    pub(crate) beside: Option<mpsc::UnboundedSender<String>>,
}

impl Out {
    pub(crate) fn send(&self, message: &Value) {
        let _ = self.messages.send(message.to_string());
    }
}

impl Script {
    pub(crate) fn new(eras: Eras) -> Arc<Self> {
        Arc::new(Self {
            eras,
            received: Mutex::default(),
            cancelled: Mutex::default(),
            cancel: Notify::new(),
            told: broadcast::channel(64).0,
            has_more_tools: AtomicBool::default(),
            is_gated: AtomicBool::default(),
            asks_for_roots: AtomicBool::default(),
            answers: Mutex::default(),
            asked: AtomicU64::default(),
        })
    }

    /// The messages of that method that came.
    pub(crate) fn of(&self, method: &str) -> Vec<Value> {
        self.received.lock().unwrap().iter().filter(|message| message["method"] == method).cloned().collect()
    }

    /// Takes a message; answers go to `out`.
    pub(crate) async fn take(self: &Arc<Self>, text: &str, out: Out) {
        let message: Value = serde_json::from_str(text).unwrap();
        self.received.lock().unwrap().push(message.clone());
        let id = message["id"].clone();
        match message["method"].as_str() {
            None => {
                let id = id.as_str().unwrap_or_default().to_owned();
                if let Some(answer) = self.answers.lock().unwrap().remove(&id) {
                    let _ = answer.send(message);
                }
            }
            Some("notifications/cancelled") => {
                self.cancelled.lock().unwrap().push(message["params"]["requestId"].clone());
                self.cancel.notify_waiters();
            }
            Some(method) if !id.is_null() => {
                let result = self.result(method, &message, text, &out).await;
                let body = match result {
                    Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
                    Err(error) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
                };
                let _ = out.messages.send(body);
            }
            Some(_) => {}
        }
    }

    async fn result(
        self: &Arc<Self>,
        method: &str,
        message: &Value,
        text: &str,
        out: &Out,
    ) -> Result<String, Value> {
        let params = &message["params"];
        let capabilities = json!({
            "tools": {"listChanged": true}, "prompts": {}, "completions": {}, "logging": {},
            "resources": {"subscribe": true}, "tasks": {"requests": {"tools": {"call": {}}}},
        });
        let answer = match (method, self.eras) {
            ("server/discover", Eras::Modern | Eras::Both) => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
            }),
            ("initialize", Eras::Legacy | Eras::Both) => json!({
                "protocolVersion": "2025-11-25", "capabilities": capabilities,
                "serverInfo": {"name": "script", "version": "1"},
            }),
            ("tools/list", _) => return Ok(self.tools(params)),
            ("prompts/list", _) => json!({"prompts": [{"name": "greet", "x-prompt": [1.50]}]}),
            ("resources/list", _) => json!({"resources": [{"uri": "script://doc", "name": "doc"}]}),
            ("resources/templates/list", _) => {
                json!({"resourceTemplates": [{"uriTemplate": "script://page/{n}", "name": "page"}]})
            }
            ("tools/call", Eras::Legacy) if !params["task"].is_null() => json!({
                "task": {"taskId": "t2", "status": "working", "ttl": params["task"]["ttl"]},
            }),
            ("tasks/get" | "tasks/cancel", Eras::Legacy) => json!({
                "taskId": params["taskId"], "status": "working",
            }),
            ("tasks/result", Eras::Legacy) => json!({
                "content": [], "asked": self.ask(&out.messages).await,
                "_meta": {RELATED: {"taskId": params["taskId"]}},
            }),
            ("tools/call", _) => return self.call(message, text, out).await,
            ("prompts/get", _) => json!({
                "messages": [{"role": "user", "content": {"type": "text", "text": params.to_string()}}],
            }),
            ("resources/read", _) if params["uri"] == "script://page/404" => {
                return Err(json!({"code": -32002, "message": "no page", "data": {"uri": params["uri"]}}));
            }
            ("resources/read", _) => json!({"contents": [{"uri": params["uri"], "text": "content"}]}),
            ("completion/complete", _) if params["argument"]["value"] == "ask" => {
                json!({"completion": {"values": [self.ask(&out.messages).await]}})
            }
            ("completion/complete", _) => json!({"completion": {
                "values": [params["ref"].to_string(), params["argument"]["value"]], "total": 2, "hasMore": false,
            }}),
            (
                "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel",
                Eras::Legacy | Eras::Both,
            ) => {
                json!({})
            }
            ("subscriptions/listen", Eras::Modern | Eras::Both) => {
                return Ok(self.listen(message, out).await);
            }
            ("tasks/get" | "tasks/cancel" | "tasks/update", Eras::Modern) => json!({
                "resultType": "complete", "taskId": params["taskId"], "status": "completed", "seen": params,
            }),
            _ => return Err(json!({"code": -32601, "message": "method not found"})),
        };
        Ok(answer.to_string())
    }

    fn tools(&self, params: &Value) -> String {
        let schema = json!({"type": "object"});
        let named = |name: &str| json!({"name": name, "inputSchema": schema});
        if params["cursor"] != "second" {
            let header = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
            let echo = json!({
                "name": "echo", "z-unknown": {"b": 1.5, "a": []}, "inputSchema": header,
            });
            let tools = [echo, named("progress"), named("ask"), named("ask_beside"), named("slow")];
            return json!({"tools": tools, "nextCursor": "second"}).to_string();
        }
        let mut tools = vec![named("fail"), named("big"), named("change"), named("polling"), named("task")];
        if self.has_more_tools.load(Ordering::SeqCst) {
            tools.push(named("added"));
        }
        // Only for clients that said that they can be asked.
        let claimed = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        let initialized = self.initialized();
        if self.is_gated.load(Ordering::SeqCst)
            && !(initialized.as_ref().unwrap_or(claimed)["sampling"]).is_null()
        {
            tools.push(named("gated"));
        }
        json!({ "tools": tools }).to_string()
    }

    /// What the client of the newest session declared.
    fn initialized(&self) -> Option<Value> {
        self.of("initialize").last().map(|message| message["params"]["capabilities"].clone())
    }

    async fn call(self: &Arc<Self>, message: &Value, text: &str, out: &Out) -> Result<String, Value> {
        let params = &message["params"];
        let said = |text: String| json!({"content": [{"type": "text", "text": text}]}).to_string();
        match params["name"].as_str().unwrap_or_default() {
            "echo" => Ok(format!(
                r#"{{"z":{{"b":1.50, "a":[ ]}},"content":[],"isError":true,"got":{}}}"#,
                serde_json::to_string(text).unwrap()
            )),
            "progress" => {
                let token = &params["_meta"]["progressToken"];
                for progress in 1..=params["arguments"]["reports"].as_u64().unwrap_or(2) {
                    out.send(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                        "progressToken": token, "progress": progress, "total": 2, "message": "half",
                    }}));
                }
                out.send(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {
                    "level": "info", "logger": "script", "data": {"seen": true},
                }}));
                Ok(said("done".into()))
            }
            "ask" if self.eras == Eras::Modern => Ok(modern_question(params)),
            "ask" if is_modern(params) => Err(json!({"code": -32603, "message": "cannot ask in this era"})),
            "ask" => Ok(said(self.ask(&out.messages).await)),
            "ask_beside" => Ok(said(self.ask(out.beside.as_ref().unwrap_or(&out.messages)).await)),
            "slow" => {
                self.until_cancelled(&message["id"], out).await;
                Err(json!({"code": -32000, "message": "cancelled"}))
            }
            "fail" => Err(json!({"code": -32055, "message": "no luck", "data": {"why": ["x"]}})),
            "big" => {
                Ok(said("x".repeat(serde_json::from_value(params["arguments"]["bytes"].clone()).unwrap())))
            }
            "change" => {
                self.has_more_tools.store(true, Ordering::SeqCst);
                self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                Ok(said("changed".into()))
            }
            "gated" if self.initialized().is_some_and(|declared| declared["sampling"].is_null()) => {
                Err(json!({"code": -32602, "message": "Tool gated not found"}))
            }
            "task" => Ok(json!({"resultType": "task", "taskId": "t1", "status": "working"}).to_string()),
            other => Ok(said(format!("there is no tool {other} in {}", std::process::id()))),
        }
    }

    /// Sends something that belongs to no request.
    pub(crate) fn tell(&self, message: &Value) {
        let _ = self.told.send(message.to_string());
    }

    async fn ask(&self, way: &mpsc::UnboundedSender<String>) -> String {
        let id = format!("s{}", self.asked.fetch_add(1, Ordering::SeqCst));
        let (answer, here) = oneshot::channel();
        self.answers.lock().unwrap().insert(id.clone(), answer);
        let question = json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {
            "message": "name?", "requestedSchema": {"type": "object"}, "_meta": {RELATED: {"taskId": "t2"}},
        }});
        let _ = way.send(question.to_string());
        let answer = here.await.unwrap();
        answer.get("result").or(answer.get("error")).unwrap().to_string()
    }

    async fn until_cancelled(&self, id: &Value, out: &Out) {
        loop {
            let notified = self.cancel.notified();
            if self.cancelled.lock().unwrap().contains(id) {
                return;
            }
            tokio::select! {
                () = notified => {}
                () = out.messages.closed(), if self.eras == Eras::Modern => {
                    self.cancelled.lock().unwrap().push(id.clone());
                }
            }
        }
    }

    async fn listen(&self, message: &Value, out: &Out) -> String {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": message["id"]});
        let mut told = self.told.subscribe();
        out.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": meta, "notifications": message["params"]["notifications"]},
        }));
        loop {
            tokio::select! {
                told = told.recv() => {
                    let mut told: Value = serde_json::from_str(&told.unwrap()).unwrap();
                    told["params"]["_meta"] = meta.clone();
                    out.send(&told);
                }
                () = out.messages.closed() => return "{}".into(),
            }
        }
    }
}

/// Whether a request is one of the modern era.
pub(crate) fn is_modern(params: &Value) -> bool {
    !params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_null()
}

/// A modern server asks by its result, and knows by the state what it asked.
fn modern_question(params: &Value) -> String {
    match params["requestState"].as_str() {
        Some("state-1") => json!({
            "resultType": "complete",
            "content": [{"type": "text", "text": params["inputResponses"]["who"].to_string()}],
        })
        .to_string(),
        _ => json!({
            "resultType": "input_required", "requestState": "state-1",
            "inputRequests": {"who": {"method": "elicitation/create", "params": {"message": "name?"}}},
        })
        .to_string(),
    }
}
