//! `toolrail sync DIR`: makes the store what a folder of files says, such as a git checkout; the plan is shown first, and
//! `--dry-run` stops there.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolrail_core::Way;

use super::Hinted;
use super::incoming::Incoming;
use super::plan_view::{self, Tense};
use super::target::{Missing, Target, TargetArgs};
use super::transfer::{self, Existing, Extent, Transferred, UnsentDefinitions, Wishes};
use crate::print;

#[derive(Args)]
#[command(after_help = "Examples:
  toolrail sync tools/ --dry-run --exit-code
  toolrail sync tools/ --prune")]
#[expect(clippy::struct_excessive_bools, reason = "these are flags of the command line")]
pub(super) struct SyncArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Folders or files of definitions (*.yaml, *.yml, *.json)
    #[arg(required = true, value_name = "DIR")]
    from: Vec<String>,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run: end with 2 if there is something to do
    #[arg(long, requires = "dry_run")]
    exit_code: bool,
    /// Remove definitions of the store that no file has
    #[arg(long)]
    prune: bool,
    /// Do what the good files say even if others have errors; nothing is removed then
    #[arg(long)]
    skip_broken: bool,
    /// Remove even more than half of the definitions
    #[arg(long)]
    yes: bool,
    /// Print the plan, or what was done, as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: SyncArgs) -> anyhow::Result<ExitCode> {
    let incoming = Incoming::read(&args.from).await?;
    let target = Target::find(&args.target, Missing::Create).await?;
    let ended = carry_out(&args, &target, &incoming).await;
    target.close().await;
    let done = ended?;
    let extent = if args.dry_run { Tense::Future } else { Tense::Past };
    if args.json {
        print::json(&json!({
            "dryRun": args.dry_run, "written": done.written, "unchanged": done.unchanged, "plan": done.steps,
            "refused": done.refusals, "unreadable": done.unreadable, "problems": done.refused,
            "error": done.failure,
        }));
    } else {
        plan_view::steps(&done);
        plan_view::refusals(&done.refused);
        print::line(plan_view::counts(&done, extent));
        if let Some(failure) = &done.failure {
            print::told(print::Tone::Error, failure);
        }
    }
    let failed = done.failure.is_some() || done.has_refusals();
    Ok(match (failed, args.exit_code && !done.steps.is_empty()) {
        (true, _) => ExitCode::FAILURE,
        (false, true) => ExitCode::from(2),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// Plans, looks at the plan, and does it. With problems nothing is removed: what is missing may be what is broken.
async fn carry_out(args: &SyncArgs, target: &Target, incoming: &Incoming) -> anyhow::Result<Transferred> {
    refuse_nothing(incoming)?;
    let unsent = incoming.unreadable.len() + incoming.doubles.len();
    let others = if args.prune && unsent == 0 { UnsentDefinitions::Remove } else { UnsentDefinitions::Keep };
    let wishes = Wishes { existing: Existing::Replace, others, extent: Extent::Plan, via: Way::Sync };
    let mut plan = transfer::send(target, &incoming.tools, wishes).await?;
    plan.add_unsent(incoming);
    if plan.has_refusals() && !args.skip_broken && !args.dry_run {
        plan_view::refusals(&plan.refused);
        return Err(Hinted::error(
            format!("{}, so nothing was done", plan_view::refused_things(&plan)),
            "correct them, or pass --skip-broken to do what the others say",
        ));
    }
    if args.dry_run || plan.steps.is_empty() {
        return Ok(plan);
    }
    refuse_clearing(args, &plan)?;
    let wishes = Wishes { extent: Extent::Apply, ..wishes };
    let mut done = transfer::send(target, &incoming.tools, wishes).await?;
    done.add_unsent(incoming);
    Ok(done)
}

/// A folder that is empty, missing or cannot be read at all says nothing about the store.
fn refuse_nothing(incoming: &Incoming) -> anyhow::Result<()> {
    if !incoming.tools.is_empty() || !incoming.doubles.is_empty() {
        return Ok(());
    }
    plan_view::refusals(&incoming.unreadable);
    Err(Hinted::error(
        "there is no definition to sync, so nothing was done",
        "name a folder or file that has definitions",
    ))
}

/// A wrong folder, or an empty checkout, must not clear the store.
fn refuse_clearing(args: &SyncArgs, plan: &Transferred) -> anyhow::Result<()> {
    let removed = plan.with("remove").count();
    let there = removed
        + ["update", "enable", "disable"].iter().map(|action| plan.with(action).count()).sum::<usize>()
        + usize::try_from(plan.unchanged).unwrap_or(usize::MAX);
    if removed * 2 <= there || args.yes {
        return Ok(());
    }
    plan_view::steps(plan);
    Err(Hinted::error(
        format!("this would remove {removed} of the {there} definitions in the store, so nothing was done"),
        "look at the plan above and pass --yes if that is meant",
    ))
}
