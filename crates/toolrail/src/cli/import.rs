//! `toolrail import PATH|URL…`: takes definitions over into the store, from files, from catalogues of RegistryTools and
//! from the databases of other systems, and says what became of each. Nothing is changed where they come from.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use toolrail_core::Way;

use super::incoming::{Incoming, Origin};
use super::plan_view::{self, Tense};
use super::target::{Missing, Target, TargetArgs};
use super::transfer::{self, Existing, Extent, Transferred, UnsentDefinitions, Wishes};
use crate::print;

#[derive(Args)]
#[command(after_help = "Examples:
  toolrail import tools/ --dry-run
  toolrail import ~/.RegistryTools/tools.json
  toolrail import mysql://user:password@127.0.0.1:3306/mcp --overwrite")]
pub(super) struct ImportArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Folder or file of definitions, a tools.json or tools.db of RegistryTools, or a database with a table mcp_tool:
    /// mysql://…, postgres://…, sqlite:FILE
    #[arg(required = true, value_name = "PATH|URL")]
    from: Vec<String>,
    /// Replace definitions that are there and differ; otherwise they are told and stay as they are
    #[arg(long)]
    overwrite: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: ImportArgs) -> anyhow::Result<ExitCode> {
    let incoming = Incoming::read(&args.from).await?;
    let target = Target::find(&args.target, Missing::Create).await?;
    let wishes = Wishes {
        existing: if args.overwrite { Existing::Replace } else { Existing::Keep },
        others: UnsentDefinitions::Keep,
        extent: if args.dry_run { Extent::Plan } else { Extent::Apply },
        via: Way::Import,
    };
    let sent = transfer::send(&target, &incoming.tools, wishes).await;
    target.close().await;
    let mut done = sent?;
    done.add_unsent(&incoming);
    if args.json {
        print::json(&as_json(&args, &incoming.sources, &done));
    } else {
        for_people(&args, &incoming.sources, &done);
    }
    let good = !done.has_refusals() && done.failure.is_none();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn for_people(args: &ImportArgs, sources: &[Origin], done: &Transferred) {
    plan_view::steps(done);
    plan_view::refusals(&done.refused);
    for source in sources {
        let found = print::counted(source.found, "definition");
        print::line(format!("{found} in {} ({})", source.place, source.what));
        for left in &source.left_alone {
            print::note(format!("{}: left alone {left}", source.place));
        }
    }
    if args.dry_run {
        print::line(format!("{}; nothing was written", plan_view::counts(done, Tense::Future)));
    } else {
        print::line(plan_view::counts(done, Tense::Past));
    }
    if let Some(failure) = &done.failure {
        print::told(print::Tone::Error, failure);
    }
}

fn as_json(args: &ImportArgs, sources: &[Origin], done: &Transferred) -> Value {
    let source = |source: &Origin| {
        json!({
            "from": source.place, "what": source.what, "definitions": source.found, "leftAlone": source.left_alone,
        })
    };
    json!({
        "dryRun": args.dry_run, "sources": sources.iter().map(source).collect::<Vec<_>>(), "written": done.written,
        "unchanged": done.unchanged, "plan": done.steps, "refused": done.refusals, "unreadable": done.unreadable,
        "problems": done.refused, "error": done.failure,
    })
}
