//! Tools that change what is offered, for those who follow the lists and the resources.

use std::sync::atomic::{AtomicU64, Ordering};

use toolrail_tool::{Context, Offering, Prompt, Refused, Tool, tool};

use crate::resources::WATCHED;

/// How often something has changed.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Changes the list of tools.
#[tool]
fn test_trigger_tool_change(ctx: &Context) -> Result<&'static str, Refused> {
    ctx.offering().set(changing_tool())?;
    Ok("Tool list changed")
}

/// Changes the list of prompts.
#[tool]
fn test_trigger_prompt_change(ctx: &Context) -> Result<&'static str, Refused> {
    ctx.offering().set(changing_prompt())?;
    Ok("Prompt list changed")
}

/// Changes the watched resource.
#[tool]
fn test_trigger_resource_change(ctx: &Context) -> &'static str {
    CHANGES.fetch_add(1, Ordering::Relaxed);
    ctx.offering().resource_changed(WATCHED);
    "Resource changed"
}

pub(crate) fn add(offering: &Offering) -> Result<(), Refused> {
    offering.add(changing_tool())?;
    offering.add(changing_prompt())
}

/// How often something has changed up to now.
pub(crate) fn changes() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}

fn described() -> String {
    format!("Change number {}.", CHANGES.fetch_add(1, Ordering::Relaxed))
}

fn changing_tool() -> Tool {
    Tool::new("test_changing_tool", |_| Box::pin(async { "The tool that changes" })).description(described())
}

fn changing_prompt() -> Prompt {
    Prompt::new("test_changing_prompt", |_| Box::pin(async { "The prompt that changes" }))
        .description(described())
}
