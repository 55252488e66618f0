//! `POST /admin/explain`: whether somebody sees and may call a tool, and what decides that.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolrail_access::{Explanation, Outcome, Permissions, RuleSource, Subject};
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
    /// Who would call it.
    #[serde(rename = "as")]
    who: WhoCalls,
    /// What the tool would be called with; whether it is seen, if left out.
    arguments: Option<Map<String, Value>>,
}

/// Somebody, by his key or by what a token or a certificate says of him.
#[derive(Deserialize)]
#[serde(untagged)]
enum WhoCalls {
    /// The name of a key.
    Key(String),
    Person(PersonRequest),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PersonRequest {
    name: String,
    role: Role,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    scopes: Vec<String>,
}

impl PersonRequest {
    /// A key that gives as much.
    fn into_key(self, tenant: Option<String>) -> KeyView {
        let Self { name, role, groups, scopes } = self;
        KeyView {
            name,
            role,
            tenant,
            tools: Vec::new(),
            groups,
            scopes,
            created: String::new(),
            created_by: String::new(),
            expires: None,
            expired: false,
            last_used: None,
            rotating_until: None,
        }
    }
}

/// What decided.
struct Decided {
    outcome: Outcome,
    by: &'static str,
    message: String,
    rules: Option<Vec<(RuleSource, Explanation)>>,
}

pub(crate) async fn explain(
    State(admin): State<Admin>,
    change: ChangeRequest,
    request: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let ExplainRequest { tool, who, arguments } = body::parse_object(&bytes)?;
    let key = match who {
        WhoCalls::Person(person) => person.into_key(change.tenant.clone()),
        WhoCalls::Key(name) => {
            let keys = super::keys::keys_of(&admin)?;
            keys.keyring.show(change.tenant.as_deref(), &name).await.map_err(super::keys::failure)?
        }
    };
    let viewer = match &key.tenant {
        Some(tenant) => Principal::of_tenant(tenant).unwrap_or_default(),
        None => Principal::Anonymous,
    };
    let snapshot = admin.registry.catalogue(&viewer);
    let found = snapshot.entry(&tool).filter(|entry| entry.enabled).and_then(|entry| entry.tool());
    let rules = super::permissions::rules_of(&admin).await?;
    let decided = match found {
        None => hidden(
            "catalogue",
            format!("there is no tool {tool:?} that can be called, for anybody of that tenant"),
        ),
        Some(tool) => decide(&tool.traits(), &key, &rules.permissions, arguments.as_ref()),
    };
    let Decided { outcome, by, message, rules } = decided;
    Ok(json_answer(
        StatusCode::OK,
        &json!({
            "ok": true, "tool": tool, "as": key.name, "outcome": outcome, "decidedBy": by, "message": message,
            "rules": rules.as_deref().map(findings),
        }),
    ))
}

fn decide(
    tool: &ToolTraits<'_>,
    key: &KeyView,
    permissions: &Permissions,
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
    let rules = permissions.explain(&subject, tool, arguments);
    // Both have to allow, and what one hides is hidden.
    let strictest = rules.iter().max_by_key(|(_, said)| strictness(said));
    if let Some((source, said)) = strictest.filter(|(_, said)| {
        matches!(said.outcome, Outcome::Hidden | Outcome::Refused) || key.role >= Role::Call
    }) {
        let place = match source {
            RuleSource::Configuration => "",
            RuleSource::Store => " of the store",
        };
        let message = match (&said.rule, &said.reason) {
            (Some(rule), Some(reason)) => format!("the rule {rule:?}{place} decides: {reason}"),
            (Some(rule), None) => format!("the rule {rule:?}{place} decides"),
            (None, _) => format!("no rule{place} decides, so the default does"),
        };
        let by = if said.rule.is_some() { "rule" } else { "default" };
        return Decided { outcome: said.outcome, by, message, rules: Some(rules) };
    }
    let outcome = match (arguments, key.role >= Role::Call) {
        (None, _) => Outcome::Seen,
        (Some(_), true) => Outcome::Allowed,
        (Some(_), false) => Outcome::Refused,
    };
    let message = format!("the role {} decides; there are no rules in the way", key.role.word());
    Decided { outcome, by: "role", message, rules: None }
}

/// How much a document of rules keeps from somebody; of two that keep nothing, a rule says more than a default.
fn strictness(said: &Explanation) -> (u8, bool) {
    let kept = match said.outcome {
        Outcome::Hidden => 2,
        Outcome::Refused => 1,
        Outcome::Allowed | Outcome::Seen => 0,
    };
    (kept, said.rule.is_some())
}

/// Every rule, and where it stands.
fn findings(rules: &[(RuleSource, Explanation)]) -> Vec<Value> {
    let of_one = |(source, said): &(RuleSource, Explanation)| {
        let with_source = |mut finding: Value| {
            finding["source"] = json!(source);
            finding
        };
        said.rules.iter().map(|finding| with_source(json!(finding))).collect::<Vec<_>>()
    };
    rules.iter().flat_map(of_one).collect()
}

fn hidden(by: &'static str, message: String) -> Decided {
    Decided { outcome: Outcome::Hidden, by, message, rules: None }
}
