//! `toolrail tools list`: a table of the definitions.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{OutputForm, upstream};
use crate::cli::definition_files::place_of;
use crate::cli::target::{RestRequest, Target};
use crate::print::{self, Overlong};

/// The most characters of a description where there is no terminal to fit into.
const LONGEST_DESCRIPTION: usize = 80;

#[derive(Args)]
pub(super) struct ToolListArgs {
    /// Words that must all occur in the name or the description
    filter: Vec<String>,
    /// Only those in this state
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Also those of every tenant
    #[arg(long)]
    all_tenants: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum State {
    Live,
    Disabled,
    Broken,
}

pub(super) async fn run(target: &Target, args: &ToolListArgs, form: OutputForm) -> anyhow::Result<ExitCode> {
    let state = match args.state {
        None => "",
        Some(State::Live) => "&state=live",
        Some(State::Disabled) => "&state=disabled",
        Some(State::Broken) => "&state=broken",
    };
    let path = format!("/admin/tools?allTenants={}{state}", args.all_tenants);
    let reply = target.ask(&RestRequest::get(&path, "tools")).await?;
    let mut body = if reply.is_forbidden() && !args.all_tenants && args.state.is_none() {
        seen_by_callers(target).await?
    } else {
        target.accepted(reply)?
    };
    let words: Vec<String> = args.filter.iter().map(|word| word.to_lowercase()).collect();
    let mut tools: Vec<Value> = body["tools"].as_array_mut().map(std::mem::take).unwrap_or_default();
    tools.retain(|tool| matches(tool, &words));
    match form {
        OutputForm::Json => print::json(&json!({"tools": tools})),
        OutputForm::People if tools.is_empty() => print::note(nothing(args, target)),
        OutputForm::People if tools.iter().any(|tool| tool["tenant"].is_string()) => {
            let rows = tools.iter().map(row_with_tenant).collect();
            print::table(["NAME", "TENANT", "TYPE", "STATE", "SOURCE", "DESCRIPTION"], rows, Overlong::Cut);
        }
        OutputForm::People => {
            let rows = tools.iter().map(row).collect();
            print::table(["NAME", "TYPE", "STATE", "SOURCE", "DESCRIPTION"], rows, Overlong::Cut);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What those see who may not see definitions: the tools that they can call.
async fn seen_by_callers(target: &Target) -> anyhow::Result<Value> {
    let mut body = target.expect(&RestRequest::get("/mcp/tools", "tools")).await?;
    for tool in body["tools"].as_array_mut().into_iter().flatten() {
        tool["state"] = "live".into();
    }
    Ok(body)
}

fn nothing(args: &ToolListArgs, target: &Target) -> String {
    if args.filter.is_empty() && args.state.is_none() {
        format!("no tools yet; register one with {}", target.command("tools add FILE"))
    } else {
        format!("no tool matches; {} without a filter shows all", target.command("tools list"))
    }
}

fn matches(tool: &Value, words: &[String]) -> bool {
    let text = |field: &str| tool[field].as_str().unwrap_or_default().to_lowercase();
    let (name, description) = (text("name"), text("description"));
    words.iter().all(|word| name.contains(word) || description.contains(word))
}

fn row(tool: &Value) -> [String; 5] {
    let text = |field: &str| tool[field].as_str().unwrap_or("-").to_owned();
    let first = || {
        let problem = &tool["problems"][0];
        let message = problem["message"].as_str().unwrap_or_default();
        if problem["line"].is_number() {
            format!("{}: {message}", place_of(problem))
        } else {
            message.to_owned()
        }
    };
    let description = match tool["errors"].as_u64() {
        Some(1) => format!("1 error: {}", first()),
        Some(errors) if errors > 0 => format!("{errors} errors: {}", first()),
        _ => described(tool),
    };
    let description = print::one_line(&description, LONGEST_DESCRIPTION);
    [text("name"), text("type"), upstream::state(tool).to_owned(), text("source"), description]
}

fn row_with_tenant(tool: &Value) -> [String; 6] {
    let [name, kind, state, source, description] = row(tool);
    let tenant = tool["tenant"].as_str().unwrap_or("(shared)").to_owned();
    [name, tenant, kind, state, source, description]
}

/// Its description; of a server, also what it offers or why not.
fn described(tool: &Value) -> String {
    let description = tool["description"].as_str().unwrap_or_default();
    let Some(offer) = upstream::offer(&tool["upstream"]) else {
        return description.to_owned();
    };
    if description.is_empty() { offer } else { format!("{offer}: {description}") }
}
