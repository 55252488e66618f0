//! The client as a tool sees it that was called by a script.

use std::net::IpAddr;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolrail_core::{
    CallError, Caller, CallerToken, ErrorCode, Kept, LogLevel, Questions, Unanswered, async_trait,
};

/// The client as a tool sees it that was called by a script. It can be asked only where it answers while the call is under
/// way: a script that runs is not run again.
pub(super) struct NestedCaller<'c> {
    pub(super) outer: &'c dyn Caller,
    pub(super) chain: Vec<String>,
}

#[async_trait]
impl Caller for NestedCaller<'_> {
    fn is_patient(&self) -> bool {
        self.outer.is_patient()
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.outer.log_level()
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &Value) {
        self.outer.log(level, logger, data);
    }

    fn capabilities(&self) -> &Value {
        self.outer.capabilities()
    }

    fn client_info(&self) -> Option<&Value> {
        self.outer.client_info()
    }

    fn meta(&self) -> Option<&RawValue> {
        self.outer.meta()
    }

    async fn ask(&self, questions: &Questions) -> Result<Map<String, Value>, Unanswered> {
        if self.outer.resumed().is_some() {
            let message = "a tool that a script calls cannot ask this client anything; call it directly";
            return Err(Unanswered::Never(CallError::new(ErrorCode::ToolFailed, message)));
        }
        self.outer.ask(questions).await
    }

    fn chain(&self) -> &[String] {
        &self.chain
    }

    fn conversation(&self) -> Option<&str> {
        self.outer.conversation()
    }

    fn keep(&self, name: &str, make: &mut dyn FnMut() -> Kept) -> bool {
        self.outer.keep(name, make)
    }

    fn group(&self) -> Option<&str> {
        self.outer.group()
    }

    fn may_change(&self) -> bool {
        self.outer.may_change()
    }

    fn address(&self) -> Option<IpAddr> {
        self.outer.address()
    }

    fn token(&self) -> Option<&CallerToken> {
        self.outer.token()
    }
}
