//! `/admin/tools`: all definitions, live or not; switching them on and off; removing them.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolrail_core::{Principal, Problem, Revision, Severity, rfc3339};
use toolrail_registry::{Done, Entry, Item, Registry, Snapshot, SourceId, UpstreamStatus, WriteError};

use crate::Admin;
use crate::change_request::{ChangeRequest, with_version};
use crate::failure::{Failure, json as json_answer};
use crate::path::Path;
use crate::requester::Requester;
use crate::unknown::{Sought, unknown};
use crate::unread;

/// How long use counts are waited for.
const PATIENCE: Duration = Duration::from_millis(300);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct DefinitionsQuery {
    state: Option<String>,
    /// Those of every tenant, too.
    #[serde(default)]
    all_tenants: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoveQuery {
    #[serde(default)]
    purge: bool,
}

#[derive(Serialize)]
struct List<'a> {
    revision: Revision,
    tools: Vec<Shown<'a>>,
}

/// A definition as the administrator sees it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    enabled: bool,
    state: &'static str,
    source: SourceId,
    origin: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Revision>,
    /// The version that is served, where the newest has errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    serving_version: Option<Revision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_by: Option<&'a str>,
    use_frequency: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<String>,
    errors: usize,
    warnings: usize,
    problems: &'a [Problem],
    /// What it offers, if it is a server and may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<&'a UpstreamStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_json: Option<Value>,
}

impl<'a> Shown<'a> {
    fn new(entry: &'a Entry, snapshot: &'a Snapshot, beside: &Beside) -> Self {
        let (use_frequency, last_used) =
            beside.registry.usage().use_of_entry(entry, beside.tenant.as_deref());
        let count = |severity| entry.problems.iter().filter(|problem| problem.severity == severity).count();
        let (kind, description) = if let Some(tool) = entry.tool() {
            (Some(tool.kind.to_string()), tool.description.as_deref().map(str::to_owned))
        } else {
            let document = serde_json::from_str(&entry.document).unwrap_or_default();
            (kind_of(&document, &beside.kinds), text_in(&document, "description"))
        };
        Self {
            name: &entry.name,
            tenant: entry.tenant.as_deref(),
            description,
            kind,
            enabled: entry.enabled,
            state: entry.state(),
            source: entry.source,
            origin: &entry.origin,
            version: entry.version,
            serving_version: entry.serving.as_ref().map(|serving| serving.version),
            updated_at: entry.updated_at.as_deref(),
            updated_by: entry.updated_by.as_deref(),
            use_frequency,
            last_used: last_used.map(rfc3339),
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            problems: &entry.problems,
            upstream: upstream_of(entry, snapshot),
            config_json: None,
        }
    }

    /// With the definition itself: as JSON, or as the text it is where another program wrote something else.
    fn in_full(entry: &'a Entry, snapshot: &'a Snapshot, beside: &Beside) -> Self {
        let document = serde_json::from_str(&entry.document)
            .unwrap_or_else(|_| Value::String(entry.document.to_string()));
        Self { config_json: Some(document), ..Self::new(entry, snapshot, beside) }
    }
}

fn upstream_of<'a>(entry: &Entry, snapshot: &'a Snapshot) -> Option<&'a UpstreamStatus> {
    matches!(entry.live()?, Item::Upstream { .. })
        .then(|| snapshot.upstreams.iter().find(|upstream| upstream.name == entry.name))
        .flatten()
}

/// What a definition that does not compile is meant to be: what it says, or the one block it has.
fn kind_of(document: &Value, kinds: &[String]) -> Option<String> {
    let said = text_in(document, "type").or_else(|| text_in(document, "transport"));
    said.or_else(|| {
        let mut blocks = kinds.iter().filter(|kind| document.get(kind.as_str()).is_some());
        blocks.next().filter(|_| blocks.next().is_none()).cloned()
    })
}

fn text_in(document: &Value, field: &str) -> Option<String> {
    document.get(field)?.as_str().map(str::to_owned)
}

/// What is shown beside what the entries say themselves.
struct Beside {
    registry: Arc<Registry>,
    /// Of which tenant whoever asks is.
    tenant: Option<String>,
    /// The kinds there are.
    kinds: Vec<String>,
}

impl Beside {
    /// What was counted. Definitions are shown without it rather than not at all.
    async fn of(admin: &Admin, principal: &Principal) -> Self {
        let registry = Arc::clone(&admin.registry);
        tokio::time::timeout(PATIENCE, registry.usage().ready_uses()).await.ok();
        let kinds = registry.intake().definition_schema().pointer("/$defs/definition/properties/type/enum");
        let kinds = kinds.and_then(Value::as_array).into_iter().flatten();
        let kinds = kinds.filter_map(Value::as_str).map(str::to_owned).collect();
        Self { registry, tenant: principal.tenant().map(str::to_owned), kinds }
    }
}

