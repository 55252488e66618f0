//! `tools/list`, `prompts/list`, `resources/list` and `resources/templates/list`: a page of the snapshot, served from
//! bytes that were made once.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use toolrail_core::write_json_string;
use toolrail_registry::{List, Snapshot};

use super::Context;
use crate::dialect::Dialect;
use crate::envelope::Params;
use crate::reply::{Code, Fault, Outcome, Reply};

pub(super) fn handle(context: &Context<'_>, list: List) -> Reply {
    let after = match Params::text("cursor", context.params.cursor)? {
        Some(cursor) => Some(decode(&cursor).ok_or_else(unknown_cursor)?),
        None => None,
    };
    let snapshot = context.snapshot();
    let page = snapshot.page(list, context.dialect.era(), after.as_deref());
    let mut outcome = Outcome::whole(opening(list));
    outcome.share_common(&page.entries);
    if let Some(next) = &page.next_after {
        outcome.out.extend_from_slice(b",\"nextCursor\":");
        write_json_string(&mut outcome.out, &URL_SAFE_NO_PAD.encode(next));
    }
    let meta = (list == List::Tools).then(|| counts(context, &snapshot)).flatten();
    Ok(context.finish().close_with_meta(outcome, context.brief_cache(), meta.as_deref()))
}

/// How many tools there are, and how many of them are listed, for `_meta`.
fn counts(context: &Context<'_>, snapshot: &Arc<Snapshot>) -> Option<String> {
    context.server.long_lists.look(snapshot);
    if context.peer.session.plain_shapes && context.dialect == Dialect::Plain {
        return None;
    }
    let listing = snapshot.listing();
    let mut counts = json!({
        "total": listing.total,
        "listed": listing.listed,
        "hidden": listing.hidden(),
        "mode": listing.mode.word(),
        "listing": listing.effective.word(),
    });
    if listing.described > 0 {
        counts["described"] = listing.described.into();
    }
    Some(format!("\"toolrail/tools\":{counts}"))
}

const fn opening(list: List) -> &'static [u8] {
    match list {
        List::Tools => b"{\"tools\":",
        List::Prompts => b"{\"prompts\":",
        List::Resources => b"{\"resources\":",
        List::Templates => b"{\"resourceTemplates\":",
    }
}

/// A cursor is the key of the last entry of the page before, so it stays good when the snapshot changes.
fn decode(cursor: &str) -> Option<String> {
    URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

pub(super) fn unknown_cursor() -> Fault {
    Fault::new(Code::InvalidParams, "unknown cursor; begin again without one")
}
