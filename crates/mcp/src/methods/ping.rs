//! `ping`: an empty answer.

use serde_json::json;

use super::Context;
use crate::reply::Reply;

pub(super) fn handle(context: Context<'_>) -> Reply {
    Ok(context.object(&json!({})))
}
