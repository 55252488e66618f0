//! `GET /admin/doctor`: what is open, and what else an operator should know.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::json;
use toolrail_core::{Principal, Role};
use toolrail_identity::KeyView;

use crate::Admin;
use crate::failure::{Failure, json as json_answer};

/// How long before its end a key is worth a word.
const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);
/// After what time a key that nobody uses is worth one.
const UNUSED: SignedDuration = SignedDuration::from_hours(90 * 24);
/// How many names a sentence has.
const MOST_NAMES: usize = 5;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingLevel {
    /// Somebody elsewhere can do something that he should be asked for.
    Open,
    /// It may be meant, and should be known.
    Warning,
    /// Something to know.
    Note,
    /// All is well.
    Good,
}

/// Something an operator should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How grave it is.
    pub level: FindingLevel,
    /// What it is about, for programs.
    pub about: &'static str,
    /// What there is to know.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Finding {
    /// That something is as it should be.
    pub fn good(about: &'static str, message: impl Into<String>) -> Self {
        Self { level: FindingLevel::Good, about, message: message.into(), advice: None }
    }

    /// Something else, and what to do about it.
    pub fn new(
        level: FindingLevel,
        about: &'static str,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { level, about, message: message.into(), advice: Some(advice.into()) }
    }
}

pub(crate) async fn doctor(State(admin): State<Admin>) -> Result<Response, Failure> {
    let mut findings = match &admin.exposure {
        Some(exposure) => exposure.as_ref().clone(),
        None => vec![Finding::new(
            FindingLevel::Note,
            "gateway",
            "no gateway runs here, so only the store was looked at",
            "start one with `toolrail serve`, or name one with --url",
        )],
    };
    if let Some(keys) = &admin.keys {
        let keys = keys.keyring.list(None).await.map_err(super::keys::failure)?;
        findings.extend(about_keys(&keys, Timestamp::now()));
    }
    findings.extend(about_definitions(&admin));
    findings.sort_by_key(|finding| finding.level);
    Ok(json_answer(StatusCode::OK, &json!({"findings": findings})))
}

fn about_keys(keys: &[KeyView], now: Timestamp) -> Vec<Finding> {
    let age = |text: &str| text.parse::<Timestamp>().ok().map(|then| now.duration_since(then));
    let names = |fits: &dyn Fn(&KeyView) -> bool| {
        let fitting = keys.iter().filter(|key| !key.expired && fits(key));
        listed(&fitting.map(|key| key.name.as_str()).collect::<Vec<_>>())
    };
    let ends_soon = |key: &KeyView| {
        let left = key.expires.as_deref().and_then(age).map(|age| -age);
        left.is_some_and(|left| left < SOON)
    };
    let is_unused = |key: &KeyView| {
        let last = key.last_used.as_ref().unwrap_or(&key.created);
        age(last).is_some_and(|age| age > UNUSED)
    };
    let lasting = names(&|key| key.expires.is_none() && key.role == Role::Admin);
    let ending = names(&ends_soon);
    let unused = names(&is_unused);
    let mut findings = Vec::new();
    if let Some(names) = lasting {
        let advice = "make administrators keys that end (--expires 90d), and revoke these";
        let message = format!("keys of the role admin that never expire: {names}");
        findings.push(Finding::new(FindingLevel::Note, "keys", message, advice));
    }
    if let Some(names) = ending {
        let message = format!("keys that expire within 14 days: {names}");
        let advice = "make new ones with `toolrail keys create`, and hand them over before that";
        findings.push(Finding::new(FindingLevel::Warning, "keys", message, advice));
    }
    if let Some(names) = unused {
        let message = format!("keys that nobody used for 90 days: {names}");
        findings.push(Finding::new(FindingLevel::Note, "keys", message, "revoke what nobody needs"));
    }
    findings
}

fn about_definitions(admin: &Admin) -> Vec<Finding> {
    let snapshot = admin.registry.catalogue(&Principal::Anonymous);
    let mut findings = Vec::new();
    let problems = snapshot.problem_count();
    if problems > 0 {
        let plural = if problems == 1 { "" } else { "s" };
        let message = format!("{problems} problem{plural} of definitions");
        let advice =
            "`toolrail tools problems` lists them; credentials written into definitions are among them";
        findings.push(Finding::new(FindingLevel::Warning, "definitions", message, advice));
    }
    if let Some(failure) = admin.registry.write_failure() {
        let message = format!("the store cannot be written since {}: {}", failure.since, failure.reason);
        let advice = "nothing can be registered, and no key revoked, until it can";
        findings.push(Finding::new(FindingLevel::Warning, "store", message, advice));
    }
    let failing = snapshot.sources.iter().filter(|source| source.failure.is_some());
    let failing: Vec<&str> = failing.map(|source| source.description.as_str()).collect();
    if let Some(names) = listed(&failing) {
        let advice = "what they had last is served; `/readyz` says more";
        findings.push(Finding::new(
            FindingLevel::Warning,
            "sources",
            format!("cannot be read: {names}"),
            advice,
        ));
    }
    findings
}

/// The first of some names, and how many more there are; nothing if there are none.
fn listed(names: &[&str]) -> Option<String> {
    let shown = names.get(..names.len().min(MOST_NAMES))?.join(", ");
    match names.len() {
        0 => None,
        count if count > MOST_NAMES => Some(format!("{shown} and {} more", count - MOST_NAMES)),
        _ => Some(shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, role: Role, expires: Option<&str>, last_used: Option<&str>) -> KeyView {
        KeyView {
            name: name.to_owned(),
            role,
            tenant: None,
            tools: Vec::new(),
            groups: Vec::new(),
            scopes: Vec::new(),
            created: "2026-01-01T00:00:00Z".to_owned(),
            created_by: "anna".to_owned(),
            expires: expires.map(str::to_owned),
            expired: false,
            last_used: last_used.map(str::to_owned),
            rotating_until: None,
        }
    }

    #[test]
    fn keys_that_end_soon_never_or_are_not_used_are_told_by_their_names() {
        let now = "2026-06-01T00:00:00Z".parse().unwrap();
        let lately = Some("2026-05-30T00:00:00Z");
        let keys = [
            key("root", Role::Admin, None, lately),
            key("soon", Role::Call, Some("2026-06-10T00:00:00Z"), lately),
            key("later", Role::Admin, Some("2026-08-10T00:00:00Z"), lately),
            key("dusty", Role::Call, None, Some("2026-02-01T00:00:00Z")),
            key("never", Role::Call, None, None),
        ];
        let messages: Vec<String> = about_keys(&keys, now).into_iter().map(|told| told.message).collect();
        assert_eq!(
            messages,
            [
                "keys of the role admin that never expire: root",
                "keys that expire within 14 days: soon",
                "keys that nobody used for 90 days: dusty, never",
            ]
        );
        assert!(about_keys(&[key("fine", Role::Call, None, lately)], now).is_empty());
    }

    #[test]
    fn many_names_are_counted() {
        assert_eq!(listed(&[]), None);
        assert_eq!(listed(&["a", "b"]).as_deref(), Some("a, b"));
        assert_eq!(listed(&["a"; 7]).as_deref(), Some("a, a, a, a, a and 2 more"));
    }
}
