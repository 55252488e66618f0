//! `POST /admin/explain`: whether somebody sees and may call a tool, and what decides that.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolrail_access::{Explanation, Outcome, Rulebook, Subject};
use toolrail_core::{Principal, Role, ToolReach, ToolTraits};
use toolrail_identity::KeyView;

use crate::change_request::ChangeRequest;
use crate::failure::{Failure, json as json_answer};
use crate::{Admin, body};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainRequest {
    /// The tool.
    tool: String,
    /// The name of a key.
    #[serde(rename = "as")]
    key: String,
    /// What the tool would be called with; whether it is seen, if left out.
    arguments: Option<Map<String, Value>>,
}

/// What decided.
struct Decided {
    outcome: Outcome,
    by: &'static str,
    message: String,
    rules: Option<Explanation>,
}

pub(crate) async fn explain(
    State(admin): State<Admin>,
    change: ChangeRequest,
    request: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let ExplainRequest { tool, key, arguments } = body::parse_object(&bytes)?;
    let keys = super::keys::keys_of(&admin)?;
    let key = keys.keyring.show(change.tenant.as_deref(), &key).await.map_err(super::keys::failure)?;
    let viewer = match &key.tenant {
        Some(tenant) => Principal::of_tenant(tenant).unwrap_or_default(),
        None => Principal::Anonymous,
    };
    let snapshot = admin.registry.catalogue(&viewer);
    let found = snapshot.entry(&tool).filter(|entry| entry.enabled).and_then(|entry| entry.tool());
    let rulebook = admin.permissions.as_ref().map(|permissions| permissions.rulebook());
    let decided = match found {
        None => hidden(
            "catalogue",
            format!("there is no tool {tool:?} that can be called, for anybody of that tenant"),
        ),
        Some(tool) => decide(&tool.traits(), &key, rulebook, arguments.as_ref()),
    };
    let Decided { outcome, by, message, rules } = decided;
    Ok(json_answer(
        StatusCode::OK,
        &json!({
            "ok": true, "tool": tool, "as": key.name, "outcome": outcome, "decidedBy": by, "message": message,
            "rules": rules.map(|rules| rules.rules),
        }),
    ))
}

fn decide(
    tool: &ToolTraits<'_>,
    key: &KeyView,
    rulebook: Option<&Rulebook>,
    arguments: Option<&Map<String, Value>>,
) -> Decided {
    if key.expired {
        return hidden("key", format!("the key {:?} has expired", key.name));
    }
    if !key.tools.is_empty() && !ToolReach::new(&key.tools).has(tool.name) {
        return hidden("key", format!("the key {:?} sees only {}", key.name, key.tools.join(", ")));
    }
    let subject = Subject {
        name: Some(key.name.clone()),
        tenant: key.tenant.clone(),
        role: Some(key.role),
        groups: key.groups.clone(),
        scopes: key.scopes.clone(),
    };
    let rules = rulebook.map(|rulebook| rulebook.explain(&subject, tool, arguments));
    if let Some(rules) = rules
        .filter(|rules| matches!(rules.outcome, Outcome::Hidden | Outcome::Refused) || key.role >= Role::Call)
    {
        let message = match (&rules.rule, &rules.reason) {
            (Some(rule), Some(reason)) => format!("the rule {rule:?} decides: {reason}"),
            (Some(rule), None) => format!("the rule {rule:?} decides"),
            (None, _) => "no rule decides, so the default does".to_owned(),
        };
        let by = if rules.rule.is_some() { "rule" } else { "default" };
        return Decided { outcome: rules.outcome, by, message, rules: Some(rules) };
    }
    let outcome = match (arguments, key.role >= Role::Call) {
        (None, _) => Outcome::Seen,
        (Some(_), true) => Outcome::Allowed,
        (Some(_), false) => Outcome::Refused,
    };
    let message = format!("the role {} decides; there are no rules in the way", key.role.word());
    Decided { outcome, by: "role", message, rules: None }
}

fn hidden(by: &'static str, message: String) -> Decided {
    Decided { outcome: Outcome::Hidden, by, message, rules: None }
}
