//! `toolrail validate FILE…`: every problem of every file, without a server and without storing anything.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use toolrail_core::{Problem, Severity, ToolName};
use toolrail_registry::{Compiler, Registration, SourceId};

use super::definition_files::{self, Found, ReadFile, place, unreadable};
use super::plan_view;
use crate::config::{ConfigFile, Layer, assignment};
use crate::{assemble, print};

#[derive(clap::Args)]
pub(super) struct ValidateArgs {
    /// Definition files (YAML or JSON), folders of them, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Fail on warnings too
    #[arg(long)]
    strict: bool,
    /// Say nothing of secrets that are not set up here: they seldom are where definitions are checked
    #[arg(long)]
    no_secrets: bool,
    /// Print the problems as JSON
    #[arg(long)]
    json: bool,
    /// Value that definitions may use as {{vars.NAME}}, over TOOLRAIL_VAR_NAME; may be repeated
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = assignment)]
    vars: Vec<(String, String)>,
    /// Configuration file that has the secrets, variables and services of the definitions
    #[arg(long, env = "TOOLRAIL_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) fn run(args: &ValidateArgs) -> anyhow::Result<ExitCode> {
    let file = args.config.as_deref().map(ConfigFile::read).transpose()?.unwrap_or_default();
    let config = ConfigFile { given_vars: Some(args.vars.clone()), ..ConfigFile::default() }.over(file);
    let files = definition_files::read(&args.files)?;
    let compiler = Arc::new(assemble::compiler(&config.settle()?)?);
    let names = names_in(&files);
    let (mut definitions, mut broken, mut unread) = (0, 0, 0);
    let mut problems = Vec::new();
    for ReadFile { file, found } in files {
        match found {
            Err(fault) => {
                unread += 1;
                problems.push(unreadable(&file, fault));
            }
            Ok(found) => {
                definitions += found.len();
                for found in found {
                    let told = check(&compiler, &found, &names);
                    broken += usize::from(told.iter().any(is_error));
                    problems.extend(told);
                }
            }
        }
    }
    problems.retain(|problem| !args.no_secrets || !is_about_secrets(problem));
    let errors = problems.iter().filter(|problem| is_error(problem)).count();
    let warnings = problems.len() - errors;
    let good = errors == 0 && (warnings == 0 || !args.strict);
    if args.json {
        print::json(&json!({
            "valid": good, "definitions": definitions, "refused": broken, "unreadable": unread, "problems": problems,
        }));
    } else {
        report(&problems);
        let counts = [(definitions, "definition"), (errors, "error"), (warnings, "warning")];
        let counts = counts.map(|(count, thing)| print::counted(count, thing)).join(", ");
        let refused = (broken > 0).then(|| format!("{broken} refused"));
        let refused: Vec<_> = refused.into_iter().chain(plan_view::unreadable(unread)).collect();
        let refused = if refused.is_empty() { String::new() } else { format!(" ({})", refused.join(", ")) };
        print::line(format!("{counts}{refused}"));
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(super) fn report(problems: &[Problem]) {
    for problem in problems {
        let severity = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let origin = problem.origin.as_deref().unwrap_or_default();
        let tool = problem.tool.as_deref().map(|tool| format!(" ({tool})")).unwrap_or_default();
        let place = place(origin, problem.spot.as_ref(), &problem.pointer);
        print::line(format!("{place}{tool}: {severity}: {}", problem.message));
    }
}

fn is_error(problem: &Problem) -> bool {
    problem.severity == Severity::Error
}

/// Whether it only tells that a secret is not set up here: one of the definition, or of a service of the configuration, whose
/// place then goes before.
fn is_about_secrets(problem: &Problem) -> bool {
    let of_service = problem.message.strip_prefix("/services/").and_then(|rest| rest.split_once(": "));
    let words = of_service.map_or(problem.message.as_str(), |(_, words)| words);
    problem.severity == Severity::Warning && words.starts_with("the secret ")
}

/// The names that there are, each of every tenant, and where.
type Names = HashMap<(Option<String>, String), Vec<String>>;

fn names_in(files: &[ReadFile]) -> Names {
    let mut names = Names::new();
    for found in files.iter().filter_map(|file| file.found.as_ref().ok()).flatten() {
        let read = Registration::from_request(found.document.clone(), "").ok();
        if let Some(key) = read.as_ref().and_then(key_of) {
            names.entry(key).or_default().push(found.file.spot(&found.pointer).to_string());
        }
    }
    names.retain(|_, places| places.len() > 1);
    names
}

fn key_of(registration: &Registration) -> Option<(Option<String>, String)> {
    let inside = registration.document.get("name").and_then(Value::as_str);
    let name = inside.or(registration.name.as_deref())?;
    Some((registration.tenant.clone(), ToolName::fold(name)))
}

/// What is wrong with one definition, with pointers from the root of its file.
fn check(compiler: &Arc<Compiler>, found: &Found, names: &Names) -> Vec<Problem> {
    let Found { file, pointer, document } = found;
    let registration = match Registration::from_request(document.clone(), pointer) {
        Ok(registration) => registration,
        Err(problems) => return problems.into_iter().map(|problem| placed(problem, found)).collect(),
    };
    let here = file.spot(pointer).to_string();
    let places = key_of(&registration).and_then(|key| names.get(&key));
    let other = places.and_then(|places| places.iter().find(|place| **place != here));
    let Registration { mut document, base, name, .. } = registration;
    if let (Some(name), Some(members)) = (name, document.as_object_mut()) {
        members.entry("name").or_insert(Value::String(name));
    }
    let name = document.get("name").and_then(Value::as_str);
    let mut problems = compiler.check(&document, SourceId::Files);
    for problem in &mut problems {
        problem.tool = problem.tool.take().or_else(|| name.map(str::to_owned));
        problem.pointer = format!("{base}{}", problem.pointer);
    }
    if let (Some(name), Some(other)) = (name, other) {
        let message = format!("the name {name:?} is used in {other} too; rename one of them");
        problems.push(Problem {
            severity: Severity::Error,
            tool: Some(name.to_owned()),
            origin: None,
            pointer: format!("{base}/name"),
            message,
            spot: None,
        });
    }
    problems.into_iter().map(|problem| placed(problem, found)).collect()
}

fn placed(problem: Problem, found: &Found) -> Problem {
    let spot = Some(found.file.spot(&problem.pointer));
    Problem { origin: Some(found.file.name.clone()), spot, ..problem }
}
