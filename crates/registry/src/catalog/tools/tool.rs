//! A compiled tool, and the life of one call through it: arguments parsed and checked, executed, result checked.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolrail_core::{
    Call, CallError, Caller, Denial, ErrorCode, Held, Json, METADATA, Misfit, Mute, Outcome, Payload,
    Preview, Principal, Role, SaidHints, Share, TaskSupport, ToolName, ToolResult, ToolTraits, Violation,
    repeated_key, tree_size,
};
use toolrail_protocol::HeaderParam;

use super::super::built_in::{DISCOVERY, changes_definitions};
use super::checking::{CallEnd, CheckRefusal, LARGE, check, elsewhere};
use super::described::Described;
use super::lazy_executor::ToolExecutor;
use super::validator::{LazyValidator, Ready};
use crate::approvals::{Go, NeededApproval};
use crate::calls::{Lesson, UseCount};
use crate::gauges::MeasuredCall;

/// Who looks at the arguments of a tool.
pub(crate) enum Arguments {
    /// We do; they must fit this.
    Checked(LazyValidator),
    /// Whoever carries the call out; they are passed on as the client wrote them.
    PassedOn,
}

/// A tool that can be listed and called: everything a call or a list needs.
pub struct Tool {
    /// Whose it is; everybody's if absent.
    pub tenant: Option<Arc<str>>,
    /// Its name.
    pub name: ToolName,
    /// What it does.
    pub description: Option<Box<str>>,
    /// The kind that carries it out.
    pub kind: Box<str>,
    /// A group for people and search.
    pub category: Option<Box<str>>,
    /// Words for people and search.
    pub tags: Vec<String>,
    /// What its annotations say of it.
    pub hints: SaidHints,
    /// Whether endpoints that do not list everything leave it out, if its definition says so.
    pub defer_loading: Option<bool>,
    /// Whether it may or must run as a task.
    pub tasks: TaskSupport,
    /// Arguments that clients repeat in HTTP headers.
    pub header_params: Vec<HeaderParam>,
    /// What is said of it, if it lives elsewhere and cannot be called here.
    pub described: Option<Box<Described>>,
    pub(crate) entry: Bytes,
    pub(crate) legacy_entry: Option<Bytes>,
    pub(crate) arguments: Arguments,
    /// What results must fit, if we look at them.
    pub(crate) output: Option<LazyValidator>,
    pub(crate) has_output_schema: bool,
    pub(crate) executor: ToolExecutor,
    /// The most time that a call may take, checking its arguments and its result included (`policy.timeoutMs`).
    pub(crate) limit: Option<Duration>,
    /// That a person must approve of each call, if one must.
    pub(crate) approval: Option<Box<NeededApproval>>,
    /// Calls that are not in the store yet.
    pub(crate) uses: UseCount,
}

/// As many characters of a description are enough to choose by.
const SHORT_DESCRIPTION: usize = 500;

