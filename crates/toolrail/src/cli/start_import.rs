//! `serve --import DIR`: the definitions in files go into the store at the start. They are created and replaced,
//! nothing is removed; a bad one is told and does not block the start.

use anyhow::bail;
use toolrail_core::{Author, Way};
use toolrail_registry::{Covers, PlanMode, Registration, Registry, StepKind, WriteError};

use super::incoming::{Arriving, Incoming};
use super::plan_view;
use crate::print;

/// How often a plan is made anew because another replica that starts was quicker.
const ATTEMPTS: usize = 5;

/// Takes them over, and says what came of it in a line for people.
pub(super) async fn run(registry: &Registry, from: &[String]) -> anyhow::Result<String> {
    let incoming = Incoming::read(from).await?;
    for problem in incoming.unreadable.iter().chain(&incoming.doubles) {
        tracing::warn!(at = problem.spot.as_ref().map(tracing::field::display), %problem, "not imported");
    }
    let author = Author { who: "toolrail".into(), address: None, via: Way::Import.word().into() };
    for _ in 0..ATTEMPTS {
        let sent: Vec<_> = incoming.tools.iter().map(registration).collect();
        let planned = registry.changes().plan_sync(sent, Covers::one(None), PlanMode::AddAndChange).await?;
        let applied = registry.changes().apply(&planned.plan, &author, &|_| {}).await?;
        match applied.failure {
            None => {}
            Some(failure @ WriteError::Conflict(_)) => {
                tracing::info!(%failure, "import is planned anew");
                continue;
            }
            Some(failure) => return Err(failure.into()),
        }
        for refusal in &planned.refused {
            for problem in &refusal.problems {
                let Some(tool) = incoming.tools.get(refusal.index) else { continue };
                let problem = tool.placed(problem.clone(), "");
                let at = problem.spot.as_ref().map(tracing::field::display);
                tracing::warn!(name = refusal.name, at, %problem, "definition is not imported");
            }
        }
        let refused = match planned.refused.len() + incoming.doubles.len() {
            0 => String::new(),
            count => format!(", {count} refused (see the log)"),
        };
        let unreadable = plan_view::unreadable(incoming.unreadable.len());
        let unreadable = unreadable.map(|files| format!(", {files} (see the log)")).unwrap_or_default();
        let created = planned.plan.count(StepKind::Create);
        let unchanged = planned.plan.unchanged;
        return Ok(format!(
            "{} in {}: {created} new, {} changed, {unchanged} as they were{refused}{unreadable}",
            print::counted(incoming.tools.len() + incoming.doubles.len(), "definition"),
            from.join(", "),
            applied.written.saturating_sub(created),
        ));
    }
    bail!("the definitions in {} cannot be imported: others keep changing them; start again", from.join(", "))
}

fn registration(tool: &Arriving) -> Result<Registration, Vec<toolrail_core::Problem>> {
    Registration::from_request(tool.body.clone(), "")
}
