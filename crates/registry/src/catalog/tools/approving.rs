//! A call that a person must approve of: checked first, so that nobody is asked about what cannot be carried out, and shown as
//! the request that it would send.

use std::time::Instant;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use toolrail_core::{Call, CallError, Caller, Mute, Preview, Principal, repeated_key};

use super::checking::{CallEnd, aside};
use super::tool::{Arguments, Tool, invalid, object_of, parsed};
use crate::approvals::{Go, NeededApproval, is_exact, masked, shown};

impl Tool {
    /// Has a person approve of a call that could be carried out. Whatever time that takes counts in no limit of the call.
    pub(super) async fn approve<'c>(
        &self,
        needed: &NeededApproval,
        raw: Option<&RawValue>,
        (principal, caller): (&Principal, &'c dyn Caller),
    ) -> Result<Go<'c>, CallError> {
        self.ready().await?;
        let end = CallEnd(self.limit.and_then(|limit| Instant::now().checked_add(limit)));
        let (arguments, _room) = self.arguments(raw, end).await?;
        self.check_rights(principal, raw, &arguments).await?;
        let arguments = match (&self.arguments, raw) {
            (Arguments::PassedOn, Some(raw)) => {
                // Whoever carries the call out may take the other one of two.
                if let Some(repeated) = repeated_key(raw.get().as_bytes()) {
                    return Err(invalid(format!("{} {}", repeated.pointer, repeated.message)));
                }
                // People see, and digests are made of, what numbers are read as.
                if !is_exact(raw.get()) {
                    return Err(invalid(
                        "a number has more digits than can be shown to whoever approves; send it as a text, or with at most 15"
                            .to_owned(),
                    ));
                }
                parsed(raw).await?
            }
            _ => arguments,
        };
        let arguments = object_of(&arguments);
        let salt = needed.salt().await?;
        let prepare = || -> Result<_, CallError> {
            let shown = self.shown(arguments, raw, principal)?;
            Ok(needed.describe((self.name.as_str(), principal), (arguments, &salt), shown))
        };
        let described = aside(raw.map_or(0, |raw| raw.get().len()), prepare).await??;
        needed.pass(described, (principal, caller)).await
    }

    /// What people see of a call: the request that it would send, without arguments that look secret.
    fn shown(
        &self,
        arguments: &Map<String, Value>,
        raw: Option<&RawValue>,
        principal: &Principal,
    ) -> Result<Value, CallError> {
        let executor = self.executor.get()?;
        let tool = self.name.as_str();
        let preview = |arguments: &Map<String, Value>, raw: Option<&RawValue>| {
            executor.preview(&Call { tool, arguments, raw, principal, caller: &Mute })
        };
        let whole = preview(arguments, raw).map_err(|error| self.naming(error))?;
        let entry: Value = serde_json::from_slice(&self.entry).unwrap_or_default();
        let Some(masked) = masked(arguments, &entry["inputSchema"]) else {
            return Ok(shown(&whole, arguments));
        };
        let raw = to_raw_value(&masked).ok();
        // What takes only the secret itself cannot be shown without it.
        let without = preview(&masked, raw.as_deref()).unwrap_or_else(|_| Preview {
            request: Value::Null,
            values: Vec::new(),
            notes: vec!["the request cannot be shown without arguments that look secret".to_owned()],
        });
        Ok(shown(&without, &masked))
    }
}
