//! The REST face advises requests; on the command line the same advice is a command or a flag.

use serde_json::Value;
use toolrail_admin::{Advice, NextStep};

use super::shell_word;
use super::target::Target;

/// The advice that an error has beside its message, if any.
pub(super) fn advice_of(error: &Value) -> Option<Advice> {
    error.get("advice").and_then(|advice| serde_json::from_value(advice.clone()).ok())
}

/// What to type next.
pub(super) fn hint(advice: &Advice, target: &Target) -> Option<String> {
    let mut header = String::new();
    let command = match &advice.step {
        NextStep::ListTools | NextStep::ListDefinitions => "tools list".to_owned(),
        NextStep::ShowDefinition { name } => format!("tools show {}", shell_word(name)),
        NextStep::EnableTool { name, tenant } => {
            // The command has a flag for the tenant on whose behalf it works.
            if let Some(tenant) = tenant.as_deref().filter(|tenant| target.tenant() != Some(tenant)) {
                header = format!("with Toolrail-Tenant: {tenant} ");
            }
            format!("tools enable {}", shell_word(name))
        }
        NextStep::ListVersions { name } => format!("history {}", shell_word(name)),
        NextStep::ListChanges => "history".to_owned(),
        NextStep::SendEach => return None,
    };
    Some(format!("{} {header}{}", target.command(&command), advice.effect))
}

/// What is said about a batch, which `--each` sends in another mode.
pub(super) fn of_batch(error: &Value) -> Option<String> {
    match advice_of(error) {
        Some(Advice { fault, step: NextStep::SendEach, effect }) => {
            Some(format!("{fault}, or pass --each {effect}"))
        }
        Some(_) | None => error["message"].as_str().map(str::to_owned),
    }
}
