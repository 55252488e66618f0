//! `toolrail tools show NAME`: one definition, its state and its problems.

use std::process::ExitCode;

use serde_json::Value;

use super::{OutputForm, upstream};
use crate::cli::definition_files::place_of;
use crate::cli::target::{RestRequest, Target, path_step};
use crate::print;

pub(super) async fn run(target: &Target, name: &str, form: OutputForm) -> anyhow::Result<ExitCode> {
    let path = format!("/admin/tools/{}", path_step(name));
    let shown = target.expect(&RestRequest::get(&path, "configJson")).await?;
    match form {
        OutputForm::Json => print::json(&shown),
        OutputForm::People => for_people(&shown),
    }
    Ok(ExitCode::SUCCESS)
}

fn for_people(shown: &Value) {
    let text = |field: &str| shown[field].as_str().unwrap_or("-");
    print::line(format!("{} ({}, {})", text("name"), text("type"), upstream::state(shown)));
    print::line(format!("  from {}: {}", text("source"), text("origin")));
    if let Some(at) = shown["updatedAt"].as_str() {
        let by = shown["updatedBy"].as_str().map(|by| format!(" by {by}")).unwrap_or_default();
        print::line(format!("  changed {at}{by}, revision {}", shown["version"]));
    }
    if let Some(at) = shown["lastUsed"].as_str() {
        match shown["useFrequency"].as_i64() {
            Some(1) => print::line(format!("  used once, at {at}")),
            _ => print::line(format!("  used {} times, last at {at}", shown["useFrequency"])),
        }
    }
    // A failure is among the problems.
    if let Some(offer) =
        upstream::offer(&shown["upstream"]).filter(|_| shown["upstream"]["state"] != "failing")
    {
        print::line(format!("  {offer}"));
    }
    for problem in shown["problems"].as_array().into_iter().flatten() {
        let text = |field: &str| problem[field].as_str().unwrap_or_default();
        let place = match (problem["line"].is_number(), text("pointer")) {
            (true, _) => format!(" at {}", place_of(problem)),
            (false, "") => String::new(),
            (false, pointer) => format!(" at {pointer}"),
        };
        print::line(format!("  {}{place}: {}", text("severity"), text("message")));
    }
    let definition = &shown["configJson"];
    let text = match definition {
        Value::String(text) => text.clone(),
        other => serde_saphyr::to_string(other).unwrap_or_else(|_| other.to_string()),
    };
    print::line(format!("\n{}", text.trim_end()));
}
