//! The chain of tools that call one another: bounded, and never a circle.

use crate::{Caller, ToolName};

/// The most tools that may call one another.
const DEEPEST: usize = 16;

/// The chain of a call that the tool `by`, called by `caller`, makes of `tool`; or why it may not be made.
pub fn chain_to(caller: &dyn Caller, by: &str, tool: &str) -> Result<Vec<String>, String> {
    let mut chain = caller.chain().to_vec();
    chain.push(by.to_owned());
    let told = || format!("{} → {tool}", chain.join(" → "));
    if chain.iter().any(|name| ToolName::fold(name) == ToolName::fold(tool)) {
        return Err(format!("tools call one another in a circle: {}", told()));
    }
    if chain.len() >= DEEPEST {
        return Err(format!("more than {DEEPEST} tools call one another: {}", told()));
    }
    Ok(chain)
}
