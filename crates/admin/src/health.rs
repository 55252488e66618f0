//! Whether the process lives, whether it can serve, and what is wrong with definitions.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};
use toolrail_core::{Principal, Problem, Severity};
use toolrail_registry::{Snapshot, SourceId, SourceStatus, UpstreamStatus, WriteFailure};

use crate::Admin;
use crate::failure::json as json_answer;
use crate::requester::Requester;

pub(crate) async fn healthz(State(admin): State<Admin>) -> Response {
    json_answer(StatusCode::OK, &json!({"status": "ok", "version": admin.version}))
}

pub(crate) async fn readyz(State(admin): State<Admin>, Requester(principal): Requester) -> Response {
    let seen = Seen::by(&admin, &principal);
    let snapshot = &seen.snapshot;
    let writes = admin.registry.write_failure();
    let journal = admin.registry.journal_failure();
    let rules = admin.rules.as_ref().filter(|rules| rules.are_enforced).map(|rules| rules.stored.now());
    let fault = rules.as_ref().and_then(|rules| rules.fault.as_ref());
    let (status, word) = if snapshot.sources.is_empty() {
        (StatusCode::SERVICE_UNAVAILABLE, "starting")
    } else if fault.is_some() && rules.as_ref().is_some_and(|rules| rules.is_unknown) {
        // Another replica may have rules that still hold.
        (StatusCode::SERVICE_UNAVAILABLE, "closed")
    } else if fault.is_some() || seen.is_failing() || writes.is_some() || journal.is_some() {
        // Still 200: the last good snapshot serves.
        (StatusCode::OK, "degraded")
    } else {
        (StatusCode::OK, "ready")
    };
    let mut body = json!({"status": word});
    merge(&mut body, seen.summary());
    body["store"] = store(snapshot, writes.as_ref());
    if let Some(fault) = fault {
        body["permissions"] = json!({"ok": false, "reason": fault});
    }
    if let Some(WriteFailure { reason, since }) = journal {
        body["lastGood"] = json!({"writable": false, "unwritableSince": since, "reason": reason});
    }
    if let Some(semantic) = admin.registry.finder().semantic_state() {
        // No part of readiness: without it tools are found by their words.
        let told = semantic.map_or_else(|why| format!("degraded: {why}"), |()| "ok".to_owned());
        body["search"] = json!({"semantic": told});
    }
    json_answer(status, &body)
}

/// Those that a tenant can see, or all.
pub(crate) async fn problems(State(admin): State<Admin>, Requester(principal): Requester) -> Response {
    let snapshot = admin.registry.catalogue(&principal);
    let unwritten = admin.registry.write_failure().map(|failure| unwritten(&snapshot, &failure));
    let unkept = admin.registry.journal_failure().map(|failure| unkept(&failure));
    let failing = snapshot.sources.iter().filter_map(failing);
    let failing: Vec<Problem> = failing.chain(unwritten).chain(unkept).collect();
    let of_definitions: Vec<&Problem> = match principal.tenant() {
        Some(_) => snapshot.problems().collect(),
        None => snapshot.all_problems().collect(),
    };
    let problems: Vec<&Problem> = failing.iter().chain(of_definitions).collect();
    json_answer(StatusCode::OK, &json!({"problems": problems}))
}

/// A source that cannot be read is a problem too.
fn failing(source: &SourceStatus) -> Option<Problem> {
    let failure = source.failure.as_ref()?;
    let since = source.since.as_ref().map(|since| format!(" since {since}")).unwrap_or_default();
    let message = format!("cannot be read{since}, its last good definitions stay in place: {failure}");
    let origin = Some(source.description.clone());
    Some(Problem {
        severity: Severity::Error,
        tool: None,
        origin,
        pointer: String::new(),
        message,
        spot: None,
    })
}

/// A store that takes no writes is one as well.
fn unwritten(snapshot: &Snapshot, failure: &WriteFailure) -> Problem {
    let store = snapshot.sources.iter().find(|source| source.source == SourceId::Store);
    Problem {
        severity: Severity::Error,
        tool: None,
        origin: store.map(|store| store.description.clone()),
        pointer: String::new(),
        message: format!(
            "cannot be written since {}, so nothing can be registered, switched or removed: {}; it is tried again and again",
            failure.since, failure.reason
        ),
        spot: None,
    }
}

/// So is a data folder that does not take what was switched off or removed.
fn unkept(failure: &WriteFailure) -> Problem {
    Problem {
        severity: Severity::Error,
        tool: None,
        origin: None,
        pointer: String::new(),
        message: format!(
            "the data folder cannot be written since {}: {}; what was switched off or removed is so in the store, but would be served again if the gateway ended now and started without the store; make room, it is tried again and again",
            failure.since, failure.reason
        ),
        spot: None,
    }
}

/// Whether the store could be read and written the last time, for those who look after databases only.
fn store(snapshot: &Snapshot, writes: Option<&WriteFailure>) -> Value {
    let store = snapshot.sources.iter().find(|source| source.source == SourceId::Store);
    let Some(store) = store else { return Value::Null };
    let mut told = json!({"description": store.description, "reachable": store.failure.is_none(), "writable": writes.is_none()});
    if let Some(since) = &store.since {
        told["unreachableSince"] = since.as_str().into();
    }
    if let Some(WriteFailure { since, .. }) = writes {
        told["unwritableSince"] = since.as_str().into();
    }
    told
}

/// How everything is, as far as it concerns somebody: a tenant hears of its own things and the shared ones only.
pub(crate) struct Seen {
    snapshot: Arc<Snapshot>,
    is_tenant: bool,
}

impl Seen {
    pub(crate) fn by(admin: &Admin, principal: &Principal) -> Self {
        Self { snapshot: admin.registry.catalogue(principal), is_tenant: principal.tenant().is_some() }
    }

    pub(crate) fn summary(&self) -> Value {
        let snapshot = &self.snapshot;
        let problems = if self.is_tenant { snapshot.problems().count() } else { snapshot.problem_count() };
        json!({
            "revision": snapshot.revision,
            "tools": snapshot.tool_count(),
            "problems": problems,
            "sources": snapshot.sources,
            "upstreams": self.upstreams(),
        })
    }

    fn upstreams(&self) -> &[UpstreamStatus] {
        if self.is_tenant { &self.snapshot.upstreams } else { self.snapshot.all_upstreams() }
    }

    fn is_failing(&self) -> bool {
        self.snapshot.sources.iter().any(|source| source.failure.is_some())
            || self.upstreams().iter().any(|upstream| upstream.failure.is_some())
    }
}

pub(crate) fn merge(body: &mut Value, more: Value) {
    if let (Value::Object(body), Value::Object(more)) = (body, more) {
        body.extend(more);
    }
}
