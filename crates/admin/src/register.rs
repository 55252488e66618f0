//! Registering over REST: one definition, wrapped or bare (R82–R84), a batch (R27), or a check that stores nothing.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use toolrail_core::{CallError, ErrorCode, Problem, Severity};
use toolrail_registry::{BatchMode, Registered, Registration, Registry, Written};

use crate::failure::{ErrorBody, Failure, json as json_answer};
use crate::{Admin, body};

/// The most definitions in one batch.
const MOST_ITEMS: usize = 10_000;

pub(crate) async fn one(State(admin): State<Admin>, request: Body) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let registration = Registration::from_request(body::parse(&bytes)?, "")
        .map_err(|problems| Failure::bad_definition(problems, ""))?;
    let base = registration.base.clone();
    let (mut results, revision) =
        admin.registry.register(vec![registration], BatchMode::AllOrNothing, admin.writer).await?;
    let Some(Registered { name, written, problems }) = results.pop() else {
        return Err(Failure::new(ErrorCode::Internal, "the registry gave no result"));
    };
    let (Some(name), Written::Created | Written::Updated) = (name, written) else {
        return Err(Failure::bad_definition(problems, &base));
    };
    let state = admin.registry.snapshot().entry(&name).map_or("purged", |entry| entry.state());
    let body = json!({
        "ok": true, "name": name, "status": word(written), "state": state, "revision": revision, "warnings": problems,
    });
    Ok(json_answer(StatusCode::OK, &body))
}

/// What became of a batch.
#[derive(Serialize)]
struct BatchAnswer<'a> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody<'a>>,
    added: usize,
    updated: usize,
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
}

pub(crate) async fn batch(State(admin): State<Admin>, request: Body) -> Result<Response, Failure> {
    let bytes = body::read(request, body::BATCH).await?;
    let Batch { items, mode, base } = Batch::from_request(body::parse(&bytes)?)?;
    drop(bytes);
    let (results, revision) = register_all(&admin, items, base, mode).await?;
    let count = |wanted: Written| results.iter().filter(|result| result.written == wanted).count();
    let (added, updated, refused) =
        (count(Written::Created), count(Written::Updated), count(Written::Refused));
    let stopped = refused > 0 && mode == BatchMode::AllOrNothing;
    let error = CallError::new(
        ErrorCode::InvalidDefinition,
        format!(
            "{refused} of {} definitions have errors, so none was registered; correct them, or send \"mode\": \"each\" to register the others",
            results.len()
        ),
    );
    let answer = BatchAnswer {
        ok: !stopped,
        error: stopped.then(|| (&error).into()),
        added,
        updated,
        refused,
        revision,
        results: results.into_iter().enumerate().map(item_answer).collect(),
    };
    let status = if stopped { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(json_answer(status, &answer))
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

async fn register_all(
    admin: &Admin,
    items: Vec<Value>,
    base: &str,
    mode: BatchMode,
) -> Result<(Vec<Registered>, i64), Failure> {
    let mut misshapen = Vec::new();
    let registrations = items.into_iter().enumerate().map(|(index, item)| {
        let base = format!("{base}/{index}");
        Registration::from_request(item, &base).unwrap_or_else(|problems| {
            misshapen.push((index, problems));
            // Nothing compiles out of null, so the registry counts it among the refused.
            Registration { document: Value::Null, enabled: None, base, name: None }
        })
    });
    let registrations = registrations.collect();
    let (mut results, revision) = admin.registry.register(registrations, mode, admin.writer).await?;
    for (index, problems) in misshapen {
        results[index].problems = problems;
    }
    Ok((results, revision))
}

fn item_answer((index, result): (usize, Registered)) -> ItemAnswer {
    let ok = matches!(result.written, Written::Created | Written::Updated);
    ItemAnswer { ok, index, name: result.name, status: word(result.written), problems: result.problems }
}

pub(crate) async fn validate(State(admin): State<Admin>, request: Body) -> Result<Response, Failure> {
    let bytes = body::read(request, body::BATCH).await?;
    let body: Value = body::parse(&bytes)?;
    let is_list = body.is_array() || body.get("tools").is_some_and(Value::is_array);
    let (items, base) = if is_list {
        let batch = Batch::from_request(body)?;
        (batch.items, Some(batch.base))
    } else {
        (vec![body], None)
    };
    let problems: Vec<Problem> = tokio::task::block_in_place(|| {
        let check = |(index, item)| {
            let base = base.map(|base| format!("{base}/{index}")).unwrap_or_default();
            check(&admin.registry, item, &base)
        };
        items.into_iter().enumerate().flat_map(check).collect()
    });
    let valid = problems.iter().all(|problem| problem.severity != Severity::Error);
    Ok(json_answer(StatusCode::OK, &json!({"ok": true, "valid": valid, "problems": problems})))
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
    let mut problems = registry.check(&registration.document);
    for problem in &mut problems {
        problem.pointer = format!("{}{}", registration.base, problem.pointer);
    }
    problems
}

fn word(written: Written) -> &'static str {
    match written {
        Written::Created => "created",
        Written::Updated => "updated",
        Written::Refused => "refused",
        Written::HeldBack => "heldBack",
    }
}
