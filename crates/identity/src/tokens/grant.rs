//! What the claims of a token give its holder: the first rule that fits decides.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolrail_core::{Ending, Identity, NamePattern, Principal, Role, ToolReach};

use super::jwt::{value_at, words_at};

/// What the ids of those begin with who are known by a token.
pub(super) const ID_PREFIX: &str = "token:";
/// The most groups of one holder that are kept; a token that names more was made for others.
const MOST_GROUPS: usize = 256;

/// Which claims say who somebody is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClaimNames {
    /// The name for people, by which rules know them too; `sub` when left out, which nobody can choose for himself.
    pub name: Option<String>,
    /// The tenant; of no tenant when left out.
    pub tenant: Option<String>,
    /// The groups; `groups` when left out.
    pub groups: String,
}

impl Default for ClaimNames {
    fn default() -> Self {
        Self { name: None, tenant: None, groups: "groups".to_owned() }
    }
}

/// One rule: whoever has that claim and those scopes has that role.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Grant {
    /// A claim, such as `realm_access.roles`.
    pub claim: Option<String>,
    /// What it must say, or, if it is a list, have: a pattern with `*` and `?`.
    pub value: Option<String>,
    /// Scopes that the token must have, all of them.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// What the holder may do.
    pub role: Role,
    /// His tenant, where `claims.tenant` names no claim that says it.
    pub tenant: Option<String>,
    /// Patterns of the names of tools that he sees; all when left out.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Groups that he is in beside those of the token.
    #[serde(default)]
    pub groups: Vec<String>,
}

impl Grant {
    fn fits(&self, claims: &Map<String, Value>, scopes: &[&str]) -> bool {
        let pattern = self.value.as_deref().map(NamePattern::exact);
        let has_claim = self.claim.as_deref().is_none_or(|path| {
            let words = words_at(claims, path);
            words.iter().any(|word| pattern.as_ref().is_none_or(|pattern| pattern.fits(word)))
        });
        has_claim && self.scopes.iter().all(|scope| scopes.contains(&scope.as_str()))
    }

    /// What cannot be meant.
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.value.is_some() && self.claim.is_none() {
            return Some("has a value, but no claim that should have it; add claim");
        }
        if !self.tools.is_empty() && self.role > Role::Call {
            return Some(
                "limits the tools of a role that changes definitions; leave tools out, or use read or call",
            );
        }
        let tenant = self.tenant.as_deref().map(Principal::of_tenant).transpose();
        tenant
            .is_err()
            .then_some("names a tenant that is none: 1 to 64 letters, digits, dots, dashes and underscores")
    }
}

/// Why a token that is good gives nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoGrant {
    /// No rule fits.
    NoRule,
    /// What it says of the tenant or the groups cannot be used.
    Claim(String),
    /// It does not say whose it is.
    NoSubject,
}

/// Who the holder of a token with those claims is.
pub(super) fn identity_of(
    issuer: &str,
    claims: &Map<String, Value>,
    (names, grants): (&ClaimNames, &[Grant]),
) -> Result<Identity, NoGrant> {
    let text = |claim: &str| words_at(claims, claim).first().copied().filter(|text| !text.is_empty());
    let subject = text("sub").ok_or(NoGrant::NoSubject)?;
    let mut scopes = words_at(claims, "scope");
    scopes.extend(words_at(claims, "scp"));
    let grant = grants.iter().find(|grant| grant.fits(claims, &scopes)).ok_or(NoGrant::NoRule)?;
    let tenant = match &names.tenant {
        Some(claim) => Some(only_text(claims, claim).ok_or_else(|| {
            // Of no tenant would mean: over all of them.
            NoGrant::Claim(format!("the token names no tenant, or several ({claim})"))
        })?),
        None => grant.tenant.as_deref(),
    };
    let tenant = match tenant {
        Some(name) => {
            let member = Principal::of_tenant(name).map_err(|wrong| NoGrant::Claim(wrong.to_string()))?;
            member.shared_tenant().cloned()
        }
        None => None,
    };
    let name = names.name.as_deref().and_then(text);
    let groups = groups_of(claims, &names.groups)?.into_iter().map(str::to_owned);
    let groups: Vec<String> = grant.groups.iter().cloned().chain(groups).collect();
    if groups.len() > MOST_GROUPS {
        return Err(NoGrant::Claim(format!("the token names more than {MOST_GROUPS} groups")));
    }
    Ok(Identity {
        id: format!("{ID_PREFIX}{issuer}|{subject}").into(),
        name: name.unwrap_or(subject).chars().take(128).collect(),
        tenant,
        role: grant.role,
        groups,
        scopes: scopes.into_iter().take(MOST_GROUPS).map(str::to_owned).collect(),
        reach: (!grant.tools.is_empty()).then(|| Arc::new(ToolReach::new(&grant.tools))),
        ending: Ending::default(),
    })
}

