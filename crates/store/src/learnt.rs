//! What the databases share of what is learnt from use: the queries of a batch by tool, and the clock.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use toolrail_core::{Forget, LearntQuery, PastQuery, ToolKey};

/// The queries of a batch by their tools, in one order, so that two who write at once do not wait for each other.
pub(crate) fn by_tool(learnt: &[LearntQuery]) -> BTreeMap<&ToolKey, Vec<(&str, u32)>> {
    let mut by_tool: BTreeMap<&ToolKey, Vec<(&str, u32)>> = BTreeMap::new();
    for LearntQuery { tool, query, times } in learnt {
        by_tool.entry(tool).or_default().push((query, *times));
    }
    by_tool
}

/// The text to keep, made of that which is kept and what is added.
pub(crate) fn merged(kept: Option<&str>, added: &[(&str, u32)], now: i64) -> String {
    let mut queries = kept.map(PastQuery::read).unwrap_or_default();
    PastQuery::add(&mut queries, added, now);
    PastQuery::write(&queries)
}

/// In seconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Which rows are deleted when more than single tools are forgotten.
pub(crate) enum Deleted<'f> {
    OfTenant(&'f str),
    UpTo(i64),
}

/// The tools to forget, or the rows to delete.
pub(crate) fn deleted(what: &Forget) -> Result<Deleted<'_>, &[ToolKey]> {
    match what {
        Forget::Tools(tools) => Err(tools),
        Forget::Tenant(tenant) => Ok(Deleted::OfTenant(tenant.as_deref().unwrap_or_default())),
        Forget::Everything => Ok(Deleted::UpTo(i64::MAX)),
        Forget::Unused { days } => Ok(Deleted::UpTo(now().saturating_sub(i64::from(*days) * 86_400))),
    }
}
