//! The rules that say who sees and calls what. Their tests are run whenever they are read: rules that do not do what they were
//! written for are not put to work.

use anyhow::bail;
use serde_json::Value;
use toolrail_access::Rulebook;
use toolrail_core::Severity;

use super::wording::fault;

/// What is wrong with a document of rules, the tests that fail included.
pub(super) fn faults(document: &Value) -> Vec<String> {
    let reading = Rulebook::read(document);
    let errors = reading.problems.iter().filter(|problem| problem.severity == Severity::Error);
    let mut faults: Vec<String> =
        errors.map(|problem| fault(&format!("/permissions{}", problem.pointer), &problem.message)).collect();
    for failure in reading.rulebook.iter().flat_map(Rulebook::run_tests) {
        faults.push(fault(&format!("/permissions{}", failure.pointer), &failure.to_string()));
    }
    faults
}

/// The rules; a file with faults was refused before.
pub(super) fn settle(document: &Value) -> anyhow::Result<Rulebook> {
    let reading = Rulebook::read(document);
    for problem in reading.problems.iter().filter(|problem| problem.severity != Severity::Error) {
        tracing::warn!(pointer = %format!("/permissions{}", problem.pointer), problem = %problem.message, "a permission rule is poor");
    }
    match reading.rulebook {
        Some(rulebook) => Ok(rulebook),
        None => bail!("the permissions have problems:\n  {}", faults(document).join("\n  ")),
    }
}
