//! Token exchange (RFC 8693): an authorisation server gives a token for that of the caller. What it gave is used again until it
//! expires, for the same caller's token and the same definition only; of several calls at once, one asks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value};
use toolrail_core::{Auth, CallError, CallerToken, ErrorCode, MASK, Secret, TokenExchange};

use super::exchanged::{Exchanged, ExchangedTokens};
use super::{Base, BodyType, Proof, RequestSettings, RequestTemplate, Target, Written, reach};
use crate::outbound::Incoming;
use crate::runtime::Runtime;
use crate::template::{Compiler, Rendering};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// The name under which the caller's token is placed; no definition can name it.
const SUBJECT: &str = "subject";
/// The most bytes of an answer, and of a token.
const LARGEST_ANSWER: u64 = 64 * 1024;
const LONGEST_TOKEN: usize = 16 * 1024;
/// How long a token is used that does not say how long it is good, and the longest that any is.
const USUAL_LIFE: Duration = Duration::from_mins(1);
const LONGEST_LIFE: Duration = Duration::from_hours(1);
/// How long before its end a token is used no more.
const MARGIN: Duration = Duration::from_secs(30);

/// Gets tokens for those of callers.
#[derive(Debug)]
pub(crate) struct TokenExchanger {
    /// Tells it from every other, also from what a later version of its definition compiles to.
    number: u64,
    /// Where the definition has it.
    pointer: String,
    request: RequestTemplate,
    target: Target,
}

impl TokenExchanger {
    /// Compiles the request for tokens, noting every fault. Its secrets go to the server that gives tokens, and nowhere else.
    pub(super) fn compile(
        exchange: &TokenExchange,
        pointer: &str,
        compiler: &mut Compiler<'_>,
    ) -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let outer = compiler.set_aside();
        let base = Base::compile_text(&exchange.token_url, &format!("{pointer}/tokenUrl"), compiler);
        let request = compile_request(exchange, pointer, compiler);
        reach::check(base.as_slice(), compiler);
        compiler.problems.revise(|problem| rename(pointer, &mut problem.pointer));
        let others = compiler.arguments.iter().find(|argument| argument.name != SUBJECT);
        if let Some(argument) = others.cloned() {
            let message =
                format!("args.{} cannot stand here: a token is the same for every call", argument.name);
            compiler.problems.error(pointer, message);
        }
        compiler.take_back(outer);
        let request = request?;
        let target = Target::new(base?, request.fixed());
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Some(Self { number, pointer: pointer.to_owned(), request, target })
    }

    /// A token for that of a caller.
    pub(super) async fn token_for(
        &self,
        token: &CallerToken,
        runtime: &Runtime,
    ) -> Result<Secret, CallError> {
        let slot = ExchangedTokens::of_process().slot(self.number, token);
        let mut exchanged = slot.lock().await;
        if let Some(known) = exchanged.as_ref().filter(|known| known.is_good()) {
            return Ok(known.token.clone());
        }
        let fresh = self.exchange(token, runtime).await?;
        let given = fresh.token.clone();
        *exchanged = Some(fresh);
        Ok(given)
    }

    async fn exchange(&self, token: &CallerToken, runtime: &Runtime) -> Result<Exchanged, CallError> {
        let subject = Map::from_iter([(SUBJECT.to_owned(), Value::from(token.reveal()))]);
        let outgoing = {
            let mut rendering = Rendering::to_send(&subject, &runtime.secrets);
            rendering.derive(token.reveal());
            let draft = self.request.draft(&mut rendering).map_err(|error| self.at_our_field(error))?;
            let rest = draft.rest.as_deref().or(self.request.fixed()).unwrap_or_default();
            let uri = self.target.uri(rest, &mut rendering)?;
            let mut outgoing = draft.into_outgoing(uri);
            outgoing.secret_body = true;
            outgoing
        };
        let answer = runtime.client.send(outgoing).await?;
        let place = self.target.name().unwrap_or_else(|| "the authorisation server".to_owned());
        read(&answer, &place)
    }
}

impl TokenExchanger {
    /// An error about a field of the request for tokens, at the field of the definition that it comes from.
    fn at_our_field(&self, error: CallError) -> CallError {
        let Some((told, rest)) = error.message.split_once(": ").filter(|_| error.is_about_definition) else {
            return error;
        };
        let mut pointer = told.to_owned();
        rename(&self.pointer, &mut pointer);
        CallError { message: format!("{pointer}: {rest}"), ..error }
    }
}

