//! What to try next after a refusal. The message of an error says it as a request; who has other words for that request, as
//! the command line has, finds it here in parts.

use std::fmt;

use serde::{Deserialize, Serialize};
use toolrail_registry::WriteError;

/// What to try next, and the fault without it: the message of the error is both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What went wrong.
    pub fault: String,
    /// What to do about it.
    pub step: NextStep,
    /// What that does, such as `lists them`.
    pub effect: String,
}

/// A request that helps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum NextStep {
    /// List the tools that can be called.
    ListTools,
    /// List all definitions.
    ListDefinitions,
    /// Look at one definition.
    ShowDefinition {
        /// Its name.
        name: String,
    },
    /// Switch a tool on.
    EnableTool {
        /// Its name.
        name: String,
        /// Whose it is; nobody's if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tenant: Option<String>,
    },
    /// List the versions of one definition.
    ListVersions {
        /// Its name.
        name: String,
    },
    /// List what was changed, whatever it was.
    ListChanges,
    /// Send a batch again in which each definition counts on its own.
    SendEach,
}

impl Advice {
    pub(crate) fn new(fault: impl Into<String>, step: NextStep, effect: &str) -> Self {
        Self { fault: fault.into(), step, effect: effect.to_owned() }
    }

    /// What the words of that error advise at their end.
    pub(crate) fn of(error: &WriteError) -> Option<Self> {
        let (step, effect) = match error {
            WriteError::NotFound(_) => (NextStep::ListDefinitions, "lists them"),
            WriteError::NoHistory(_) => (NextStep::ListChanges, "shows what changed"),
            WriteError::NoVersion { name, .. } => {
                (NextStep::ListVersions { name: name.clone() }, "lists them")
            }
            WriteError::NoRevision { .. } => (NextStep::ListChanges, "shows how it came there"),
            _ => return None,
        };
        let advice = Self::new("", step, effect);
        let (words, ending) = (error.to_string(), advice.to_string());
        Some(Self { fault: words.strip_suffix(&ending)?.to_owned(), ..advice })
    }
}

/// The message for people who send requests.
impl fmt::Display for Advice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, step, effect } = self;
        let joint = if *step == NextStep::SendEach { ", or" } else { ";" };
        write!(formatter, "{fault}{joint} {step} {effect}")
    }
}

impl fmt::Display for NextStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ListTools => formatter.write_str("GET /mcp/tools"),
            Self::ListDefinitions => formatter.write_str("GET /admin/tools"),
            Self::ShowDefinition { name } => write!(formatter, "GET /admin/tools/{name}"),
            Self::EnableTool { name, tenant: None } => write!(formatter, "POST /admin/tools/{name}/enable"),
            Self::EnableTool { name, tenant: Some(tenant) } => {
                write!(formatter, "POST /admin/tools/{name}/enable with Toolrail-Tenant: {tenant}")
            }
            Self::ListVersions { name } => write!(formatter, "GET /admin/tools/{name}/history"),
            Self::ListChanges => formatter.write_str("GET /admin/history"),
            Self::SendEach => formatter.write_str("send \"mode\": \"each\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_write_error_advises_is_found_in_its_words() {
        let errors = [
            WriteError::NotFound("a".into()),
            WriteError::NoHistory("a".into()),
            WriteError::NoVersion { name: "a".into(), asked: 7, newest: vec![1, 2] },
            WriteError::NoRevision { asked: 7, now: 2 },
        ];
        for error in errors {
            let advice = Advice::of(&error).unwrap();
            assert!(!advice.fault.is_empty() && !advice.fault.contains("GET"), "{advice:?}");
            assert_eq!(advice.to_string(), error.to_string());
        }
        assert_eq!(Advice::of(&WriteError::Refused(Vec::new())), None);
    }

    #[test]
    fn advice_is_read_as_it_was_written() {
        let step = NextStep::EnableTool { name: "a".into(), tenant: Some("acme".into()) };
        let advice = Advice::new("it is off", step, "switches it on");
        let written = serde_json::to_value(&advice).unwrap();
        assert_eq!(written["step"]["action"], "enableTool");
        assert_eq!(serde_json::from_value::<Advice>(written).unwrap(), advice);
        let said = "it is off; POST /admin/tools/a/enable with Toolrail-Tenant: acme switches it on";
        assert_eq!(advice.to_string(), said);
    }
}
