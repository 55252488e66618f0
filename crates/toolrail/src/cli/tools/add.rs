//! `toolrail tools add FILE…`: registers everything in one transaction, or each on its own.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::{Value, json};

use super::{AddArgs, OutputForm};
use crate::cli::definition_files::{self, Found, ReadFile, place, place_of};
use crate::cli::target::{Reply, RestRequest, Target};
use crate::cli::wording;
use crate::print::{self, Tone};

pub(super) async fn run(target: &Target, args: &AddArgs, form: OutputForm) -> anyhow::Result<ExitCode> {
    let mut found = Vec::new();
    let mut unreadable = Vec::new();
    for ReadFile { file, found: read } in definition_files::read(&args.files)? {
        match read {
            Ok(definitions) => found.extend(definitions),
            Err(fault) => {
                let problem = definition_files::unreadable(&file, fault);
                unreadable.push(match &problem.spot {
                    Some(spot) => format!("{spot}: {}", problem.message),
                    None => format!("{file} {}", problem.message),
                });
            }
        }
    }
    if !unreadable.is_empty() {
        bail!("nothing was registered: {}", unreadable.join("; "));
    }
    let documents: Vec<&Value> = found.iter().map(|found| &found.document).collect();
    let mode = if args.each { "each" } else { "all" };
    let body = json!({"tools": documents, "mode": mode});
    let reply = target.ask(&RestRequest::post("/admin/tools/batch", &body, "results")).await?;
    if !reply.body["results"].is_array() {
        return target.accepted(reply).map(|_| ExitCode::SUCCESS);
    }
    let Reply { status, mut body } = reply;
    let refused = body["refused"].as_u64().unwrap_or_default();
    place_in_files(&mut body, &found);
    match form {
        OutputForm::Json => print::json(&body),
        OutputForm::People => for_people(&body),
    }
    Ok(if status.is_success() && refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// From a batch to the files it was made of: every result and problem with its file, and advice as a flag.
fn place_in_files(body: &mut Value, found: &[Found]) {
    for (result, found) in body["results"].as_array_mut().into_iter().flatten().zip(found) {
        result["origin"] = place(&found.file.name, None, &found.pointer).into();
        for problem in result["problems"].as_array_mut().into_iter().flatten() {
            let pointer = pointer_in_file(problem["pointer"].as_str().unwrap_or_default(), &found.pointer);
            let spot = found.file.spot(&pointer);
            problem["pointer"] = pointer.into();
            problem["origin"] = found.file.name.as_str().into();
            (problem["file"], problem["line"]) = (spot.file.into(), spot.line.into());
            problem["column"] = spot.column.into();
        }
    }
    if let Some(message) = wording::of_batch(&body["error"]) {
        body["error"]["message"] = message.into();
    }
    // The message says it already, in words of the command line.
    if let Some(Value::Object(error)) = body.get_mut("error") {
        error.shift_remove("advice");
    }
}

fn for_people(body: &Value) {
    for result in body["results"].as_array().into_iter().flatten() {
        let text = |field: &str| result[field].as_str().unwrap_or("-");
        let name = text("name");
        match (text("status"), &result["note"]) {
            ("heldBack", _) => {}
            (status, Value::Null) => print::line(format!("{status} {}", text("name"))),
            // The one thing a gateway has to note about a registration.
            (status, _) => print::line(format!("{status} {} (switched on again)", text("name"))),
        }
        for problem in result["problems"].as_array().into_iter().flatten() {
            let text = |field: &str| problem[field].as_str().unwrap_or_default();
            let place = place_of(problem);
            print::note(format!("  {}: {place} ({name}): {}", text("severity"), text("message")));
        }
    }
    if let Some(message) = body["error"]["message"].as_str() {
        print::told(Tone::Error, message);
    }
}

/// From `/tools/INDEX/…`, a place in the request, to the place in the file that the definition came from.
fn pointer_in_file(pointer: &str, base: &str) -> String {
    let rest = pointer
        .strip_prefix("/tools/")
        .map_or(pointer, |rest| rest.find('/').map_or("", |start| &rest[start..]));
    format!("{base}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_told_with_its_place_in_the_file() {
        assert_eq!(pointer_in_file("/tools/3/http/url", "/tools/0"), "/tools/0/http/url");
        assert_eq!(pointer_in_file("/tools/3", ""), "");
    }
}
