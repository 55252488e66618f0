//! Somebody whose account at a server is not connected yet is asked to open an address: by his client where it can show
//! addresses, and else in the words of an error.

use std::sync::Arc;

use serde_json::{Value, json};
use toolrail_core::{
    ArgumentCheck, Call, CallError, Caller, Changed, ErrorCode, Executor, Invitation, ListEntry, NoToken,
    Notice, OAuthUser, Offer, OfferedTool, Outcome, Payload, Preview, Principal, Problems, Question,
    Questions, RpcError, TaskSupport, ToolName, ToolResult, Unanswered, async_trait,
};
use toolrail_protocol::code;

use super::super::hub::Hub;
use super::super::settings::Selection;

/// The key of the question.
const KEY: &str = "connect";

/// Notes what is wrong with how people are to connect their accounts.
pub(in super::super) fn check(user: &OAuthUser, pointer: &str, problems: &mut Problems) {
    if user.client_secret.as_deref().is_some_and(|secret| secret_named(secret).is_none()) {
        problems.error(format!("{pointer}/clientSecret"), "must be a secret by its name: {{secrets.KEY}}");
    }
    if user.client_secret.is_some() && user.client_id.is_none() {
        problems.error(format!("{pointer}/clientSecret"), "has no effect without clientId; add that");
    }
    if user.client_id.is_some() && user.issuer.is_none() {
        let words = "clientId is known to one authorisation server; name that, or the upstream server could have the gateway go, with its secret, to another";
        problems.error(format!("{pointer}/issuer"), words);
    }
    for (field, text) in [("issuer", &user.issuer), ("clientId", &user.client_id)] {
        if text.as_deref().is_some_and(|text| text.is_empty() || text.contains("{{")) {
            let words = "must be written out; only clientSecret is a secret";
            problems.error(format!("{pointer}/{field}"), words);
        }
    }
}

/// The name of the secret that a text stands for.
pub(in super::super) fn secret_named(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim().strip_prefix("secrets.")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_plain)).then_some(name)
}

/// Has somebody connect his account, where calls are made with what he grants and there is nothing yet: what he gets instead of
/// an answer. Nothing if all is well.
pub(in super::super) async fn ask_to_connect(
    hub: &Arc<Hub>,
    (principal, caller): (&Principal, &dyn Caller),
) -> Result<Option<ToolResult>, CallError> {
    let Some(accounts) = hub.connector.accounts(&hub.name) else { return Ok(None) };
    accounts.holder(principal)?;
    let Some(id) = accounts.grants.id(&accounts.server, principal) else { return Ok(None) };
    match accounts.grants.token(&id).await {
        Ok(_) => return Ok(None),
        Err(NoToken::Failed(error)) => return Err(error),
        Err(NoToken::NotGranted) => {}
    }
    let conversation = caller.conversation().map(str::to_owned);
    let (weak, told) = (Arc::downgrade(hub), Arc::new(std::sync::OnceLock::<String>::new()));
    let id = Arc::clone(&told);
    let connected = Box::new(move || {
        let Some(hub) = weak.upgrade() else { return };
        // What could not be listed may be now.
        hub.wake.notify_one();
        if let (Some(conversation), Some(id)) = (conversation, id.get().cloned()) {
            hub.tell(Changed::Told { conversation, notice: Notice::Elicited { id } });
        }
    });
    let invitation = accounts.grants.invite(&accounts.server, principal, connected).await?;
    let _ = told.set(invitation.id.clone());
    let words = format!("connect an account at {}", accounts.server.name);
    if !takes_addresses(caller) {
        return Err(in_words(&words, &invitation));
    }
    if caller.resumed().is_none() {
        return Err(as_error(&words, &invitation));
    }
    ask(caller, &words, &invitation).await
}

/// Whether a client can have its user open an address.
fn takes_addresses(caller: &dyn Caller) -> bool {
    caller.capabilities().pointer("/elicitation/url").is_some_and(Value::is_object)
}

/// For a client of 2026-07-28: the question is the result, and the client makes the request again.
async fn ask(
    caller: &dyn Caller,
    words: &str,
    invitation: &Invitation,
) -> Result<Option<ToolResult>, CallError> {
    let params = json!({"mode": "url", "message": sentence(words), "url": invitation.url});
    let question = Question { method: "elicitation/create".to_owned(), params };
    let questions = Questions { by_key: vec![(KEY.to_owned(), question)], remember: None };
    match caller.ask(&questions).await {
        Err(Unanswered::Later(input)) => Ok(Some(ToolResult::good(Payload::InputRequired(input)))),
        Err(Unanswered::Never(error)) => Err(error),
        Err(Unanswered::Refused(refusal)) => Err(refusal.into_error()),
        // It was asked before, and is here again too early.
        Ok(_) => Err(in_words(words, invitation)),
    }
}

/// For a client of 2025-11-25: an error with a number of its own.
fn as_error(words: &str, invitation: &Invitation) -> CallError {
    let Invitation { id, url } = invitation;
    let asked = json!({"mode": "url", "elicitationId": id, "url": url, "message": sentence(words)});
    let error = in_words(words, invitation);
    let message = error.message.clone();
    let data = Some(json!({"elicitations": [asked]}));
    error.with_rpc(RpcError { code: code::URL_ELICITATION_REQUIRED, message, data })
}

/// For everybody else, and for models to hand on.
fn in_words(words: &str, invitation: &Invitation) -> CallError {
    let message =
        format!("the user must first {words}: open {} in a browser, and then call again", invitation.url);
    CallError::new(ErrorCode::Forbidden, message)
}

fn sentence(words: &str) -> String {
    let mut sentence = words.to_owned();
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    sentence
}

/// Adds to what a server offers the way to connect an account there, where people have some. Many list nothing before somebody has.
pub(in super::super) fn add_connect(offer: &mut Offer, selection: &Selection, hub: &Arc<Hub>) {
    let Ok(name) = ToolName::parse(&format!("{}{KEY}", selection.prefix)) else { return };
    let is_taken = offer.tools.iter().any(|tool| tool.name == name);
    if is_taken || hub.connector.accounts(&hub.name).is_none() {
        return;
    }
    let description = format!(
        "Connects the user's account at {}, whose other tools need it. Gives an address for the user to open.",
        hub.name
    );
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let entry = json!({"name": name.as_str(), "description": description, "inputSchema": schema});
    let tool = OfferedTool {
        name,
        entry: ListEntry::from(entry),
        executor: Arc::new(Connecting(Arc::clone(hub))),
        arguments: ArgumentCheck::Here,
        tasks: TaskSupport::Never,
    };
    offer.tools.push(tool);
}

/// Has somebody connect his account.
struct Connecting(Arc<Hub>);

#[async_trait]
impl Executor for Connecting {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        if let Some(asked) = ask_to_connect(&self.0, (call.principal, call.caller)).await? {
            return Ok(asked);
        }
        self.0.wake.notify_one();
        let text = format!("Your account at {} is connected.", self.0.name);
        Ok(ToolResult::good(Payload::Text(text)))
    }

    fn preview(&self, _: &Call<'_>) -> Result<Preview, CallError> {
        let request = json!({"connect": self.0.name});
        Ok(Preview { request, values: Vec::new(), notes: Vec::new() })
    }
}
