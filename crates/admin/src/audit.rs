//! `/admin/audit`: who changed what, and whether that record can be trusted.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use toolrail_core::{AuditEntry, AuditHead, Revision};
use toolrail_registry::{AuditReport, Contradiction, Noted};

use crate::Admin;
use crate::failure::{Failure, json as json_answer};
use crate::requester::Requester;

/// How many entries are listed unless the request says so.
const USUAL: u32 = 100;
/// The most entries that are listed at once.
pub const MOST_AUDIT_ENTRIES: u32 = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuditQuery {
    #[serde(default)]
    after: i64,
    limit: Option<u32>,
    /// The newest entries instead of those after one.
    #[serde(default)]
    newest: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyQuery {
    expect: Option<String>,
}

#[derive(Serialize)]
struct ShownEntry {
    number: i64,
    at: String,
    who: String,
    address: Option<String>,
    via: String,
    action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    name: String,
    revision: Revision,
    /// As it is hashed; a text if somebody made something else of it.
    changes: Changes,
    previous: String,
    hash: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Changes {
    Json(Box<RawValue>),
    Text(String),
}

impl From<AuditEntry> for ShownEntry {
    fn from(entry: AuditEntry) -> Self {
        let changes = match serde_json::from_str(&entry.changes) {
            Ok(json) => Changes::Json(json),
            Err(_) => Changes::Text(entry.changes),
        };
        Self {
            number: entry.number,
            at: entry.at,
            who: entry.who,
            address: entry.address,
            via: entry.via,
            action: entry.action,
            tenant: entry.tenant,
            name: entry.name,
            revision: entry.revision,
            changes,
            previous: entry.previous,
            hash: entry.hash,
        }
    }
}

/// Oldest first; a request of a tenant sees its own. `next` goes into `after`.
pub(crate) async fn list(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    query: Result<Query<AuditQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(query) = query.map_err(|error| Failure::bad_query(&error, "after, limit, newest"))?;
    let limit = query.limit.unwrap_or(USUAL);
    if !(1..=MOST_AUDIT_ENTRIES).contains(&limit) {
        return Err(Failure::bad_request(format!("limit={limit} is not between 1 and {MOST_AUDIT_ENTRIES}")));
    }
    let head = admin.registry.changes().audit_head().await?;
    let tenant = principal.tenant();
    let (entries, next) = if query.newest {
        (admin.registry.changes().newest_audit(tenant, limit).await?, None)
    } else {
        admin.registry.changes().audit(tenant, query.after.max(0), limit).await?
    };
    let entries: Vec<ShownEntry> = entries.into_iter().map(ShownEntry::from).collect();
    let body = json!({"entries": entries, "next": next, "head": head.map(|head| shown_head(&head))});
    Ok(json_answer(StatusCode::OK, &body))
}

pub(crate) async fn verify(
    State(admin): State<Admin>,
    query: Result<Query<VerifyQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(query) = query.map_err(|error| Failure::bad_query(&error, "expect"))?;
    let noted = query.expect.as_deref().map(str::trim);
    if noted.is_some_and(|hash| hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        return Err(Failure::bad_request("expect is a hash of the record: 64 hexadecimal digits"));
    }
    let report = admin.registry.changes().verify_audit(noted).await?;
    let good = report.is_good();
    let AuditReport { entries, head, broken, noted, contradictions, strays } = report;
    let contradictions: Vec<_> = contradictions.iter().map(shown_contradiction).collect();
    let strays: Vec<_> = strays
        .into_iter()
        .map(|stray| json!({"name": stray.tool.name, "tenant": stray.tool.tenant, "fault": stray.fault}))
        .collect();
    let broken = broken.map(|broken| json!({"entry": broken.number, "fault": broken.fault}));
    let mut body = json!({
        "ok": true, "good": good, "entries": entries, "head": head.map(|head| shown_head(&head)),
        "broken": broken, "contradictions": contradictions, "strays": strays,
    });
    if let (Some(noted), Some(members)) = (noted, body.as_object_mut()) {
        let noted = match noted {
            Noted::At(number) => json!({"found": true, "entry": number}),
            Noted::Missing => json!({"found": false}),
        };
        members.insert("expected".to_owned(), noted);
    }
    Ok(json_answer(StatusCode::OK, &body))
}

fn shown_contradiction(found: &Contradiction) -> serde_json::Value {
    json!({
        "name": found.name, "tenant": found.tenant, "version": found.version, "fault": found.to_string(),
    })
}

fn shown_head(head: &AuditHead) -> serde_json::Value {
    json!({"number": head.number, "hash": head.hash})
}
