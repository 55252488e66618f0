//! `toolrail doctor oauth URL`: plays how clients find out where to sign in, and names the first step that fails.

mod clients;
mod probe;
mod walk;

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolrail_executors::outbound::Trust;

use self::clients::CLIENTS;
use self::probe::{Probe, server_url};
use self::walk::{Step, StepOutcome, Walk};
use super::super::tools::OutputForm;
use super::told;
use crate::print::{self, Tint};

#[derive(Args)]
pub(super) struct OauthArgs {
    /// Address of the MCP server, exactly as it is typed into the client
    #[arg(value_name = "URL")]
    server: String,
}

pub(super) async fn run(args: &OauthArgs, trust: Trust, form: OutputForm) -> anyhow::Result<ExitCode> {
    let server = server_url(&args.server)?;
    let mut probe = Probe::new(trust);
    let mut walks = Vec::new();
    for client in CLIENTS {
        walks.push((client.name, Walk::of(client, &server, &mut probe).await));
    }
    match form {
        OutputForm::Json => show_json(&walks),
        OutputForm::People => walks.iter().for_each(|(name, walk)| show(name, walk)),
    }
    let all_good = walks.iter().all(|(_, walk)| walk.succeeded());
    Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(name: &str, walk: &Walk) {
    print::line(name);
    for Step { outcome, message, advice, .. } in &walk.steps {
        let tint = match outcome {
            StepOutcome::Ok => Some(Tint::Added),
            StepOutcome::Note => None,
            StepOutcome::Failed => Some(Tint::Removed),
        };
        told(tint, outcome.word(), message, advice.as_deref());
    }
}

fn show_json(walks: &[(&str, Walk)]) {
    let step = |step: &Step| json!({"step": step.name, "outcome": step.outcome.word(), "message": step.message, "advice": step.advice});
    let client = |(name, walk): &(&str, Walk)| {
        let steps: Vec<_> = walk.steps.iter().map(step).collect();
        json!({"client": name, "ok": walk.succeeded(), "steps": steps})
    };
    let all_good = walks.iter().all(|(_, walk)| walk.succeeded());
    print::json(&json!({"ok": all_good, "clients": walks.iter().map(client).collect::<Vec<_>>()}));
}
