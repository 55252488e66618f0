//! What a script asks during a call is done here: requests by the guarded client, calls of tools as the caller, secrets that the
//! definition lists.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolrail_core::{Block, Call, LogLevel, Outcome, Payload, Progress, chain_to};
use toolrail_scripts::{FetchAnswer, FetchRequest, Host, HostError};

use super::ScriptExecutor;
use super::nested::NestedCaller;
use crate::outbound::{Bound, Outgoing, SendLimits, Sensitive, is_link_local_host};

/// The largest body that `fetch` reads.
const LARGEST_ANSWER: usize = 16 << 20;
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
const REDIRECTS: u8 = 10;
const MOST_HEADERS: usize = 128;
const LARGEST_HEADERS: usize = 64 << 10;

/// Headers that are the client's business.
const OURS: [&str; 8] =
    ["connection", "content-length", "expect", "host", "keep-alive", "te", "transfer-encoding", "upgrade"];

/// Answers the script of one call.
pub(super) struct CallHost<'c> {
    pub(super) script: &'c ScriptExecutor,
    pub(super) call: Call<'c>,
}

impl CallHost<'_> {
    fn outgoing(&self, request: FetchRequest) -> Result<Outgoing, HostError> {
        let refused = |why: String| HostError::type_error(format!("fetch: {why}"));
        let FetchRequest { url, method, headers, redirect, body } = request;
        // What follows # is never sent.
        let sent = url.split('#').next().unwrap_or_default();
        if !(sent.starts_with("http://") || sent.starts_with("https://")) {
            return Err(refused("only http and https URLs can be fetched".to_owned()));
        }
        let uri: Uri = sent.parse().map_err(|error| refused(format!("the URL cannot be used: {error}")))?;
        self.check_host(&uri).map_err(refused)?;
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| refused("the method cannot be used".to_owned()))?;
        if matches!(method, Method::CONNECT | Method::TRACE) {
            return Err(refused(format!("the method {method} is not allowed")));
        }
        Ok(Outgoing {
            method,
            uri,
            headers: headers_of(headers).map_err(refused)?,
            secret_body: body.as_deref().is_some_and(|body| self.script.sensitive.is_in(body)),
            body: body.map(Bytes::from).unwrap_or_default(),
            limits: SendLimits {
                connect: CONNECTS_WITHIN,
                total: self.script.wall,
                max_response_bytes: LARGEST_ANSWER,
                redirects: if redirect == "follow" { REDIRECTS } else { 0 },
            },
            // What the script has it may read; what it tells others is masked.
            sensitive: Sensitive::default(),
            bound: self.bound(),
        })
    }

    /// A redirect must not lead out of where the script may go.
    fn bound(&self) -> Bound {
        let stays = self.script.hosts.is_some() || self.script.bound.is_bound();
        self.script.bound.clone().staying_if(stays).away_from_link_local()
    }

    fn check_host(&self, uri: &Uri) -> Result<(), String> {
        let host = uri.host().unwrap_or_default();
        if is_link_local_host(host) {
            return Err(format!("{host} is a link-local address"));
        }
        let default = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let port = uri.port_u16().unwrap_or(default);
        let hosts = self.script.hosts.iter().flatten();
        if self.script.hosts.is_some() && !hosts.clone().any(|pattern| pattern.matches(host, port)) {
            let hosts: Vec<_> = hosts.map(ToString::to_string).collect();
            return Err(format!(
                "{host} is not among the hosts of this script (script.hosts): {}",
                hosts.join(", ")
            ));
        }
        Ok(())
    }
}

fn headers_of(pairs: Vec<(String, String)>) -> Result<HeaderMap, String> {
    let size: usize = pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
    if pairs.len() > MOST_HEADERS || size > LARGEST_HEADERS {
        return Err(format!(
            "a request has at most {MOST_HEADERS} headers of {} KB together",
            LARGEST_HEADERS >> 10
        ));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("{name:?} is no name of a header"))?;
        let value = HeaderValue::from_str(&value)
            .or_else(|_| HeaderValue::from_bytes(value.as_bytes()))
            .map_err(|_| format!("the value of the header {name} cannot be sent"))?;
        let is_ours = OURS.contains(&name.as_str());
        if !is_ours && !name.as_str().starts_with("toolrail-") && !name.as_str().starts_with("proxy-") {
            headers.append(name, value);
        }
    }
    Ok(headers)
}

