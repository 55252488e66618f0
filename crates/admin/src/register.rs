//! Registering over REST: one definition, wrapped or bare; a batch; or a check that stores nothing.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use toolrail_core::{CallError, ErrorCode, Expected, Problem, Revision, Severity, repeated_key};
use toolrail_registry::{BatchMode, Registered, Registration, Registry, Snapshot, SourceId, Written};

use crate::advice::{Advice, NextStep};
use crate::change_request::{ChangeRequest, with_version};
use crate::failure::{ErrorBody, Failure, json as json_answer};
use crate::{Admin, body, unread};

/// The most definitions in one batch.
const MOST_ITEMS: usize = 10_000;

pub(crate) async fn one(
    State(admin): State<Admin>,
    change: ChangeRequest,
    request: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let body: Value = body::parse(&bytes)?;
    body::refuse_repeated_keys(&bytes)?;
    if is_list(&body) {
        let message = "a definition is a JSON object; POST /admin/tools/batch takes a list of them";
        return Err(Failure::new(ErrorCode::InvalidDefinition, message));
    }
    let before = admin.registry.snapshot();
    let mut registration =
        Registration::from_request(body, "").map_err(|problems| Failure::bad_definition(problems, ""))?;
    settle(&mut registration, &change)?;
    let base = registration.base.clone();
    let (mut results, revision) = admin
        .registry
        .changes()
        .register(vec![registration], BatchMode::AllOrNothing, &change.author)
        .await?;
    let Some(Registered { name, tenant, written, problems }) = results.pop() else {
        return Err(Failure::new(ErrorCode::Internal, "the registry gave no result"));
    };
    let (Some(name), Written::Created | Written::Updated | Written::Unchanged) = (name, written) else {
        return Err(Failure::bad_definition(problems, &base));
    };
    let after = admin.registry.snapshot();
    let tenant = tenant.as_deref();
    let state = unread::state_after(&after, after.entry_of(tenant, &name), revision);
    let Switched { enabled, note, .. } = Switched::between(&before, &after, (tenant, &name));
    let enabled = (!unread::is_unread(&after, revision)).then_some(enabled);
    // A write of one definition moves the revision by one, to the number of its new version.
    let version = match written {
        Written::Unchanged => {
            after.entry_of(tenant, &name).and_then(|entry| entry.version).unwrap_or(revision)
        }
        _ => revision,
    };
    let mut body = json!({
        "ok": true, "name": name, "status": word(written), "state": state, "enabled": enabled, "revision": revision,
        "version": version, "warnings": problems,
    });
    if let (Some(note), Some(members)) = (note, body.as_object_mut()) {
        members.insert("note".to_owned(), note.into());
    }
    unread::add_note(&mut body, &after, revision);
    Ok(with_version(json_answer(StatusCode::OK, &body), Some(version)))
}

/// Fills in what the request says beside its body, with which that must agree.
fn settle(registration: &mut Registration, change: &ChangeRequest) -> Result<(), Failure> {
    settle_tenant(registration, change)?;
    match (registration.expected, change.expected) {
        (_, Expected::Anything) => {}
        (Expected::Anything, expected) => registration.expected = expected,
        (inside, outside) if inside == outside => {}
        _ => {
            return Err(Failure::bad_request(
                "\"version\" says something else than If-Match or If-None-Match; send one of them",
            ));
        }
    }
    Ok(())
}

/// A request for one tenant cannot write to another's.
pub(crate) fn settle_tenant(registration: &mut Registration, change: &ChangeRequest) -> Result<(), Failure> {
    match (&registration.tenant, &change.tenant) {
        (Some(inside), Some(outside)) if inside != outside => Err(Failure::bad_request(format!(
            "the definition is of the tenant {inside:?} but the request is for {outside:?}; make them the same"
        ))),
        (Some(_), _) => Ok(()),
        (None, tenant) => {
            registration.tenant.clone_from(tenant);
            Ok(())
        }
    }
}

/// Whether a registered tool is on now, and what to say if that is news.
struct Switched {
    enabled: bool,
    version: Option<Revision>,
    note: Option<&'static str>,
}

