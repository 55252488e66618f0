//! A tool calls another: the chain of calls is kept and bounded, and the called tool may speak to the client through the
//! calling one.

use std::net::IpAddr;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolrail_core::{
    CallError, Caller, CallerToken, Kept, LogLevel, Questions, Unanswered, async_trait, chain_to,
};

use crate::ask;
use crate::{Context, ToolError, ToolOutput};

pub(crate) async fn call(
    context: &Context<'_>,
    tool: &str,
    arguments: &RawValue,
) -> Result<ToolOutput, ToolError> {
    let chain = chain_to(context.call.caller, context.call.tool, tool).map_err(ToolError::failed)?;
    let Some(tools) = context.offering().gateway() else {
        return Err(ToolError::failed(format!("{tool} cannot be called: these tools run outside a gateway")));
    };
    let key = context.memory.with(context.call.caller, |state| {
        state.called += 1;
        format!("{}.{tool}", state.called)
    })?;
    let nested = Nested { context, chain, key };
    let outcome = tools.call(tool, arguments, context.call.principal, &nested).await;
    ToolOutput::of_result(outcome.map_err(ToolError::of_call)?)
}

/// The client as a tool sees it that was called by another. Questions go through the calling tool, whose run is the one
/// that is made again; progress stays its own matter, since the client counts only one.
struct Nested<'c> {
    context: &'c Context<'c>,
    chain: Vec<String>,
    /// Tells this call from the others of the same run.
    key: String,
}

impl Nested<'_> {
    fn caller(&self) -> &dyn Caller {
        self.context.call.caller
    }

    fn full(&self, key: &str) -> String {
        format!("{}.{key}", self.key)
    }
}

#[async_trait]
impl Caller for Nested<'_> {
    fn is_patient(&self) -> bool {
        self.caller().is_patient()
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.caller().log_level()
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &Value) {
        self.caller().log(level, logger, data);
    }

    fn capabilities(&self) -> &Value {
        self.caller().capabilities()
    }

    fn client_info(&self) -> Option<&Value> {
        self.caller().client_info()
    }

    fn meta(&self) -> Option<&RawValue> {
        self.caller().meta()
    }

    async fn ask(&self, questions: &Questions) -> Result<Map<String, Value>, Unanswered> {
        let by_key = questions.by_key.iter();
        let own = Questions {
            by_key: by_key.map(|(key, question)| (self.full(key), question.clone())).collect(),
            remember: None,
        };
        let noted = self.context.memory.with(self.caller(), |state| {
            if let Some(value) = &questions.remember {
                state.calls.insert(self.key.clone(), value.clone());
            }
        });
        noted.map_err(ToolError::into_unanswered)?;
        let mut answers = ask::ask(self.context, own).await.map_err(ToolError::into_unanswered)?;
        let keys = questions.by_key.iter().map(|(key, _)| key);
        Ok(keys.filter_map(|key| Some((key.clone(), answers.shift_remove(&self.full(key))?))).collect())
    }

    fn remembered(&self) -> Result<Option<Value>, CallError> {
        let remembered = self.context.memory.with(self.caller(), |state| state.calls.get(&self.key).cloned());
        remembered.map_err(|error| match error.into_unanswered() {
            Unanswered::Never(error) => error,
            Unanswered::Refused(refusal) => refusal.into_error(),
            Unanswered::Later(_) => CallError::invalid_params("the request state cannot be read"),
        })
    }

    fn chain(&self) -> &[String] {
        &self.chain
    }

    fn conversation(&self) -> Option<&str> {
        self.caller().conversation()
    }

    fn keep(&self, name: &str, make: &mut dyn FnMut() -> Kept) -> bool {
        self.caller().keep(name, make)
    }

    fn group(&self) -> Option<&str> {
        self.caller().group()
    }

    fn may_change(&self) -> bool {
        self.caller().may_change()
    }

    fn address(&self) -> Option<IpAddr> {
        self.caller().address()
    }

    fn token(&self) -> Option<&CallerToken> {
        self.caller().token()
    }
}
