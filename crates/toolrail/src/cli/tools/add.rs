//! `toolrail tools add FILE…`: registers everything in one transaction, or each on its own.

use std::process::ExitCode;

use anyhow::bail;
use http::Method;
use serde_json::{Value, json};

use super::{AddArgs, Form};
use crate::cli::definition_files::{self, Found, ReadFile, place};
use crate::cli::target::{Reply, Target};
use crate::print;

pub(super) async fn run(target: &Target, args: &AddArgs, form: Form) -> anyhow::Result<ExitCode> {
    let mut found = Vec::new();
    let mut unreadable = Vec::new();
    for ReadFile { file, found: read } in definition_files::read(&args.files)? {
        match read {
            Ok(definitions) => found.extend(definitions),
            Err(fault) => unreadable.push(format!("{file} {fault}")),
        }
    }
    if !unreadable.is_empty() {
        bail!("nothing was registered: {}", unreadable.join("; "));
    }
    let documents: Vec<&Value> = found.iter().map(|found| &found.document).collect();
    let mode = if args.each { "each" } else { "all" };
    let body = json!({"tools": documents, "mode": mode});
    let reply = target.request(Method::POST, "/admin/tools/batch", Some(&body)).await?;
    if !reply.body["results"].is_array() {
        return reply.accepted().map(|_| ExitCode::SUCCESS);
    }
    let Reply { status, body } = reply;
    let refused = body["refused"].as_u64().unwrap_or_default();
    match form {
        Form::Json => print::json(&body),
        Form::People => for_people(&body, &found),
    }
    Ok(if status.is_success() && refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn for_people(body: &Value, found: &[Found]) {
    for (result, found) in body["results"].as_array().into_iter().flatten().zip(found) {
        let text = |field: &str| result[field].as_str().unwrap_or("-");
        match text("status") {
            "heldBack" => {}
            status => print::line(format!("{status} {}", text("name"))),
        }
        for problem in result["problems"].as_array().into_iter().flatten() {
            let text = |field: &str| problem[field].as_str().unwrap_or_default();
            let place = place(&found.file, &pointer_in_file(text("pointer"), &found.pointer));
            print::note(format!("  {}: {place}: {}", text("severity"), text("message")));
        }
    }
    if let Some(message) = body["error"]["message"].as_str() {
        print::note(format!("error: {}", message.replace("send \"mode\": \"each\"", "pass --each")));
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