/// What a claim says that has one text.
fn only_text<'c>(claims: &'c Map<String, Value>, claim: &str) -> Option<&'c str> {
    match words_at(claims, claim).as_slice() {
        [only] if !only.is_empty() => Some(only),
        _ => None,
    }
}

/// The groups of a token. What cannot be read is not left out: somebody may be refused something because of a group.
fn groups_of<'c>(claims: &'c Map<String, Value>, path: &str) -> Result<Vec<&'c str>, NoGrant> {
    let is_readable = |value: &Value| match value {
        Value::Null | Value::String(_) => true,
        Value::Array(list) => list.iter().all(Value::is_string),
        _ => false,
    };
    if !value_at(claims, path).is_none_or(is_readable) {
        return Err(NoGrant::Claim(format!("the groups of the token ({path}) are not a list of texts")));
    }
    Ok(words_at(claims, path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn grants(list: Value) -> Vec<Grant> {
        serde_json::from_value(list).unwrap()
    }

    fn found(claims: Value, names: &ClaimNames, grants: &[Grant]) -> Result<Identity, NoGrant> {
        identity_of("https://i", claims.as_object().unwrap(), (names, grants))
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let grants = grants(json!([
            {"claim": "realm_access.roles", "value": "toolrail-admin*", "role": "admin"},
            {"scopes": ["tools.call"], "role": "call", "tools": ["weather.*"], "groups": ["outside"]},
            {"claim": "email", "role": "read"},
        ]));
        let names = ClaimNames { name: Some("email".to_owned()), ..ClaimNames::default() };
        let all =
            json!({"sub": "u", "realm_access": {"roles": ["x", "toolrail-admins"]}, "scope": "tools.call"});
        let admin = found(all, &names, &grants).unwrap();
        assert_eq!((admin.role, admin.reach.is_none(), &*admin.id), (Role::Admin, true, "token:https://i|u"));
        let caller = json!({"sub": "u", "scope": "a tools.call", "groups": ["g"], "email": "ann"});
        let caller = found(caller, &names, &grants).unwrap();
        assert_eq!((caller.role, caller.name.as_str()), (Role::Call, "ann"));
        assert_eq!(
            (caller.groups, caller.scopes),
            (vec!["outside".into(), "g".into()], vec!["a".into(), "tools.call".into()])
        );
        assert!(caller.reach.unwrap().has("weather.now"));
        assert_eq!(found(json!({"sub": "u", "email": "e"}), &names, &grants).unwrap().role, Role::Read);
        assert_eq!(found(json!({"sub": "u"}), &names, &grants).unwrap_err(), NoGrant::NoRule);
        assert_eq!(found(json!({"email": "e"}), &names, &grants).unwrap_err(), NoGrant::NoSubject);
    }

    #[test]
    fn whose_tenant_must_be_claimed_is_of_no_other_and_never_of_none() {
        let names = ClaimNames { tenant: Some("org".to_owned()), ..ClaimNames::default() };
        let grants = grants(json!([{"role": "call"}]));
        let tenant = |claims| found(claims, &names, &grants).map(|identity| identity.tenant);
        assert_eq!(tenant(json!({"sub": "u", "org": "acme"})), Ok(Some("acme".into())));
        assert!(matches!(tenant(json!({"sub": "u"})), Err(NoGrant::Claim(_))));
        assert!(matches!(tenant(json!({"sub": "u", "org": "a/b"})), Err(NoGrant::Claim(_))));
        assert!(matches!(tenant(json!({"sub": "u", "org": ["acme", "globex"]})), Err(NoGrant::Claim(_))));
    }

    #[test]
    fn groups_that_cannot_be_read_are_not_left_out() {
        let (names, grants) =
            (ClaimNames::default(), grants(json!([{"role": "call", "value": "Ops", "claim": "dept"}])));
        let found = |groups: Value, dept: &str| {
            found(json!({"sub": "u", "dept": dept, "groups": groups}), &names, &grants)
        };
        assert!(found(json!("one"), "Ops").is_ok() && found(json!(null), "Ops").is_ok());
        assert_eq!(
            found(json!([]), "OPS").unwrap_err(),
            NoGrant::NoRule,
            "values are compared in their case"
        );
        let many: Vec<String> = (0..257).map(|number| format!("g{number}")).collect();
        for groups in [json!({"lim": 1}), json!([{"name": "lim"}]), json!(["a", 1]), json!(many)] {
            assert!(matches!(found(groups.clone(), "Ops"), Err(NoGrant::Claim(_))), "{groups}");
        }
    }
}
