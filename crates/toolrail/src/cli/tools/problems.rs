//! `toolrail tools problems`: everything that is wrong with definitions and their files. Fails if anything is broken, so that
//! scripts can tell.

use std::process::ExitCode;

use serde_json::Value;

use super::OutputForm;
use crate::cli::definition_files::place_of;
use crate::cli::target::{RestRequest, Target};
use crate::print::{self, Overlong};

pub(super) async fn run(target: &Target, form: OutputForm) -> anyhow::Result<ExitCode> {
    let body = target.expect(&RestRequest::get("/admin/problems", "problems")).await?;
    let problems = body["problems"].as_array().map(Vec::as_slice).unwrap_or_default();
    match form {
        OutputForm::Json => print::json(&body),
        OutputForm::People if problems.is_empty() => print::note("no problems"),
        OutputForm::People => {
            let rows = problems.iter().map(row).collect();
            print::table(["SEVERITY", "NAME", "PLACE", "PROBLEM"], rows, Overlong::Wrap);
        }
    }
    let broken = problems.iter().any(|problem| problem["severity"] == "error");
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn row(problem: &Value) -> [String; 4] {
    let text = |field: &str| problem[field].as_str().unwrap_or_default();
    let tool = problem["tool"].as_str().unwrap_or("-");
    [text("severity").to_owned(), tool.to_owned(), place_of(problem), text("message").to_owned()]
}