#[toolrail_core::async_trait]
impl Host for CallHost<'_> {
    async fn fetch(&self, request: FetchRequest) -> Result<FetchAnswer, HostError> {
        let (url, redirect) = (request.url.clone(), request.redirect.clone());
        let outgoing = self.outgoing(request)?;
        let first = outgoing.uri.clone();
        let sent = self.script.runtime.client.send(outgoing).await;
        let answer = sent
            .map_err(|failure| HostError::type_error(format!("fetch failed: {}", failure.error.message)))?;
        if redirect == "error" && answer.status.is_redirection() {
            return Err(HostError::type_error(
                "fetch failed: the server redirects, and redirect is \"error\"",
            ));
        }
        if let Some(cut) = answer.cut {
            return Err(HostError::type_error(format!(
                "fetch failed: the body is larger than {} bytes",
                cut.cap
            )));
        }
        let redirected = answer.uri != first;
        let headers = answer.headers.iter();
        let headers = headers.map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        Ok(FetchAnswer {
            status: answer.status.as_u16(),
            headers: headers.collect(),
            url: if redirected { answer.uri.to_string() } else { url },
            redirected,
            body: answer.body.to_vec(),
        })
    }

    async fn call_tool(
        &self,
        name: &str,
        arguments: &str,
        _caller: Option<&str>,
    ) -> Result<Value, HostError> {
        let Some(tools) = self.script.runtime.scripts.tools() else {
            return Err(HostError::new("no tools can be called here"));
        };
        let chain = chain_to(self.call.caller, self.call.tool, name).map_err(HostError::new)?;
        let arguments =
            RawValue::from_string(arguments.to_owned()).map_err(|error| HostError::new(error.to_string()))?;
        let caller = NestedCaller { outer: self.call.caller, chain };
        Ok(as_result(tools.call(name, &arguments, self.call.principal, &caller).await))
    }

    async fn secret(&self, name: &str) -> Result<String, HostError> {
        if !self.script.secrets.iter().any(|listed| listed == name) {
            return Err(HostError::new(format!(
                "the secret {name:?} is not listed in script.secrets of this tool"
            )));
        }
        let secrets = &self.script.runtime.secrets;
        let secret = secrets.find(name).filter(|secret| !Sensitive::is_too_short(secret.reveal()));
        let value = secret.map(|secret| secret.reveal().to_owned());
        value.ok_or_else(|| {
            HostError::new(format!("the secret {name:?} has no value here; {}", secrets.how_to_set(name)))
        })
    }

    fn console(&self, level: &str, text: &str) {
        let text = self.script.sensitive.mask_text(text.to_owned());
        let tool = self.call.tool;
        match level {
            "error" => tracing::error!(tool, "{text}"),
            "warning" => tracing::warn!(tool, "{text}"),
            "debug" => tracing::debug!(tool, "{text}"),
            _ => tracing::info!(tool, "{text}"),
        }
    }

    fn progress(&self, progress: f64, total: Option<f64>, message: Option<String>) {
        let message = message.map(|message| self.script.sensitive.mask_text(message));
        self.call.caller.progress(&Progress { progress, total, message });
    }

    fn log(&self, level: &str, data: &str) {
        let Some(level) = LogLevel::parse(level) else { return };
        if self.call.caller.log_level().is_some_and(|least| level >= least) {
            let text = self.script.sensitive.mask_text(data.to_owned());
            let data = serde_json::from_str(&text).unwrap_or(Value::String(text));
            self.call.caller.log(level, Some(self.call.tool), &data);
        }
    }
}

/// An outcome as a `CallToolResult`.
fn as_result(outcome: Outcome) -> Value {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let result = match outcome {
        Ok(result) => result,
        Err(error) => {
            return json!({"content": text(&error.message), "isError": true, "code": error.code.word()});
        }
    };
    let mut made = match result.payload {
        Payload::Whole(json) => return json.to_value(),
        Payload::Json(json) => {
            let value = json.to_value();
            let content = text(json.text());
            if value.is_object() {
                json!({"content": content, "structuredContent": value})
            } else {
                json!({"content": content})
            }
        }
        Payload::Text(said) => json!({"content": text(&said)}),
        Payload::Blocks(blocks) => json!({"content": blocks.iter().map(as_value).collect::<Vec<_>>()}),
        Payload::Empty => json!({"content": []}),
        Payload::InputRequired(_) => {
            json!({"content": text("this tool asks its client something, which it cannot do for a script"), "isError": true})
        }
    };
    if result.is_error {
        made["isError"] = json!(true);
    }
    made
}

fn as_value(block: &Block) -> Value {
    let mut written = Vec::new();
    block.write(&mut written);
    serde_json::from_slice(&written).unwrap_or_default()
}
