//! `POST /admin/refresh`: looks at every source now, and the webhook by which others can say that something
//! changed. Whatever they send is taken: what changed is read from the sources, never from the message.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;
use toolrail_core::ErrorCode;
use toolrail_registry::{Entry, Registry, Snapshot, SourceId};

use crate::failure::{Failure, json as json_answer};
use crate::health::{Seen, merge};
use crate::requester::Requester;
use crate::{Admin, body};

/// The most bytes of a message.
const LARGEST: usize = 1024 * 1024;
/// How long a look at the sources is waited for. It goes on by itself at the next poll.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RefreshQuery {
    #[serde(default)]
    full: bool,
}

pub(crate) async fn refresh(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    query: Result<Query<RefreshQuery>, QueryRejection>,
    request: Body,
) -> Result<Response, Failure> {
    let Query(query) = query.map_err(|error| Failure::bad_query(&error, "full=true|false"))?;
    let bytes = body::read(request, LARGEST).await?;
    let message = Message::of(&bytes);
    let sort = if query.full || message.asks_for_all { Sort::Full } else { Sort::Changes };
    let asked = Instant::now();
    let looked = tokio::time::timeout(PATIENCE, admin.refreshing.look(&admin.registry, sort)).await;
    let changed = looked.map_err(|_| {
        let message = format!("the sources could not be read within {} seconds", PATIENCE.as_secs());
        Failure::new(ErrorCode::StoreUnavailable, message)
    })?;
    let took = asked.elapsed().as_secs_f64() * 1000.0;
    tracing::debug!(message = message.kind, full = sort == Sort::Full, changed, took, "refresh asked for");
    let mut body = json!({"ok": true, "changed": changed, "tookMs": (took * 10.0).round() / 10.0});
    let snapshot = admin.registry.snapshot();
    merge(&mut body, Seen::by(&admin, &principal).summary());
    let store = snapshot.sources.iter().find(|source| source.source == SourceId::Store);
    let Some(failure) = store.and_then(|store| store.failure.as_ref()) else {
        return Ok(json_answer(StatusCode::OK, &body));
    };
    let message = format!("the store could not be read, its last good definitions stay in place: {failure}");
    body["ok"] = false.into();
    body["error"] = json!({"code": ErrorCode::StoreUnavailable, "message": message});
    Ok(json_answer(StatusCode::SERVICE_UNAVAILABLE, &body))
}

/// What somebody sent, as far as anybody cares.
#[derive(Debug, PartialEq, Eq)]
struct Message {
    kind: &'static str,
    /// Whether it says `"full": true`.
    asks_for_all: bool,
}

impl Message {
    fn of(bytes: &[u8]) -> Self {
        let plain = |kind| Self { kind, asks_for_all: false };
        if bytes.trim_ascii().is_empty() {
            return plain("nothing");
        }
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
            return plain("something else");
        };
        let change = if value.is_array() { &value[0] } else { &value };
        // With its schema, an envelope stands in `payload`.
        let envelope = change.get("payload").unwrap_or(change);
        if envelope.get("op").is_some_and(Value::is_string) && envelope.get("source").is_some() {
            return plain("debezium");
        }
        Self { kind: "json", asks_for_all: value.get("full") == Some(&Value::Bool(true)) }
    }
}

/// How the sources are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// For what changed since the last time.
    Changes,
    /// At everything, whatever their revisions say.
    Full,
}

/// Looks under way. Those who ask at the same time share one, as long as it began after they asked.
#[derive(Default)]
pub(crate) struct Refreshing {
    begun: AtomicU64,
    begun_in_full: AtomicU64,
    /// What the last look found; held while one is under way.
    last: Mutex<usize>,
}

impl Refreshing {
    /// How many changes became live by a look that began after this was called.
    async fn look(&self, registry: &Registry, sort: Sort) -> usize {
        let counter = match sort {
            Sort::Changes => &self.begun,
            Sort::Full => &self.begun_in_full,
        };
        let seen = counter.load(Ordering::Acquire);
        let mut last = self.last.lock().await;
        if counter.load(Ordering::Acquire) > seen {
            return *last;
        }
        self.begun.fetch_add(1, Ordering::AcqRel);
        let before = registry.snapshot();
        match sort {
            Sort::Changes => registry.refresh().await,
            Sort::Full => {
                self.begun_in_full.fetch_add(1, Ordering::AcqRel);
                registry.intake().reload().await;
            }
        }
        *last = changes(&before, &registry.snapshot());
        *last
    }
}

/// How many changes lie between two snapshots: what the store counted, or else how many definitions differ.
fn changes(before: &Snapshot, after: &Snapshot) -> usize {
    if after.revision > before.revision {
        return usize::try_from(after.revision - before.revision).unwrap_or(usize::MAX);
    }
    if std::ptr::eq(before, after) {
        return 0;
    }
    let earlier = |entry: &Entry| before.entry_of(entry.tenant.as_deref(), &entry.name);
    let is_same = |now: &Entry, then: &Entry| now.enabled == then.enabled && now.document == then.document;
    let new = after.all_entries().filter(|now| !earlier(now).is_some_and(|then| is_same(now, then)));
    let is_gone = |then: &Entry| after.entry_of(then.tenant.as_deref(), &then.name).is_none();
    new.count() + before.all_entries().filter(|then| is_gone(then)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_message_is_taken_and_only_a_plain_one_can_ask_for_everything() {
        let of = |text: &str| {
            let Message { kind, asks_for_all } = Message::of(text.as_bytes());
            (kind, asks_for_all)
        };
        assert_eq!(of(" \n"), ("nothing", false));
        assert_eq!(of("<change/>"), ("something else", false));
        assert_eq!(of("{\"full\": true}"), ("json", true));
        assert_eq!(of("{\"full\": \"yes\"}"), ("json", false));
        assert_eq!(of("{\"op\": \"u\", \"source\": {}, \"after\": {\"full\": true}}"), ("debezium", false));
        assert_eq!(of("[{\"payload\": {\"op\": \"d\", \"source\": {}}}]"), ("debezium", false));
        assert_eq!(of("[]"), ("json", false));
    }
}
