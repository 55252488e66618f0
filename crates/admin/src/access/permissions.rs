//! `/admin/permissions`: the rules in the store, their versions, and going back to one. Those of the configuration are shown
//! beside them. Whoever administers is never kept from here by rules: he could not mend them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use toolrail_access::{NewRules, Permissions, RulesError, RulesPlan, StoredRules};
use toolrail_core::{ErrorCode, Problem, Problems, StoreError, ToolTraits, Way};
use toolrail_identity::RecordFollower;
use toolrail_registry::Entry;

use crate::change_request::{ChangeRequest, with_version};
use crate::failure::{Failure, json as json_answer};
use crate::path::Path;
use crate::{Admin, body};

/// The rules of a gateway.
#[derive(Clone)]
pub struct Rules {
    /// Those of the store, with their versions.
    pub stored: Arc<StoredRules>,
    /// Both those and those of the configuration, at work.
    pub permissions: Arc<Permissions>,
    /// Brings what is new in the store.
    pub follower: Arc<RecordFollower>,
    /// Whether anybody is asked who he is; rules hold for nobody otherwise.
    pub are_enforced: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PutQuery {
    #[serde(default)]
    dry_run: bool,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct BackRequest {
    to: i64,
    #[serde(default)]
    dry_run: bool,
    note: Option<String>,
}

/// What is to be done with new rules.
struct Proposal {
    new: NewRules,
    dry_run: bool,
    /// What the answer calls it when it is done.
    done: &'static str,
}

/// The rules in force.
pub(crate) async fn show(State(admin): State<Admin>) -> Result<Response, Failure> {
    let rules = rules_of(&admin).await?;
    let configured = rules.permissions.configured().map(|rules| rules.document().clone());
    let now = rules.stored.now();
    let newest = rules.stored.history().into_iter().next();
    let mut shown = json!({
        "version": now.version, "document": now.version.map(|_| now.rulebook.document()),
        "configuration": configured, "enforced": rules.are_enforced,
    });
    if let Some(fault) = &now.fault {
        shown["fault"] = fault.as_str().into();
    }
    if let Some(newest) = &newest {
        shown["newest"] = json!(newest);
    }
    Ok(with_version(json_answer(StatusCode::OK, &shown), newest.map(|newest| newest.version)))
}

/// Puts rules into the store.
pub(crate) async fn put(
    State(admin): State<Admin>,
    change: ChangeRequest,
    query: Result<Query<PutQuery>, QueryRejection>,
    request: Body,
) -> Result<Response, Failure> {
    let Query(PutQuery { dry_run, note }) =
        query.map_err(|error| Failure::bad_query(&error, "dryRun, note"))?;
    let bytes = body::read(request, body::ORDINARY).await?;
    let document: Value = body::parse_object(&bytes)?;
    body::refuse_repeated_keys(&bytes)?;
    let new = NewRules { document, note, expected: change.expected, action: "permissions.update" };
    propose(&admin, &change, Proposal { new, dry_run, done: "saved" }).await
}

/// Takes all rules out of the store, as a new version without any.
pub(crate) async fn clear(
    State(admin): State<Admin>,
    change: ChangeRequest,
    query: Result<Query<PutQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(PutQuery { dry_run, note }) =
        query.map_err(|error| Failure::bad_query(&error, "dryRun, note"))?;
    let new = NewRules { document: json!({}), note, expected: change.expected, action: "permissions.clear" };
    propose(&admin, &change, Proposal { new, dry_run, done: "cleared" }).await
}

/// Goes back to a version.
pub(crate) async fn roll_back(
    State(admin): State<Admin>,
    change: ChangeRequest,
    request: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let BackRequest { to, dry_run, note } = body::parse_object(&bytes)?;
    let (_, document) = rules_of(&admin).await?.stored.version(to).await.map_err(failure)?;
    let note = note.or_else(|| Some(format!("back to version {to}")));
    let new = NewRules { document, note, expected: change.expected, action: "permissions.rollback" };
    propose(&admin, &change, Proposal { new, dry_run, done: "restored" }).await
}

/// The versions there are.
pub(crate) async fn history(State(admin): State<Admin>) -> Result<Response, Failure> {
    let versions = rules_of(&admin).await?.stored.history();
    Ok(json_answer(StatusCode::OK, &json!({"versions": versions})))
}

/// One of them.
pub(crate) async fn version(
    State(admin): State<Admin>,
    Path(number): Path<String>,
) -> Result<Response, Failure> {
    let number = number
        .parse()
        .map_err(|_| Failure::bad_request(format!("{number:?} is not the number of a version, such as 7")))?;
    let (view, document) = rules_of(&admin).await?.stored.version(number).await.map_err(failure)?;
    let mut shown = json!(view);
    shown["document"] = document;
    Ok(json_answer(StatusCode::OK, &shown))
}

/// Checks rules against everything, and saves them unless they are only tried.
async fn propose(admin: &Admin, change: &ChangeRequest, proposal: Proposal) -> Result<Response, Failure> {
    let rules = rules_of(admin).await?;
    let Proposal { new, dry_run, done } = proposal;
    let (plan, version) = if dry_run {
        let plan = rules.stored.plan(&new).await.map_err(failure)?;
        let before = plan.before;
        (plan, before)
    } else {
        let way = if new.action == "permissions.rollback" { Way::Rollback } else { admin.writer };
        let saved = rules.stored.save(new, &change.author_by(way)).await;
        let (plan, version) = saved.map_err(failure)?;
        rules.hear().await;
        (plan, Some(version))
    };
    let status = if plan.differences.is_empty() && plan.before.is_some() {
        "unchanged"
    } else if dry_run {
        "planned"
    } else {
        done
    };
    let body = json!({
        "ok": true, "status": status, "dryRun": dry_run, "version": version, "before": plan.before,
        "differences": plan.differences, "warnings": warnings(admin, rules, &plan), "enforced": rules.are_enforced,
    });
    Ok(with_version(json_answer(StatusCode::OK, &body), version))
}

/// What is poor about rules by themselves, and in the face of the tools there are.
fn warnings(admin: &Admin, rules: &Rules, plan: &RulesPlan) -> Vec<Problem> {
    let snapshot = admin.registry.snapshot();
    let there: Vec<ToolTraits<'_>> = snapshot.all_entries().map(|entry| traits_of(entry)).collect();
    let idle = tokio::task::block_in_place(|| plan.rulebook.without_tools(&there));
    let mut unasked = Problems::default();
    if !rules.are_enforced && plan.rulebook.rule_count() > 0 {
        let told =
            "nobody is asked who he is here, so rules hold for nobody; start the gateway with --secure";
        unasked.warning("", told);
    }
    let unasked = unasked.into_list(None, str::to_owned);
    plan.warnings.iter().cloned().chain(idle).chain(unasked).collect()
}

/// What rules can ask of a definition; prompts and resources are known by their names.
fn traits_of(entry: &Entry) -> ToolTraits<'_> {
    match entry.tool() {
        Some(tool) => tool.traits(),
        None => ToolTraits::named(&entry.name),
    }
}

impl Rules {
    /// Here, a change holds from now on; on other replicas within a second.
    async fn hear(&self) {
        if let Err(error) = self.follower.look().await {
            tracing::warn!(%error, "permission rules were changed, but could not be read back yet");
        }
    }
}

/// The rules, with what is new in the store.
pub(super) async fn rules_of(admin: &Admin) -> Result<&Rules, Failure> {
    let none = || Failure::new(ErrorCode::NotFound, "permission rules are not kept here");
    let rules = admin.rules.as_ref().ok_or_else(none)?;
    rules.follower.look().await.map_err(unavailable)?;
    Ok(rules)
}

fn unavailable(error: StoreError) -> Failure {
    failure(RulesError::Store(error))
}

fn failure(error: RulesError) -> Failure {
    let message = error.to_string();
    let code = match error {
        RulesError::Refused(problems) => return Failure::bad_definition(problems, ""),
        RulesError::TooLarge(_) | RulesError::NoRoom => ErrorCode::TooLarge,
        RulesError::Note => ErrorCode::InvalidRequest,
        RulesError::Conflict { .. } | RulesError::Unreadable { .. } => ErrorCode::Conflict,
        RulesError::NoVersion(_) => ErrorCode::NotFound,
        RulesError::Store(StoreError::Unknown { .. }) => ErrorCode::OutcomeUnknown,
        RulesError::Store(_) => ErrorCode::StoreUnavailable,
    };
    Failure::new(code, message)
}
