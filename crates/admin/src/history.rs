//! `/admin/history` and `/admin/tools/{name}/history`: what definitions were before, and how versions differ.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolrail_core::{HistoryQuery, Revision, ToolKey, ToolName, Version, VersionKind, differences};
use toolrail_registry::{Comparison, WriteError, document_of, stored_form};

use crate::Admin;
use crate::failure::{Failure, json as json_answer};
use crate::path::Path;
use crate::requester::Requester;

/// How many versions are listed unless the request says so.
const USUAL: u32 = 50;
/// The most versions that are listed at once.
pub const MOST_VERSIONS: u32 = 500;
/// The most places that are named of what a version changed.
const MOST_PLACES: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageQuery {
    before: Option<Revision>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiffQuery {
    from: Option<Revision>,
    to: Option<Revision>,
}

/// A version as the administrator sees it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownVersion {
    version: Revision,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    what: &'static str,
    enabled: bool,
    at: String,
    who: Option<String>,
    address: Option<String>,
    via: Option<String>,
    /// The places at which it differs from the version before; absent where nobody compared them.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_json: Option<Value>,
}

impl From<Version> for ShownVersion {
    fn from(version: Version) -> Self {
        Self {
            version: version.revision,
            name: version.name,
            tenant: version.tenant,
            what: version.kind.word(),
            enabled: version.enabled,
            at: version.at,
            who: version.who,
            address: version.address,
            via: version.via,
            changed: None,
            config_json: None,
        }
    }
}

impl ShownVersion {
    fn in_full(version: Version) -> Self {
        let document = document_of(&version.config_json);
        Self { config_json: Some(document), ..version.into() }
    }
}

fn limit(query: &PageQuery) -> Result<u32, Failure> {
    let limit = query.limit.unwrap_or(USUAL);
    if (1..=MOST_VERSIONS).contains(&limit) {
        return Ok(limit);
    }
    Err(Failure::bad_request(format!("limit={limit} is not between 1 and {MOST_VERSIONS}")))
}

pub(crate) fn key(principal: &toolrail_core::Principal, name: &str) -> ToolKey {
    ToolKey { tenant: principal.tenant().map(str::to_owned), name: ToolName::fold(name) }
}

pub(crate) async fn all(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(query) = query.map_err(|error| Failure::bad_query(&error, "before, limit"))?;
    let limit = limit(&query)?;
    let asked = HistoryQuery { of: None, before: query.before, most: limit };
    let (versions, next) = match principal.tenant() {
        None => {
            let versions = admin.registry.changes().history(&asked).await?;
            let next = next_page(&versions, limit);
            (versions, next)
        }
        Some(tenant) => admin.registry.changes().tenant_history(tenant, &asked).await?,
    };
    let versions: Vec<ShownVersion> = versions.into_iter().map(ShownVersion::from).collect();
    let revision = admin.registry.snapshot().revision;
    Ok(json_answer(StatusCode::OK, &json!({"revision": revision, "versions": versions, "next": next})))
}

/// What to ask before for the next page; none if this is the last.
fn next_page(versions: &[Version], limit: u32) -> Option<Revision> {
    let full = u32::try_from(versions.len()).is_ok_and(|length| length >= limit);
    versions.last().filter(|_| full).map(|version| version.revision)
}

pub(crate) async fn of_tool(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    Path(name): Path<String>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(query) = query.map_err(|error| Failure::bad_query(&error, "before, limit"))?;
    let limit = limit(&query)?;
    // One more, for what the last one shown changed.
    let of = Some(key(&principal, &name));
    let mut versions =
        admin.registry.changes().history(&HistoryQuery { of, before: query.before, most: limit + 1 }).await?;
    if versions.is_empty() && query.before.is_none() {
        return Err(WriteError::NoHistory(name).into());
    }
    let changed = tokio::task::block_in_place(|| places(&versions));
    let more = u32::try_from(versions.len()).is_ok_and(|length| length > limit);
    versions.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let next = versions.last().filter(|_| more).map(|version| version.revision);
    let shown: Vec<ShownVersion> = versions
        .into_iter()
        .zip(changed)
        .map(|(version, changed)| ShownVersion { changed: Some(changed), ..version.into() })
        .collect();
    Ok(json_answer(StatusCode::OK, &json!({"name": name, "versions": shown, "next": next})))
}

/// Where each version differs from the one before; nowhere in particular where it came or went.
fn places(versions: &[Version]) -> Vec<Vec<String>> {
    let form = |version: &Version| {
        (version.kind != VersionKind::Removed).then(|| stored_form(version.enabled, &version.config_json))
    };
    let forms: Vec<Option<Value>> = versions.iter().map(form).collect();
    let changed = |(index, after): (usize, &Option<Value>)| {
        let (Some(Some(before)), Some(after)) = (forms.get(index + 1), after) else {
            return Vec::new();
        };
        let found = differences(Some(before), Some(after));
        found.into_iter().take(MOST_PLACES).map(|difference| difference.pointer).collect()
    };
    forms.iter().enumerate().map(changed).collect()
}

pub(crate) async fn one(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    Path((name, version)): Path<(String, String)>,
) -> Result<Response, Failure> {
    let number = version.parse().map_err(|_| {
        Failure::bad_request(format!("{version:?} is not the number of a version, such as 7"))
    })?;
    let version = admin.registry.changes().version(&key(&principal, &name), number).await?;
    Ok(json_answer(StatusCode::OK, &ShownVersion::in_full(version)))
}

pub(crate) async fn diff(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    Path(name): Path<String>,
    query: Result<Query<DiffQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(query) = query.map_err(|error| Failure::bad_query(&error, "from, to"))?;
    let compared = admin.registry.changes().compare(&key(&principal, &name), query.from, query.to).await;
    let Comparison { from, to, differences } = compared.map_err(|error| match error {
        // As it was asked for, not as it is kept.
        WriteError::NoHistory(_) => WriteError::NoHistory(name.clone()).into(),
        error => Failure::from(error),
    })?;
    let body = json!({
        "name": to.name, "from": from.map(ShownVersion::from), "to": ShownVersion::from(to),
        "differences": differences,
    });
    Ok(json_answer(StatusCode::OK, &body))
}