impl Switched {
    fn between(before: &Snapshot, after: &Snapshot, (tenant, name): (Option<&str>, &str)) -> Self {
        let stored = before.entry_of(tenant, name).filter(|entry| entry.source == SourceId::Store);
        let was_off = stored.is_some_and(|entry| !entry.enabled);
        let entry = after.entry_of(tenant, name);
        let enabled = entry.is_some_and(|entry| entry.enabled);
        let version = entry.and_then(|entry| entry.version);
        let note = "it was switched off and is on again; send \"enabled\": false to keep it off";
        Self { enabled, version, note: (was_off && enabled).then_some(note) }
    }
}

/// What became of a batch.
#[derive(Serialize)]
struct BatchAnswer<'a> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody<'a>>,
    added: usize,
    updated: usize,
    unchanged: usize,
    refused: usize,
    revision: i64,
    results: Vec<ItemAnswer>,
}

#[derive(Serialize)]
struct ItemAnswer {
    ok: bool,
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Revision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
}

pub(crate) async fn batch(
    State(admin): State<Admin>,
    change: ChangeRequest,
    request: Body,
) -> Result<Response, Failure> {
    change.unconditional()?;
    let bytes = body::read(request, body::BATCH).await?;
    let Batch { items, mode, base } = Batch::from_request(body::parse(&bytes)?)?;
    body::refuse_repeated_keys(&bytes)?;
    let _held = bytes.into_held();
    let before = admin.registry.snapshot();
    let (results, revision) = register_all(&admin, &change, Items { items, base }, mode).await?;
    let after = admin.registry.snapshot();
    let count = |wanted: Written| results.iter().filter(|result| result.written == wanted).count();
    let (added, updated) = (count(Written::Created), count(Written::Updated));
    let (unchanged, refused) = (count(Written::Unchanged), count(Written::Refused));
    let stopped = refused > 0 && mode == BatchMode::AllOrNothing;
    let (message, advice) = nothing_registered(refused, results.len());
    let error = CallError::new(ErrorCode::InvalidDefinition, message);
    let answer = BatchAnswer {
        ok: !stopped,
        error: stopped.then(|| ErrorBody::from(&error).with(advice.as_ref())),
        added,
        updated,
        unchanged,
        refused,
        revision,
        results: results
            .into_iter()
            .enumerate()
            .map(|(index, result)| ItemAnswer::new(index, result, &before, &after))
            .map(|item| if unread::is_unread(&after, revision) { item.unread() } else { item })
            .collect(),
    };
    let status = if stopped { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(json_answer(status, &answer))
}

/// What is said about a batch that was refused, and what helps unless there is only one definition to correct.
fn nothing_registered(refused: usize, all: usize) -> (String, Option<Advice>) {
    let fault = match (refused, all) {
        (1, 1) => {
            return ("the definition has errors, so it was not registered; correct it".to_owned(), None);
        }
        (1, all) => format!("1 of {all} definitions has errors, so none was registered; correct it"),
        (refused, all) => {
            format!("{refused} of {all} definitions have errors, so none was registered; correct them")
        }
    };
    let advice = Advice::new(fault, NextStep::SendEach, "to register the others");
    (advice.to_string(), Some(advice))
}

struct Batch {
    items: Vec<Value>,
    mode: BatchMode,
    /// Pointer from the body to the list.
    base: &'static str,
}

impl Batch {
    fn from_request(body: Value) -> Result<Self, Failure> {
        let (items, mode, base) = match body {
            Value::Array(items) => (items, BatchMode::AllOrNothing, ""),
            Value::Object(mut members) => {
                let items = members.shift_remove("tools");
                let mode = members.shift_remove("mode");
                if let Some(unknown) = members.keys().next() {
                    return Err(Failure::bad_request(format!(
                        "unknown field {unknown:?}; known here: tools, mode"
                    )));
                }
                let Some(Value::Array(items)) = items else {
                    return Err(Failure::bad_request("\"tools\" is missing: the list of definitions"));
                };
                (items, mode_of(mode.as_ref())?, "/tools")
            }
            _ => {
                return Err(Failure::bad_request(
                    "a batch is {\"tools\": […], \"mode\": \"all\"|\"each\"} or a list",
                ));
            }
        };
        if items.len() > MOST_ITEMS {
            let message = format!(
                "a batch has at most {MOST_ITEMS} definitions, this one has {}; split it",
                items.len()
            );
            return Err(Failure::new(ErrorCode::TooLarge, message));
        }
        Ok(Self { items, mode, base })
    }
}

fn mode_of(mode: Option<&Value>) -> Result<BatchMode, Failure> {
    match mode.map(Value::as_str) {
        None | Some(Some("all")) => Ok(BatchMode::AllOrNothing),
        Some(Some("each")) => Ok(BatchMode::EachOnItsOwn),
        Some(_) => {
            Err(Failure::bad_request("\"mode\" is \"all\" (nothing unless everything is good) or \"each\""))
        }
    }
}

/// What was sent in a list.
struct Items {
    items: Vec<Value>,
    base: &'static str,
}

async fn register_all(
    admin: &Admin,
    change: &ChangeRequest,
    Items { items, base }: Items,
    mode: BatchMode,
) -> Result<(Vec<Registered>, i64), Failure> {
    let mut misshapen = Vec::new();
    let registrations = items.into_iter().enumerate().map(|(index, item)| {
        let base = format!("{base}/{index}");
        Registration::from_request(item, &base).unwrap_or_else(|problems| {
            misshapen.push((index, problems));
            // Nothing compiles out of null, so the registry counts it among the refused.
            Registration::bare(Value::Null, &base)
        })
    });
    let mut registrations: Vec<Registration> = registrations.collect();
    registrations.iter_mut().try_for_each(|registration| settle_tenant(registration, change))?;
    let (mut results, revision) =
        admin.registry.changes().register(registrations, mode, &change.author).await?;
    for (index, problems) in misshapen {
        results[index].problems = problems;
    }
    Ok((results, revision))
}

impl ItemAnswer {
    fn new(index: usize, result: Registered, before: &Snapshot, after: &Snapshot) -> Self {
        let Registered { name, tenant, written, problems } = result;
        let ok = matches!(written, Written::Created | Written::Updated | Written::Unchanged);
        let switched = name.as_deref().filter(|_| ok);
        let switched = switched.map(|name| Switched::between(before, after, (tenant.as_deref(), name)));
        Self {
            ok,
            index,
            name,
            status: word(written),
            enabled: switched.as_ref().map(|switched| switched.enabled),
            version: switched.as_ref().and_then(|switched| switched.version),
            note: switched.and_then(|switched| switched.note),
            problems,
        }
    }

    /// The same without what only reading it back could tell.
    fn unread(self) -> Self {
        Self { enabled: None, version: None, note: self.ok.then_some(unread::NOTE), ..self }
    }
}

pub(crate) async fn validate(State(admin): State<Admin>, request: Body) -> Result<Response, Failure> {
    let bytes = body::read(request, body::BATCH).await?;
    let body: Value = body::parse(&bytes)?;
    let (items, base) = if is_list(&body) {
        let batch = Batch::from_request(body)?;
        (batch.items, Some(batch.base))
    } else {
        (vec![body], None)
    };
    let mut problems: Vec<Problem> = repeated_key(&bytes).into_iter().collect();
    for (index, item) in items.into_iter().enumerate() {
        let base = base.map(|base| format!("{base}/{index}")).unwrap_or_default();
        problems.extend(tokio::task::block_in_place(|| check(&admin.registry, item, &base)));
        // Whoever asked may have gone.
        tokio::task::yield_now().await;
    }
    let valid = problems.iter().all(|problem| problem.severity != Severity::Error);
    Ok(json_answer(StatusCode::OK, &json!({"ok": true, "valid": valid, "problems": problems})))
}

/// Whether it is a batch rather than one definition.
fn is_list(body: &Value) -> bool {
    body.is_array() || body.get("tools").is_some_and(Value::is_array)
}

fn check(registry: &Registry, item: Value, base: &str) -> Vec<Problem> {
    let mut registration = match Registration::from_request(item, base) {
        Ok(registration) => registration,
        Err(problems) => return problems,
    };
    if let (Some(name), Some(members)) = (&registration.name, registration.document.as_object_mut())
        && !members.contains_key("name")
    {
        members.shift_insert(0, "name".into(), name.as_str().into());
    }
    let mut problems = registry.intake().check(&registration.document);
    for problem in &mut problems {
        problem.pointer = format!("{}{}", registration.base, problem.pointer);
    }
    problems
}

fn word(written: Written) -> &'static str {
    match written {
        Written::Created => "created",
        Written::Updated => "updated",
        Written::Unchanged => "unchanged",
        Written::Refused => "refused",
        Written::HeldBack => "heldBack",
    }
}
