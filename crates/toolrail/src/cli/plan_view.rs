//! A plan for people: what is created, changed and removed, the way tools for desired states show it.

use serde_json::Value;

use super::definition_files::place;
use super::transfer::Transferred;
use crate::print;

/// The most characters of a value in a difference.
const LONGEST_VALUE: usize = 100;
/// The most differences of one definition.
const MOST_DIFFERENCES: usize = 20;

/// Writes each step on a line, with what it changes below.
pub(super) fn steps(done: &Transferred) {
    let several = concerns_tenants(&done.steps);
    for step in &done.steps {
        let text = |field: &str| step[field].as_str().unwrap_or_default();
        let tenant = match step["tenant"].as_str() {
            Some(tenant) => format!(" (tenant {tenant})"),
            None if several => " (shared)".to_owned(),
            None => String::new(),
        };
        let (sign, more) = match text("action") {
            "create" => ("+", ""),
            "update" => ("~", ""),
            "enable" => ("~", ", switched on"),
            "disable" => ("~", ", switched off"),
            "remove" => ("-", ""),
            _ => ("!", ", differs and stays as it is; --overwrite replaces it"),
        };
        let from = step["origin"].as_str().map(|origin| format!("  {origin}")).unwrap_or_default();
        print::line(format!("{sign} {}{tenant}{more}{from}", text("name")));
        if matches!(text("action"), "update" | "keep") {
            differences(&step["differences"]);
        }
    }
}

/// Whether any of the steps is about a definition of a tenant, so that the shared ones must be told from them.
pub(super) fn concerns_tenants(steps: &[Value]) -> bool {
    steps.iter().any(|step| step["tenant"].is_string())
}

fn differences(list: &Value) {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    for difference in list.iter().take(MOST_DIFFERENCES) {
        let pointer = difference["pointer"].as_str().unwrap_or_default();
        let value = |field: &str| difference.get(field).map(shown);
        print::line(match (value("before"), value("after")) {
            (None, Some(after)) => format!("    + {pointer}: {after}"),
            (Some(before), None) => format!("    - {pointer}: {before}"),
            (before, after) => {
                format!("    ~ {pointer}: {} → {}", before.unwrap_or_default(), after.unwrap_or_default())
            }
        });
    }
    if list.len() > MOST_DIFFERENCES {
        print::line(format!("    … and {} more", list.len() - MOST_DIFFERENCES));
    }
}

fn shown(value: &Value) -> String {
    print::one_line(&value.to_string(), LONGEST_VALUE)
}

/// Writes what was refused to standard error.
pub(super) fn refusals(problems: &[toolrail_core::Problem]) {
    for problem in problems {
        let origin = problem.origin.as_deref().unwrap_or_default();
        let tool = problem.tool.as_deref().map(|tool| format!(" ({tool})")).unwrap_or_default();
        let place = place(origin, problem.spot.as_ref(), &problem.pointer);
        print::note(format!("{place}{tool}: {}", problem.message));
    }
}

/// `2 created, 1 updated`; in a plan, `2 to create, 1 to update`.
pub(super) fn counts(done: &Transferred, tense: Tense) -> String {
    let words: [(&str, &str, &str); 6] = [
        ("create", "created", "to create"),
        ("update", "updated", "to update"),
        ("enable", "switched on", "to switch on"),
        ("disable", "switched off", "to switch off"),
        ("remove", "removed", "to remove"),
        ("keep", "left alone", "left alone"),
    ];
    let counted = words.iter().filter_map(|(action, past, future)| {
        let count = done.with(action).count();
        let word = if tense == Tense::Past { past } else { future };
        (count > 0).then(|| format!("{count} {word}"))
    });
    let unchanged = format!("{} unchanged", done.unchanged);
    counted.chain([unchanged]).chain(refused_counts(done)).collect::<Vec<_>>().join(", ")
}

/// `3 refused`, and `1 file unreadable`.
fn refused_counts(done: &Transferred) -> impl Iterator<Item = String> {
    let refused = (done.refusals > 0).then(|| format!("{} refused", done.refusals));
    refused.into_iter().chain(unreadable(done.unreadable))
}

/// `1 file unreadable`, if there is one.
pub(super) fn unreadable(files: usize) -> Option<String> {
    (files > 0).then(|| format!("{} unreadable", print::counted(files, "file")))
}

/// `3 definitions refused, 1 file unreadable`.
pub(super) fn refused_things(done: &Transferred) -> String {
    let refused =
        (done.refusals > 0).then(|| format!("{} refused", print::counted(done.refusals, "definition")));
    refused.into_iter().chain(unreadable(done.unreadable)).collect::<Vec<_>>().join(", ")
}

/// Whether it was done or would be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tense {
    Past,
    Future,
}