fn compile_request(
    exchange: &TokenExchange,
    pointer: &str,
    compiler: &mut Compiler<'_>,
) -> Option<RequestTemplate> {
    let mut form = Map::new();
    let mut field = |name: &str, value: &str| form.insert(name.to_owned(), value.into());
    field("grant_type", GRANT);
    field("subject_token", &format!("{{{{args.{SUBJECT}}}}}"));
    field("subject_token_type", ACCESS_TOKEN);
    field("requested_token_type", ACCESS_TOKEN);
    for (name, value) in [("audience", &exchange.audience), ("resource", &exchange.resource)] {
        value.as_ref().map(|value| field(name, value));
    }
    if !exchange.scopes.is_empty() {
        field("scope", &exchange.scopes.join(" "));
    }
    if exchange.client_secret.is_none() {
        field("client_id", &exchange.client_id);
    }
    let basic =
        |password: &String| Auth::Basic { username: exchange.client_id.clone(), password: password.clone() };
    let client = exchange.client_secret.as_ref().map(basic);
    let body = Value::Object(form);
    let settings = RequestSettings {
        block: pointer.trim_start_matches('/'),
        method: Some("POST"),
        body: Some(&body),
        body_type: Some(BodyType::Form),
        max_response_bytes: Some(LARGEST_ANSWER),
        redirects: Some(0),
        ..RequestSettings::default()
    };
    let written = Written { path: Vec::new(), query: Vec::new(), pointer: format!("{pointer}/tokenUrl") };
    let proof = client.as_ref().map(|auth| Proof { auth, pointer: pointer.to_owned() });
    RequestTemplate::compile(&written, &settings, proof, compiler)
}

/// What was noted of the request for tokens, at the field that it comes from.
fn rename(base: &str, pointer: &mut String) {
    let Some(field) = pointer.strip_prefix(base) else { return };
    let ours = match field {
        "/username" | "/body/client_id" => "/clientId",
        "/password" => "/clientSecret",
        "/body/scope" => "/scopes",
        "/body/audience" => "/audience",
        "/body/resource" => "/resource",
        _ => return,
    };
    *pointer = format!("{base}{ours}");
}

/// What an authorisation server answers.
#[derive(Deserialize, Default)]
struct TokenAnswer {
    access_token: Option<String>,
    token_type: Option<String>,
    expires_in: Option<Value>,
    error: Option<String>,
    error_description: Option<String>,
}

fn read(answer: &Incoming, place: &str) -> Result<Exchanged, CallError> {
    let said: Option<TokenAnswer> = serde_json::from_slice(&answer.body).ok();
    let understood = said.is_some();
    let said = said.unwrap_or_default();
    if !answer.status.is_success() || said.error.is_some() {
        let short =
            |text: String| text.chars().filter(|letter| !letter.is_control()).take(300).collect::<String>();
        let why: Vec<String> =
            [said.error, said.error_description].into_iter().flatten().map(short).collect();
        let why = if why.is_empty() { String::new() } else { format!(": {}", why.join(", ")) };
        let message =
            format!("{place} gave no token for that of the caller ({}){why}", answer.status.as_u16());
        return Err(CallError::new(ErrorCode::UpstreamStatus, message));
    }
    let wrong = |what: &str| {
        let message = format!("{place} answered the token exchange with {what}; ask whoever runs it");
        Err(CallError::new(ErrorCode::UpstreamInvalid, message))
    };
    if !understood {
        return wrong("something that is not the JSON of a token");
    }
    if said.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return wrong("a token that is not a bearer token");
    }
    match said.access_token {
        None => wrong("no access_token"),
        // What went out is masked in what comes back.
        Some(token) if token.contains(MASK) => wrong("the caller's own token"),
        Some(token) if !is_token(&token) => wrong("an access_token that cannot stand in a header"),
        Some(token) => Ok(Exchanged {
            token: Secret::new(token),
            until: Instant::now() + life(said.expires_in.as_ref()),
        }),
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_TOKEN && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// How long a token is used: some servers write the number as text.
fn life(expires_in: Option<&Value>) -> Duration {
    let seconds = expires_in
        .and_then(|said| said.as_u64().or_else(|| said.as_str().and_then(|text| text.parse().ok())));
    let good = seconds.map_or(USUAL_LIFE, Duration::from_secs).min(LONGEST_LIFE);
    good.saturating_sub(MARGIN.min(good / 4))
}
