//! `GET /mcp/search?q=…` and `POST /mcp/search`: finds tools, and says of each hit where and why.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolrail_core::{ErrorCode, METADATA, USUAL_HITS};
use toolrail_registry::{
    Among, Highlights, Hit, MOST_HITS, Matched, Only, SearchError, SearchMethod, SearchRequest, Tool,
};

use crate::Admin;
use crate::body;
use crate::failure::{Failure, json};
use crate::requester::Requester;
use crate::seen::seen;

/// What may stand in the query string.
const KNOWN: &str = "q (or query), method, limit, category, tag, group";

/// What to look for.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchQuery {
    /// What the tool should do, in words; with the method `regex` a pattern.
    #[serde(alias = "q")]
    query: Option<String>,
    #[serde(alias = "search_method")]
    method: Option<String>,
    /// Any number can be read, so that a wrong one is told like every other.
    limit: Option<i64>,
    /// Only tools of that category, in any case.
    category: Option<String>,
    /// Only tools with that tag, in any case.
    tag: Option<String>,
    /// Only tools of that group.
    group: Option<String>,
}

#[derive(Serialize)]
struct SearchResponse<'a> {
    query: &'a str,
    method: &'static str,
    /// How many results there are; how many would fit without a limit is not known.
    count: usize,
    results: Vec<Found<'a>>,
    notes: Vec<String>,
    took_us: u64,
}

/// One hit.
#[derive(Serialize)]
struct Found<'a> {
    tool_name: &'a str,
    description: Cow<'a, str>,
    score: f64,
    match_reason: &'static str,
    callable: bool,
    highlights: Marked,
    explanation: Vec<Reason<'a>>,
}

/// Where in its texts a hit has what was looked for: from one character up to another.
#[derive(Serialize)]
struct Marked {
    name: Vec<[usize; 2]>,
    description: Vec<[usize; 2]>,
}

/// Something that speaks for a hit.
#[derive(Serialize)]
struct Reason<'a> {
    word: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    field: &'static str,
    weight: f64,
}

/// `GET /mcp/search`.
pub(crate) async fn by_query(
    State(admin): State<Admin>,
    requester: Requester,
    asked: Result<Query<SearchQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(asked) = asked.map_err(|error| Failure::bad_query(&error, KNOWN))?;
    search(&admin, requester, &asked).await
}

/// `POST /mcp/search`.
pub(crate) async fn by_body(
    State(admin): State<Admin>,
    requester: Requester,
    body: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(body, body::ORDINARY).await?;
    let asked: SearchQuery = body::parse_object(&bytes)?;
    search(&admin, requester, &asked).await
}

async fn search(
    admin: &Admin,
    Requester(principal): Requester,
    asked: &SearchQuery,
) -> Result<Response, Failure> {
    let started = Instant::now();
    let query = asked.query.as_deref().unwrap_or_default();
    let method = asked.method()?.unwrap_or(admin.registry.finder().default_method());
    let limit = asked.limit()?;
    let snapshot = seen(admin, &principal, asked.group.as_deref())?;
    let request = SearchRequest {
        query,
        method,
        limit,
        among: Among::All,
        only: Only { category: asked.category.as_deref(), tag: asked.tag.as_deref() },
        tenant: principal.tenant(),
        conversation: None,
    };
    let answer = admin.registry.finder().search(&snapshot, &request).await?;
    let took_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    let highlights = Highlights::new(method, query);
    let results: Vec<Found<'_>> = answer.hits.iter().map(|hit| Found::of(hit, method, &highlights)).collect();
    let count = results.len();
    let body = SearchResponse { query, method: method.word(), count, results, notes: answer.notes, took_us };
    Ok(json(StatusCode::OK, &body))
}

impl SearchQuery {
    fn method(&self) -> Result<Option<SearchMethod>, Failure> {
        let Some(word) = &self.method else { return Ok(None) };
        word.parse()
            .map(Some)
            .map_err(|unknown: toolrail_registry::UnknownMethod| Failure::bad_request(unknown.to_string()))
    }

    fn limit(&self) -> Result<usize, Failure> {
        let Some(limit) = self.limit else { return Ok(USUAL_HITS.into()) };
        usize::try_from(limit).map_err(|_| {
            Failure::bad_request(format!("the limit is {limit}; ask for 1 to {MOST_HITS} tools"))
        })
    }
}

impl<'a> Found<'a> {
    fn of(hit: &'a Hit<Arc<Tool>>, method: SearchMethod, highlights: &Highlights) -> Self {
        let (name, description) = (hit.value.name.as_str(), hit.value.short_description());
        let marked = Marked { name: highlights.of(name), description: highlights.of(&description) };
        Self {
            tool_name: name,
            description,
            score: short(hit.score).clamp(1e-4, 1.0),
            match_reason: method.reason(),
            callable: &*hit.value.kind != METADATA,
            highlights: marked,
            explanation: hit.matched.iter().map(Reason::of).collect(),
        }
    }
}

impl<'a> Reason<'a> {
    fn of(matched: &'a Matched) -> Self {
        let Matched { word, by, field, weight } = matched;
        Self { word, by: by.as_deref(), field, weight: short(*weight) }
    }
}

/// Four places are enough to tell hits apart.
fn short(number: f32) -> f64 {
    (f64::from(number) * 1e4).round() / 1e4
}

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Self {
        let code = match error {
            SearchError::Query(_) | SearchError::Limit(_) => ErrorCode::InvalidRequest,
            SearchError::Busy => ErrorCode::Timeout,
        };
        Self::new(code, error.to_string())
    }
}
