//! Tools that a server has only for clients that can be asked something. They are listed for all, so a client that cannot
//! be asked learns here what it would have to declare, where the server only says that there is no such tool.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;
use toolrail_core::{CallError, ErrorCode, Outcome, Payload, RpcError, ToolResult};
use toolrail_protocol::{Era, code};

use super::hub::Hub;
use super::meta::{ASKABLE, Claims};
use super::run::Job;
use super::{lists, meta};

/// How long finding out may take.
const WITHIN: Duration = Duration::from_secs(10);
/// The most verdicts that are kept.
const MOST_KEPT: usize = 256;
/// The longest text that may only say that there is no such tool.
const LONGEST: usize = 1_000;

/// What was found out about tools, by their names and what the client declared.
#[derive(Default)]
pub(super) struct Gates {
    known: Mutex<HashMap<ToolForClient, Arc<OnceCell<Verdict>>>>,
    /// Held while somebody looks: each look starts a session, or a program.
    looking: tokio::sync::Mutex<()>,
}

/// The name of a tool, and what the client declared.
type ToolForClient = (String, Vec<String>);

/// The capabilities of which one is needed; none if the tool is there for such a client.
type Verdict = Vec<&'static str>;

/// What a client is told instead whose call failed because the server does not have the tool for it.
pub(super) async fn refusal(hub: &Hub, job: &Job<'_>, outcome: &Outcome) -> Option<CallError> {
    if job.method != "tools/call" || !may_be_missing(job.name, outcome) {
        return None;
    }
    let shared = hub.connection().await.ok()?;
    // What the server has for one caller it need not have for another.
    let is_on_behalf = hub.connector.is_on_behalf();
    if is_on_behalf || shared.claims != Claims::Everything || shared.era != Era::Legacy {
        return None;
    }
    let declared = meta::askable(job.caller);
    let key = (job.name.to_owned(), declared.keys().cloned().collect());
    let cell = hub.gates.cell(key);
    let needed = if let Some(needed) = cell.get() {
        needed
    } else {
        let _looking = tokio::time::timeout(WITHIN, hub.gates.looking.lock()).await.ok()?;
        // A server that fails to tell is not asked with every call; one that was only slow is.
        let finding = Box::pin(tokio::time::timeout(WITHIN, needed(hub, job.name, &declared)));
        cell.get_or_try_init(async || finding.await.map(Result::unwrap_or_default)).await.ok()?
    };
    let is_modern = job.caller.resumed().is_some();
    (!needed.is_empty()).then(|| in_words(job.name, needed, is_modern))
}

/// Whether the server may be saying that there is no such tool, as servers do in many ways.
fn may_be_missing(name: &str, outcome: &Outcome) -> bool {
    match outcome {
        Err(CallError { rpc: Some(rpc), .. }) => {
            matches!(rpc.code, RpcError::INVALID_PARAMS | code::METHOD_NOT_FOUND)
                && says_missing(name, &rpc.message)
        }
        Ok(ToolResult { is_error: true, payload: Payload::Whole(json), .. }) => {
            says_missing(name, json.text())
        }
        Ok(_) | Err(_) => false,
    }
}

fn says_missing(name: &str, text: &str) -> bool {
    const WORDS: [&str; 5] = ["not found", "unknown", "no such", "does not exist", "not available"];
    if text.len() > LONGEST || !text.contains(name) {
        return false;
    }
    let text = text.to_ascii_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// Looks what the server lists for a client like this one, and for one that declares more.
async fn needed(hub: &Hub, name: &str, declared: &Map<String, Value>) -> Result<Verdict, CallError> {
    let everything = Claims::Everything.capabilities();
    // A tool that is there for nobody who begins anew is one of the client's own session, and its words are its own.
    let is_gated = has(hub, name, everything.as_object().unwrap_or(declared)).await?
        && !has(hub, name, declared).await?;
    if !is_gated {
        return Ok(Vec::new());
    }
    let missing: Verdict = ASKABLE.iter().copied().filter(|known| !declared.contains_key(*known)).collect();
    for capability in &missing {
        let mut more = declared.clone();
        more.insert((*capability).to_owned(), everything.get(*capability).cloned().unwrap_or_default());
        if has(hub, name, &more).await? {
            return Ok(vec![*capability]);
        }
    }
    Ok(missing)
}

/// Whether the server has the tool for a client that declares that, in a session that ends at once.
async fn has(hub: &Hub, name: &str, declared: &Map<String, Value>) -> Result<bool, CallError> {
    let capabilities = Value::Object(declared.clone());
    let connecting = hub.connector.connect_as(Era::Legacy, &capabilities, None).await;
    let (connection, _unsolicited) = connecting.map_err(super::failure::Failure::into_error)?;
    lists::has_tool(&connection, name).await.map_err(super::failure::Failure::into_error)
}

fn in_words(name: &str, needed: &[&str], is_modern: bool) -> CallError {
    let capabilities: Vec<String> = needed.iter().map(|capability| format!("{capability:?}")).collect();
    let word = if needed.len() == 1 { "the capability" } else { "more of the capabilities" };
    let message = format!(
        "the server has the tool {name:?} only for clients that declare {word} {}, which this one does not",
        capabilities.join(", ")
    );
    let error = CallError::new(ErrorCode::InvalidRequest, &*message);
    // The number is one of the newest revision; older clients read the words.
    if !is_modern {
        return error;
    }
    let required: Map<String, Value> =
        needed.iter().map(|capability| ((*capability).to_owned(), json!({}))).collect();
    let data = Some(json!({"requiredCapabilities": required}));
    error.with_rpc(RpcError { code: RpcError::MISSING_CAPABILITY, message, data })
}

impl Gates {
    fn cell(&self, key: ToolForClient) -> Arc<OnceCell<Verdict>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KEPT && !known.contains_key(&key) {
            known.clear();
        }
        Arc::clone(known.entry(key).or_default())
    }

    /// Forgets everything: the server offers other things now.
    pub(super) fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
