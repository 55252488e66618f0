//! Permission rules as whoever uses them sees them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may fail it")]

mod against_cel;
mod conditions;
mod deciding;
mod documented;
mod hostile;
mod reading;

use serde_json::{Map, Value, json};
use toolrail_access::{Explanation, Rulebook, Subject};
use toolrail_core::ToolTraits;

/// The rules of a document that is fine.
fn rulebook(document: &Value) -> Rulebook {
    let reading = Rulebook::read(document);
    reading.rulebook.unwrap_or_else(|| panic!("{:#?}", reading.problems))
}

/// What is wrong or poor in a document, as a user reads it.
fn problems(document: &Value) -> Vec<String> {
    Rulebook::read(document).problems.iter().map(ToString::to_string).collect()
}

fn args(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn somebody(name: &str, groups: &[&str]) -> Subject {
    let groups = groups.iter().map(|group| (*group).to_owned()).collect();
    Subject { name: Some(name.to_owned()), groups, ..Subject::default() }
}

/// What becomes of one condition: whether it holds, or why it fails.
fn condition(when: &str, given: Value) -> Result<bool, String> {
    let explained = explained(when, given);
    let finding = &explained.rules[0];
    match &finding.fault {
        Some(fault) => Err(fault.clone()),
        None => Ok(finding.matched == toolrail_access::Match::Yes),
    }
}

fn explained(when: &str, given: Value) -> Explanation {
    let book = rulebook(&json!({"rules": [{"name": "r", "effect": "deny", "when": when}]}));
    let who = Subject { tenant: Some("acme".into()), ..somebody("ann", &["support", "eu"]) };
    book.explain(&who, &ToolTraits::named("orders.refund"), Some(&args(given)))
}
