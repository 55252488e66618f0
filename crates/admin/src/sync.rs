//! `POST /admin/sync`: makes the store what was sent, or says what that would take. Import is the same with other
//! wishes: without removing, or without touching what is there.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolrail_core::{CallError, Difference, ErrorCode, Problem, Revision, Way};
use toolrail_registry::{Applied, Covers, Plan, PlanMode, Refusal, Registration, Step, StepKind, SyncPlan};

use crate::change_request::ChangeRequest;
use crate::failure::{ErrorBody, Failure, json as json_answer};
use crate::register::settle_tenant;
use crate::{Admin, body};

/// The most bytes of a list.
const LARGEST: usize = 256 * 1024 * 1024;
/// The most definitions in a list.
const MOST_ITEMS: usize = 200_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "these are the words of the request, read once")]
struct SyncRequest {
    tools: Vec<Value>,
    /// Removes what the list does not have.
    #[serde(default)]
    prune: bool,
    /// Removes that of tenants, too, that the list does not name.
    #[serde(default)]
    all_tenants: bool,
    /// Says what would be done, and does nothing.
    #[serde(default)]
    dry_run: bool,
    /// Changes what is there otherwise.
    #[serde(default = "yes")]
    overwrite: bool,
    #[serde(default)]
    mode: Mode,
}

fn yes() -> bool {
    true
}

/// What becomes of the others if some have errors.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    All,
    Each,
}

/// How many definitions there are to do what with.
#[derive(Serialize)]
pub(crate) struct Counts {
    create: usize,
    update: usize,
    enable: usize,
    disable: usize,
    remove: usize,
    keep: usize,
    unchanged: usize,
    refused: usize,
}

impl Counts {
    pub(crate) fn of(plan: &Plan, refused: usize) -> Self {
        Self {
            create: plan.count(StepKind::Create),
            update: plan.count(StepKind::Update),
            enable: plan.count(StepKind::Enable),
            disable: plan.count(StepKind::Disable),
            remove: plan.count(StepKind::Remove),
            keep: plan.count(StepKind::Keep),
            unchanged: plan.unchanged,
            refused,
        }
    }
}

/// One step of a plan.
#[derive(Serialize)]
pub(crate) struct ShownStep<'a> {
    action: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    /// The place in the list that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    differences: &'a [Difference],
}

/// The steps of a plan, with the place in what was sent that each comes from.
pub(crate) fn steps(plan: &Plan, place: impl Fn(&Step) -> Option<usize>) -> Vec<ShownStep<'_>> {
    let shown = |step| ShownStep::new(step, place(step));
    plan.steps.iter().map(shown).collect()
}

impl<'a> ShownStep<'a> {
    fn new(step: &'a Step, index: Option<usize>) -> Self {
        Self {
            action: step.kind.word(),
            name: &step.name,
            tenant: step.tenant.as_deref(),
            index,
            differences: &step.differences,
        }
    }
}

#[derive(Serialize)]
struct Refused<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    problems: &'a [Problem],
}

impl<'a> From<&'a Refusal> for Refused<'a> {
    fn from(refusal: &'a Refusal) -> Self {
        Self { index: refusal.index, name: refusal.name.as_deref(), problems: &refusal.problems }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SyncAnswer<'a> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody<'a>>,
    dry_run: bool,
    revision: Revision,
    /// How many changes were made.
    written: usize,
    counts: Counts,
    plan: Vec<ShownStep<'a>>,
    refused: Vec<Refused<'a>>,
}

