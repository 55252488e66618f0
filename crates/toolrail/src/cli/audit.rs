//! `toolrail audit`: who changed what, and whether that record was tampered with.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::Value;
use toolrail_admin::MOST_AUDIT_ENTRIES;

use super::target::{Missing, RestRequest, Target, TargetArgs};
use super::tools::OutputForm;
use crate::print::{self, Overlong};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  toolrail audit                          # the newest entries\n  toolrail audit verify\n  toolrail audit verify --expect HASH     # the record still has what you noted"
)]
pub(super) struct AuditArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<AuditCommand>,
}

#[derive(Subcommand)]
enum AuditCommand {
    /// List entries of the record, oldest first; the newest ones unless --after says otherwise
    List(AuditListArgs),
    /// Follow the record from its first entry and say whether it is whole; exit code 1 if not
    Verify(VerifyArgs),
}

#[derive(Args)]
struct AuditListArgs {
    /// The most entries to show
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_AUDIT_ENTRIES)))]
    limit: u32,
    /// Only entries after this one
    #[arg(long, value_name = "NUMBER")]
    after: Option<i64>,
}

#[derive(Args)]
struct VerifyArgs {
    /// Hash that was printed by an earlier run and noted elsewhere; it must still be in the record
    #[arg(long, value_name = "HASH")]
    expect: Option<String>,
}

pub(super) async fn run(args: AuditArgs) -> anyhow::Result<ExitCode> {
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let form = OutputForm::of(args.json);
    let ended = match &args.command {
        None => list(&target, &AuditListArgs { limit: 20, after: None }, form).await,
        Some(AuditCommand::List(args)) => list(&target, args, form).await,
        Some(AuditCommand::Verify(args)) => verify(&target, args, form).await,
    };
    target.close().await;
    ended
}

async fn list(target: &Target, args: &AuditListArgs, form: OutputForm) -> anyhow::Result<ExitCode> {
    let path = match args.after {
        Some(after) => format!("/admin/audit?after={after}&limit={}", args.limit),
        None => format!("/admin/audit?newest=true&limit={}", args.limit),
    };
    let body = target.expect(&RestRequest::get(&path, "entries")).await?;
    let entries = body["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    match form {
        OutputForm::Json => print::json(&body),
        OutputForm::People if entries.is_empty() => print::note("no entries"),
        OutputForm::People => {
            let rows = entries.iter().map(row).collect();
            print::table(["NUMBER", "WHEN", "WHO", "VIA", "REVISION", "WHAT"], rows, Overlong::Wrap);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(entry: &Value) -> [String; 6] {
    let text = |field: &str| entry[field].as_str();
    let whole = |field: &str| text(field).unwrap_or("-").to_owned();
    let via = match text("address") {
        Some(address) => format!("{} from {address}", whole("via")),
        None => whole("via"),
    };
    let tenant = text("tenant").map(|tenant| format!(" (of {tenant})")).unwrap_or_default();
    let what = format!("{} {}{tenant}{}", whole("action"), whole("name"), places(&entry["changes"]));
    [entry["number"].to_string(), whole("at"), whole("who"), via, entry["revision"].to_string(), what]
}

/// Where a definition was changed, if it was there before and after.
fn places(changes: &Value) -> String {
    let places: Vec<&str> = changes
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|change| change["pointer"].as_str())
        .filter(|pointer| !pointer.is_empty())
        .collect();
    match places.as_slice() {
        [] => String::new(),
        [one] => format!(": {one}"),
        [one, rest @ ..] => format!(": {one} and {} more", rest.len()),
    }
}

async fn verify(target: &Target, args: &VerifyArgs, form: OutputForm) -> anyhow::Result<ExitCode> {
    let path = match &args.expect {
        Some(hash) => format!("/admin/audit/verify?expect={}", super::target::path_step(hash)),
        None => "/admin/audit/verify".to_owned(),
    };
    let body = target.expect(&RestRequest::get(&path, "good")).await?;
    match form {
        OutputForm::Json => print::json(&body),
        OutputForm::People => report(&body),
    }
    Ok(if body["good"] == true { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(body: &Value) {
    let entries = body["entries"].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
    let entries = if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") };
    let faults = faults(body);
    let good = body["good"] == true;
    for fault in &faults {
        print::line(fault);
    }
    if !body["broken"].is_object() {
        let hash = body["head"]["hash"].as_str().unwrap_or_default();
        let whole = if good { "the record is whole" } else { "the record itself is whole" };
        print::line(format!("{whole}: {entries}\nhead: {hash}"));
    }
    if body["expected"]["found"] == true {
        print::line(format!("the expected hash is that of entry {}", body["expected"]["entry"]));
    }
    if !good {
        print::note(
            "hint: copy the database as it is before anything else is changed; docs/history.md says how to go on, under \"When something is wrong\"",
        );
    }
}

/// What is wrong, one line each.
fn faults(body: &Value) -> Vec<String> {
    let list = |field: &str| body[field].as_array().map(Vec::as_slice).unwrap_or_default();
    let broken = body["broken"]["fault"].as_str();
    let mut faults: Vec<String> = broken
        .map(|fault| format!("the record is broken: entry {} {fault}", body["broken"]["entry"]))
        .into_iter()
        .collect();
    if body["expected"]["found"] == false {
        faults.push("the expected hash is not in the record: it was made anew, or cut".to_owned());
    }
    let contradictions = list("contradictions").iter().filter_map(|found| found["fault"].as_str());
    faults.extend(contradictions.map(str::to_owned));
    faults.extend(list("strays").iter().map(|stray| {
        let text = |field: &str| stray[field].as_str();
        let tenant = text("tenant").map(|tenant| format!(" (of {tenant})")).unwrap_or_default();
        format!("{}{tenant} {}", text("name").unwrap_or("-"), text("fault").unwrap_or("-"))
    }));
    faults
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_says_who_did_what_where() {
        let entry = json!({"number": 3, "at": "t", "who": "anna", "address": "::1", "via": "admin-api", "action": "update",
            "tenant": "acme", "name": "x", "revision": 9, "changes": [{"pointer": "/a"}, {"pointer": "/b"}]});
        assert_eq!(
            row(&entry),
            ["3", "t", "anna", "admin-api from ::1", "9", "update x (of acme): /a and 1 more"]
        );
        assert_eq!(places(&json!([{"pointer": "", "after": {}}])), "");
    }
}