impl Tool {
    /// What it does, cut to what is enough to choose by.
    pub fn short_description(&self) -> Cow<'_, str> {
        let description = self.description.as_deref().unwrap_or_default();
        match description.char_indices().nth(SHORT_DESCRIPTION) {
            None => Cow::Borrowed(description),
            Some((end, _)) => Cow::Owned(format!("{}…", description.get(..end).unwrap_or_default())),
        }
    }

    /// What rules can ask of it.
    pub fn traits(&self) -> ToolTraits<'_> {
        ToolTraits {
            name: self.name.as_str(),
            kind: &self.kind,
            tags: &self.tags,
            category: self.category.as_deref(),
            tenant: self.tenant.as_deref(),
            hints: self.hints,
        }
    }

    /// Refuses a call that rules do not let this one make. What the gateway has by itself goes by roles.
    pub(super) async fn check_rights(
        &self,
        principal: &Principal,
        raw: Option<&RawValue>,
        arguments: &Value,
    ) -> Result<(), CallError> {
        let reach = principal.reach();
        let rights = reach.as_ref().and_then(|reach| reach.rights());
        let Some(rights) = rights.filter(|_| *self.kind != *DISCOVERY) else {
            return Ok(());
        };
        // What is passed on as it came was not read yet.
        let read = match (&self.arguments, raw) {
            (Arguments::PassedOn, Some(raw)) => {
                // Whoever carries the call out may take the other one of two.
                if let Some(repeated) = repeated_key(raw.get().as_bytes()) {
                    return Err(invalid(format!("{} {}", repeated.pointer, repeated.message)));
                }
                Some(parsed(raw).await?)
            }
            _ => None,
        };
        let arguments = object_of(read.as_ref().unwrap_or(arguments));
        rights.judge(&self.traits(), arguments).map_err(|denial| match denial {
            Denial::Hidden => {
                CallError::new(ErrorCode::NotFound, format!("there is no tool {:?}", self.name.as_str()))
            }
            Denial::Refused(why) => CallError::new(ErrorCode::Forbidden, format!("{}: {why}", self.name)),
        })
    }

    /// Its entry in `tools/list`, as JSON.
    pub fn list_entry(&self) -> &Bytes {
        &self.entry
    }

    /// What one must be allowed to do to call it.
    fn needed_role(&self) -> Role {
        if *self.kind != *DISCOVERY {
            return Role::Call;
        }
        if changes_definitions(self.name.as_str()) { Role::Write } else { Role::Read }
    }

    /// Carries out one call.
    pub async fn call(&self, raw: Option<&RawValue>, principal: &Principal, caller: &dyn Caller) -> Outcome {
        principal.must(self.needed_role())?;
        let approved;
        let caller: &dyn Caller = match &self.approval {
            None => caller,
            Some(needed) => match Box::pin(self.approve(needed, raw, (principal, caller))).await? {
                Go::On(on) => {
                    approved = on;
                    &approved
                }
                Go::Back(input) => return Ok(ToolResult::good(Payload::InputRequired(input))),
            },
        };
        let mut measured = MeasuredCall::begin(&self.kind);
        let outcome = match self.limit {
            None => self.carry_out(raw, (principal, caller), CallEnd(None)).await,
            Some(limit) => self.carry_out_within(limit, raw, (principal, caller)).await,
        };
        measured.end(&outcome);
        outcome
    }

    /// The digest of the definition that its calls are approved for, if a person must approve of them.
    pub fn approved_version(&self) -> Option<&str> {
        self.approval.as_ref().map(|needed| &*needed.version)
    }

    /// The policy that wraps the executor has the same limit, but knows nothing of what comes before it.
    async fn carry_out_within(
        &self,
        limit: Duration,
        raw: Option<&RawValue>,
        by: (&Principal, &dyn Caller),
    ) -> Outcome {
        self.ready().await?;
        let call = self.carry_out(raw, by, CallEnd(Instant::now().checked_add(limit)));
        tokio::time::timeout(limit, call).await.unwrap_or_else(|_| {
            let message = format!(
                "{} did not finish within {} ms (policy.timeoutMs); try again, or raise the limit",
                self.name,
                limit.as_millis()
            );
            Err(CallError::new(ErrorCode::Timeout, message))
        })
    }

    /// Has the schemas compiled. That counts in no call's time: given up with the first call, it would begin anew with
    /// each.
    pub(super) async fn ready(&self) -> Result<(), CallError> {
        if let Arguments::Checked(input) = &self.arguments {
            input.get().await?;
        }
        if let Some(output) = &self.output {
            output.get().await?;
        }
        Ok(())
    }

    async fn carry_out(
        &self,
        raw: Option<&RawValue>,
        (principal, caller): (&Principal, &dyn Caller),
        end: CallEnd,
    ) -> Outcome {
        let (arguments, _room) = self.arguments(raw, end).await?;
        self.check_rights(principal, raw, &arguments).await?;
        let executor = self.executor.get()?;
        // What is only described cannot be used here, however often somebody tries.
        let counts = self.described.is_none();
        let lesson = counts.then(|| self.uses.count(self.named(), principal, caller)).flatten();
        let call =
            Call { tool: self.name.as_str(), arguments: object_of(&arguments), raw, principal, caller };
        let mut result = executor.execute(&call).await.map_err(|error| self.failed(error))?;
        result.notes.extend(self.executor.unused(call.arguments));
        let lesson = lesson.filter(|_| !result.is_error);
        let result = self.check_output(result, end).await?;
        lesson.into_iter().for_each(Lesson::learn);
        Ok(result)
    }

    /// The error of a call. One for which something is missing here was none: nothing was sent.
    fn failed(&self, error: CallError) -> CallError {
        if matches!(error.code, ErrorCode::SecretMissing | ErrorCode::VarMissing) && self.described.is_none()
        {
            self.uses.uncount();
        }
        self.naming(error)
    }

    /// The error with the name of the tool, where it is about a field of the definition: its reader may not know which tool
    /// was called, and an operator must find the field.
    pub(super) fn naming(&self, error: CallError) -> CallError {
        error.naming(self.name.as_str())
    }

    /// What a call would send; sends nothing.
    pub async fn preview(&self, raw: Option<&RawValue>, principal: &Principal) -> Result<Preview, CallError> {
        let (arguments, _room) = self.arguments(raw, CallEnd(None)).await?;
        self.check_rights(principal, raw, &arguments).await?;
        let tool = self.name.as_str();
        let arguments = object_of(&arguments);
        let call = Call { tool, arguments, raw, principal, caller: &Mute };
        let mut preview = self.executor.get()?.preview(&call).map_err(|error| self.naming(error))?;
        preview.notes.extend(self.executor.unused(arguments));
        Ok(preview)
    }

    /// The arguments, and the room that they take up.
    pub(super) async fn arguments(
        &self,
        raw: Option<&RawValue>,
        end: CallEnd,
    ) -> Result<(Value, Option<Held>), CallError> {
        let ready = match &self.arguments {
            Arguments::Checked(input) => input.get().await?,
            Arguments::PassedOn if raw.is_some_and(|raw| !raw.get().starts_with('{')) => {
                return Err(no_object());
            }
            Arguments::PassedOn => return Ok((Value::Object(Map::new()), None)),
        };
        let Ready { validator: input, defaults } = &*ready;
        let room = raw.map(|raw| room_for(raw.get().as_bytes())).transpose()?.flatten();
        let mut arguments = match raw {
            None => Value::Object(Map::new()),
            Some(raw) => parsed(raw).await?,
        };
        let members = arguments.as_object_mut().ok_or_else(no_object)?;
        for (name, value) in defaults {
            if !members.contains_key(&**name) {
                members.insert(name.to_string(), value.clone());
            }
        }
        let bytes = raw.map_or(0, |raw| raw.get().len());
        let checked = check(input, (arguments, bytes), end).await.map_err(|refusal| match refusal {
            CheckRefusal::Misfit(Misfit::Violations(violations)) => invalid(format!(
                "the arguments do not fit the input schema of {}: {}",
                self.name,
                listed(&violations)
            )),
            CheckRefusal::Misfit(Misfit::Overrun(overrun)) => invalid(format!(
                "the arguments cannot be checked by the input schema of {}: {overrun}",
                self.name
            )),
            CheckRefusal::Failed(error) => error,
        });
        Ok((checked?, room))
    }

    /// A result that breaks its own schema would be refused by strict clients with a poorer message than ours.
    async fn check_output(&self, result: ToolResult, end: CallEnd) -> Outcome {
        let Some(output) = self.output.as_ref().filter(|_| !result.is_error) else {
            return Ok(result);
        };
        let output = output.get().await?;
        let output = &output.validator;
        let _room = match &result.payload {
            Payload::Json(json) => room_for(json.bytes())?,
            _ => None,
        };
        let value = match &result.payload {
            Payload::Json(json) => self.tree_of(json).await?,
            Payload::Text(text) => Value::String(text.clone()),
            // Whoever speaks MCP itself answers for what it promised.
            Payload::Whole(_) | Payload::InputRequired(_) => return Ok(result),
            Payload::Blocks(_) | Payload::Empty => Value::Null,
        };
        let bytes = match &result.payload {
            Payload::Json(json) => json.bytes().len(),
            _ => value.as_str().map_or(0, str::len),
        };
        let refused = |message| Err(CallError::new(ErrorCode::UpstreamInvalid, message));
        match check(output, (value, bytes), end).await {
            Ok(_) => Ok(result),
            Err(CheckRefusal::Misfit(Misfit::Violations(violations))) => refused(format!(
                "the answer does not fit the output schema of {}: {}; correct outputSchema or responseMapping",
                self.name,
                listed(&violations)
            )),
            Err(CheckRefusal::Misfit(Misfit::Overrun(overrun))) => refused(format!(
                "the answer cannot be checked by the output schema of {}: {overrun}",
                self.name
            )),
            Err(CheckRefusal::Failed(error)) => Err(error),
        }
    }

    async fn tree_of(&self, json: &Json) -> Result<Value, CallError> {
        let bytes = json.bytes().clone();
        let read = move || serde_json::from_slice(&bytes);
        let tree = if json.bytes().len() <= LARGE { read() } else { Box::pin(elsewhere(read)).await? };
        tree.map_err(|error| {
            let name = &self.name;
            let message = format!("the answer cannot be checked by the output schema of {name}: {error}");
            CallError::new(ErrorCode::UpstreamInvalid, message)
        })
    }

    /// How often it was called here and on every other replica, and when last.
    pub(crate) fn counted_uses(&self) -> (u64, Option<SystemTime>) {
        let used = self.uses.all(self.named());
        (used.count, used.last_used())
    }

    fn named(&self) -> (Option<&Arc<str>>, &str) {
        (self.tenant.as_ref(), self.name.as_str())
    }

    /// Whether it can be called here, rather than only be described.
    pub(crate) fn is_callable(&self) -> bool {
        &*self.kind != METADATA
    }

    /// Whether the tool promises structured content.
    pub fn has_output_schema(&self) -> bool {
        self.has_output_schema
    }
}

