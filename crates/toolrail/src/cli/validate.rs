//! `toolrail validate FILE…`: every problem of every file, without a server and without storing anything.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use toolrail_core::{Problem, Severity, ToolName};
use toolrail_registry::{Compiler, Registration, SourceId};

use super::definition_files::{self, Found, ReadFile, place, unreadable};
use crate::{assemble, print};

#[derive(clap::Args)]
pub(super) struct ValidateArgs {
    /// Definition files (YAML or JSON), folders of them, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Fail on warnings too
    #[arg(long)]
    strict: bool,
    /// Print the problems as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ValidateArgs) -> anyhow::Result<ExitCode> {
    let compiler = Arc::new(assemble::compiler(&[], Vec::new()));
    let files = definition_files::read(&args.files)?;
    let mut definitions = 0;
    let mut problems = Vec::new();
    let mut names = HashMap::new();
    for ReadFile { file, found } in files {
        match found {
            Err(fault) => problems.push(unreadable(&file, fault)),
            Ok(found) => {
                definitions += found.len();
                problems.extend(found.iter().flat_map(|found| check(&compiler, found, &mut names)));
            }
        }
    }
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    let warnings = problems.len() - errors;
    let good = errors == 0 && (warnings == 0 || !args.strict);
    if args.json {
        print::json(&json!({"valid": good, "definitions": definitions, "problems": problems}));
    } else {
        report(&problems);
        let counts = [(definitions, "definition"), (errors, "error"), (warnings, "warning")];
        print::line(counts.map(|(count, thing)| print::counted(count, thing)).join(", "));
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

/// The names that were met, and where.
type Names = HashMap<String, String>;

/// What is wrong with one definition, with pointers from the root of its file.
pub(super) fn check(compiler: &Arc<Compiler>, found: &Found, names: &mut Names) -> Vec<Problem> {
    let Found { file, pointer, document } = found;
    let registration = match Registration::from_request(document.clone(), pointer) {
        Ok(registration) => registration,
        Err(problems) => return problems.into_iter().map(|problem| placed(problem, found)).collect(),
    };
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
    if let Some(name) = name
        && let Some(first) = names.insert(ToolName::fold(name), file.spot(pointer).to_string())
    {
        let message = format!("the name {name:?} is used in {first} too; rename one of them");
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