pub(crate) async fn list(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    query: Result<Query<DefinitionsQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let known = "state=live|disabled|broken, allTenants=true|false";
    let Query(query) = query.map_err(|error| Failure::bad_query(&error, known))?;
    let state = query.state.as_deref();
    if let Some(unknown) = state.filter(|state| !["live", "disabled", "broken"].contains(state)) {
        return Err(Failure::bad_request(format!("state={unknown:?} is none of live, disabled, broken")));
    }
    if let Some(tenant) = principal.tenant().filter(|_| query.all_tenants) {
        let message = format!("allTenants=true is not for a request of one tenant, {tenant:?}");
        return Err(Failure::bad_request(message));
    }
    let beside = Beside::of(&admin, &principal).await;
    let snapshot = admin.registry.catalogue(&principal);
    let all: Box<dyn Iterator<Item = &Arc<Entry>>> =
        if query.all_tenants { Box::new(snapshot.all_entries()) } else { Box::new(snapshot.entries()) };
    let tools: Vec<Shown<'_>> = all
        .filter(|entry| state.is_none_or(|state| entry.state() == state))
        .map(|entry| Shown::new(entry, &snapshot, &beside))
        .collect();
    Ok(json_answer(StatusCode::OK, &List { revision: snapshot.revision, tools }))
}

pub(crate) async fn show(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    Path(name): Path<String>,
) -> Result<Response, Failure> {
    let snapshot = admin.registry.catalogue(&principal);
    let entry = found(&snapshot, &name)?;
    let shown = Shown::in_full(entry, &snapshot, &Beside::of(&admin, &principal).await);
    Ok(with_version(json_answer(StatusCode::OK, &shown), entry.version))
}

pub(crate) async fn remove(
    State(admin): State<Admin>,
    change: ChangeRequest,
    Path(name): Path<String>,
    query: Result<Query<RemoveQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(query) = query.map_err(|error| Failure::bad_query(&error, "purge=true|false"))?;
    if !query.purge {
        return switch(&admin, &change, &name, false).await;
    }
    let purged = admin.registry.changes().purge(&change.which(&name), &change.author).await;
    let Done { name, revision, .. } = purged.map_err(|error| told(&admin, &change, error))?;
    let mut body = json!({"ok": true, "name": name, "state": "purged", "revision": revision});
    unread::add_note(&mut body, &admin.registry.snapshot(), revision);
    Ok(json_answer(StatusCode::OK, &body))
}

pub(crate) async fn enable(
    State(admin): State<Admin>,
    change: ChangeRequest,
    Path(name): Path<String>,
) -> Result<Response, Failure> {
    switch(&admin, &change, &name, true).await
}

pub(crate) async fn disable(
    State(admin): State<Admin>,
    change: ChangeRequest,
    Path(name): Path<String>,
) -> Result<Response, Failure> {
    switch(&admin, &change, &name, false).await
}

async fn switch(
    admin: &Admin,
    change: &ChangeRequest,
    name: &str,
    enabled: bool,
) -> Result<Response, Failure> {
    let switched = admin.registry.changes().set_enabled(&change.which(name), enabled, &change.author).await;
    let Done { name, revision, version } = switched.map_err(|error| told(admin, change, error))?;
    let snapshot = admin.registry.catalogue(change.tenant.as_deref());
    let state = match unread::state_after(&snapshot, snapshot.entry(&name), revision) {
        // That much is so here, read or not.
        unread::WRITTEN if !enabled => "disabled",
        state => state,
    };
    let mut body =
        json!({"ok": true, "name": name, "state": state, "revision": revision, "version": version});
    unread::add_note(&mut body, &snapshot, revision);
    Ok(with_version(json_answer(StatusCode::OK, &body), version))
}

/// Why a change was not made; an unknown name comes with the one that was probably meant.
pub(crate) fn told(admin: &Admin, change: &ChangeRequest, error: WriteError) -> Failure {
    let WriteError::NotFound(name) = &error else {
        return error.into();
    };
    let snapshot = admin.registry.catalogue(change.tenant.as_deref());
    found(&snapshot, name).err().unwrap_or_else(|| error.into())
}

/// The definition of that name, in any state.
pub(crate) fn found<'a>(snapshot: &'a Snapshot, name: &str) -> Result<&'a Arc<Entry>, Failure> {
    let names = || snapshot.entries().map(|entry| entry.name.as_str());
    snapshot.entry(name).ok_or_else(|| unknown(Sought::Definition, name, names()))
}
