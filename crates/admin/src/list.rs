//! `GET /mcp/tools`: the tools that may be called, optionally narrowed by plain filters.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use toolrail_registry::{Era, List, Snapshot, Tool};

use crate::Admin;
use crate::failure::{Failure, json_bytes};
use crate::requester::Requester;
use crate::seen::seen;

/// What to narrow the list by; everything given must hold.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    /// Words that must all occur in the name, the description or the tags.
    q: Option<String>,
    category: Option<String>,
    tag: Option<String>,
    /// The tools of one group only, as its endpoint has them.
    group: Option<String>,
}

pub(crate) async fn list(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    filter: Result<Query<Filter>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(filter) = filter.map_err(|error| Failure::bad_query(&error, "q, category, tag, group"))?;
    let snapshot = seen(&admin, &principal, filter.group.as_deref())?;
    let body = if filter.is_empty() { everything(&snapshot) } else { filter.apply(snapshot.tools()) };
    Ok(json_bytes(StatusCode::OK, body))
}

/// The bytes made once per snapshot; REST clients do not page, so pages are joined.
fn everything(snapshot: &Snapshot) -> Vec<u8> {
    let mut page = snapshot.page(List::Tools, Era::Modern, None);
    let mut body = Vec::with_capacity(page.entries.len() + 16);
    body.extend_from_slice(b"{\"tools\":");
    body.extend_from_slice(&page.entries);
    while let Some(after) = page.next_after.take() {
        page = snapshot.page(List::Tools, Era::Modern, Some(&after));
        body.pop();
        body.push(b',');
        body.extend_from_slice(&page.entries[1..]);
    }
    body.push(b'}');
    body
}

impl Filter {
    fn is_empty(&self) -> bool {
        self.q.is_none() && self.category.is_none() && self.tag.is_none() && self.group.is_none()
    }

    fn apply(&self, tools: &[Arc<Tool>]) -> Vec<u8> {
        let words: Vec<String> =
            self.q.iter().flat_map(|text| text.split_whitespace()).map(str::to_lowercase).collect();
        let mut body = b"{\"tools\":[".to_vec();
        let start = body.len();
        for tool in tools.iter().filter(|tool| self.matches(tool, &words)) {
            if body.len() > start {
                body.push(b',');
            }
            body.extend_from_slice(tool.list_entry());
        }
        body.extend_from_slice(b"]}");
        body
    }

    fn matches(&self, tool: &Tool, words: &[String]) -> bool {
        let same = |wanted: &str, found: &str| wanted.to_lowercase() == found.to_lowercase();
        if let Some(wanted) = &self.category
            && !tool.category.as_deref().is_some_and(|category| same(wanted, category))
        {
            return false;
        }
        if let Some(wanted) = &self.tag
            && !tool.tags.iter().any(|tag| same(wanted, tag))
        {
            return false;
        }
        if words.is_empty() {
            return true;
        }
        let text = format!(
            "{}\n{}\n{}",
            tool.name,
            tool.description.as_deref().unwrap_or_default(),
            tool.tags.join("\n")
        )
        .to_lowercase();
        words.iter().all(|word| text.contains(word))
    }
}