/// Room for large JSON as a tree, which takes many times as much as its text.
fn room_for(text: &[u8]) -> Result<Option<Held>, CallError> {
    let is_large = text.len() > LARGE;
    Ok(is_large.then(|| Share::current().hold(tree_size(text))).transpose()?)
}

/// The arguments as a tree.
pub(super) async fn parsed(raw: &RawValue) -> Result<Value, CallError> {
    let tree = if raw.get().len() <= LARGE {
        serde_json::from_str(raw.get())
    } else {
        let raw = raw.to_owned();
        Box::pin(elsewhere(move || serde_json::from_str(raw.get()))).await?
    };
    tree.map_err(|error: serde_json::Error| invalid(format!("the arguments cannot be read: {error}")))
}

pub(super) fn invalid(message: String) -> CallError {
    CallError::new(ErrorCode::InvalidArguments, message)
}

fn no_object() -> CallError {
    invalid("the arguments must be a JSON object".to_owned())
}

pub(super) fn object_of(arguments: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    arguments.as_object().unwrap_or(&EMPTY)
}

fn listed(violations: &[Violation]) -> String {
    let told: Vec<Cow<'_, str>> = violations
        .iter()
        .map(|violation| match violation.pointer.as_str() {
            "" => Cow::Borrowed(violation.message.as_str()),
            pointer => Cow::Owned(format!("{pointer}: {}", violation.message)),
        })
        .collect();
    told.join("; ")
}
