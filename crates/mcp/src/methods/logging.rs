//! `logging/setLevel`: the least grave log messages a legacy session wants.

use serde_json::json;
use toolrail_core::LogLevel;

use super::Context;
use crate::envelope::Params;
use crate::reply::{Code, Fault, Reply};

pub(super) fn handle(context: Context<'_>) -> Reply {
    let level = Params::text("level", context.params.level)?;
    let Some(level) = level.as_deref().and_then(LogLevel::parse) else {
        let words: Vec<&str> = LogLevel::ALL.iter().map(|level| level.word()).collect();
        let message = format!("\"level\" must be one of {}", words.join(", "));
        return Err(Fault::new(Code::InvalidParams, message));
    };
    if let Some(live) = &context.peer.session.live {
        live.set_log_level(level);
    }
    Ok(context.object(&json!({})))
}