pub(crate) async fn sync(
    State(admin): State<Admin>,
    change: ChangeRequest,
    request: Body,
) -> Result<Response, Failure> {
    change.unconditional()?;
    let bytes = body::read(request, LARGEST).await?;
    let request: SyncRequest = body::parse_object(&bytes)?;
    body::refuse_repeated_keys(&bytes)?;
    let _held = bytes.into_held();
    let wishes = Wishes::of(&request, &change)?;
    let sent = registrations(request.tools, &change)?;
    let planned = admin.registry.changes().plan_sync(sent, wishes.covers, wishes.plan).await?;
    if !planned.refused.is_empty() && request.mode == Mode::All {
        let message = refusal(planned.refused.len());
        let error = CallError::new(ErrorCode::InvalidDefinition, message);
        let revision = admin.registry.snapshot().revision;
        return Ok(answer(
            &planned,
            Ended { revision, written: 0, error: Some(error), dry_run: request.dry_run },
        ));
    }
    if request.dry_run {
        let revision = admin.registry.snapshot().revision;
        return Ok(answer(&planned, Ended { revision, written: 0, error: None, dry_run: true }));
    }
    let author = change.author_by(Way::Sync);
    let Applied { written, revision, failure } =
        admin.registry.changes().apply(&planned.plan, &author, &|_| {}).await?;
    let error = failure.map(|failure| broken_off(failure.into(), written, &planned.plan));
    Ok(answer(&planned, Ended { revision, written, error, dry_run: false }))
}

/// What the request asks for beside the definitions.
struct Wishes {
    covers: Covers,
    plan: PlanMode,
}

impl Wishes {
    fn of(request: &SyncRequest, change: &ChangeRequest) -> Result<Self, Failure> {
        if request.tools.len() > MOST_ITEMS {
            let message =
                format!("a list has at most {MOST_ITEMS} definitions, this one has {}", request.tools.len());
            return Err(Failure::new(ErrorCode::TooLarge, message));
        }
        let plan = match (request.prune, request.overwrite) {
            (true, true) => PlanMode::Exactly,
            (false, true) => PlanMode::AddAndChange,
            (false, false) => PlanMode::Add,
            (true, false) => {
                let message = "\"prune\": true makes the store exactly what was sent; \"overwrite\": false contradicts it";
                return Err(Failure::bad_request(message));
            }
        };
        let covers = match (request.all_tenants, change.tenant.as_deref()) {
            (false, Some(tenant)) => Covers::one(Some(tenant)),
            // Those that occur in the list, the shared ones if it has any.
            (false, None) => Covers::Only(BTreeSet::new()),
            (true, None) => Covers::All,
            (true, Some(tenant)) => {
                return Err(Failure::bad_request(format!(
                    "\"allTenants\": true is not for a request of one tenant, {tenant:?}"
                )));
            }
        };
        Ok(Self { covers, plan })
    }
}

type Sent = Vec<Result<Registration, Vec<Problem>>>;

fn registrations(items: Vec<Value>, change: &ChangeRequest) -> Result<Sent, Failure> {
    let read =
        |(index, item): (usize, Value)| match Registration::from_request(item, &format!("/tools/{index}")) {
            Ok(mut registration) => {
                settle_tenant(&mut registration, change)?;
                Ok(Ok(registration))
            }
            Err(problems) => Ok(Err(problems)),
        };
    items.into_iter().enumerate().map(read).collect()
}

fn refusal(refused: usize) -> String {
    let others = "or send \"mode\": \"each\" for the others";
    match refused {
        1 => format!("1 definition has errors, so nothing was done; correct it, {others}"),
        refused => format!("{refused} definitions have errors, so nothing was done; correct them, {others}"),
    }
}

/// What was written before stays written, each portion whole.
fn broken_off(failure: Failure, written: usize, plan: &Plan) -> CallError {
    let all = plan.changes().count();
    let message = format!(
        "{}; {written} of {all} changes were made before that, doing it again does the rest",
        failure.error.message
    );
    CallError::new(failure.error.code, message)
}

struct Ended {
    revision: Revision,
    written: usize,
    error: Option<CallError>,
    dry_run: bool,
}

fn answer(planned: &SyncPlan, ended: Ended) -> Response {
    let Ended { revision, written, error, dry_run } = ended;
    let status = error.as_ref().map_or(StatusCode::OK, |error| {
        StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    });
    let body = SyncAnswer {
        ok: error.is_none(),
        error: error.as_ref().map(Into::into),
        dry_run,
        revision,
        written,
        counts: Counts::of(&planned.plan, planned.refused.len()),
        plan: steps(&planned.plan, |step| planned.place(step)),
        refused: planned.refused.iter().map(Into::into).collect(),
    };
    json_answer(status, &body)
}
