//! What the store keeps of a key, and what people are told of it.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use toolrail_core::{Ending, Identity, Record, Role, ToolReach, rfc3339};

/// The kind of these records in the store.
pub(crate) const KIND: &str = "key";
/// The kind of the records that tell when keys were last used.
pub(crate) const USE_KIND: &str = "key_use";
/// The name of whoever administers this machine, in the audit record; no key has it.
pub(crate) const OPERATOR: &str = "operator";
/// The longest name of a key, in characters.
const LONGEST_NAME: usize = 64;

/// A text that names no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not the name of a key; it has 1 to 64 letters, digits, dots, dashes and underscores, begins with a letter or digit, and is not \"operator\""
)]
pub struct WrongName(String);

/// A key, without what its holder has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeyRecord {
    pub(crate) name: String,
    /// No two keys ever have the same, also not one of the same name that is made later.
    pub(crate) uid: String,
    pub(crate) role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<String>,
    /// Patterns of the names of tools; all if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<String>,
    /// By which rules may know it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) groups: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) scopes: Vec<String>,
    /// In seconds since 1970.
    pub(crate) created: u64,
    pub(crate) created_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
    /// The newest first.
    pub(crate) secrets: Vec<SecretRecord>,
}

/// One text by which a key is known: after a rotation there are two for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SecretRecord {
    /// The keyed hash, in hexadecimal.
    pub(crate) hash: String,
    /// Until when it is good, if not as long as the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<u64>,
}

impl KeyRecord {
    pub(crate) fn read(record: &Record) -> Option<Self> {
        serde_json::from_str(record.body.as_deref()?).ok()
    }

    pub(crate) fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Under what it is kept.
    pub(crate) fn id(&self) -> String {
        id_of(self.tenant.as_deref(), &self.name)
    }

    /// Whether this is the same key, with the same rights.
    pub(crate) fn has_rights_of(&self, other: &Self) -> bool {
        let lists = |key: &Self| [key.tools.clone(), key.groups.clone(), key.scopes.clone()];
        let rights = |key: &Self| (key.uid.clone(), key.role, key.tenant.clone(), lists(key), key.expires);
        rights(self) == rights(other)
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity {
            id: format!("key:{}", self.uid).into(),
            name: self.name.clone(),
            tenant: self.tenant.as_deref().map(Into::into),
            role: self.role,
            groups: self.groups.clone(),
            scopes: self.scopes.clone(),
            ending: Ending::default(),
            reach: (!self.tools.is_empty()).then(|| Arc::new(ToolReach::new(&self.tools))),
        }
    }
}

/// Under what the key of that name is kept. Neither a tenant nor a key has a slash in its name.
pub(crate) fn id_of(tenant: Option<&str>, name: &str) -> String {
    format!("{}/{name}", tenant.unwrap_or_default())
}

/// Refuses what is no name.
pub(crate) fn check_name(name: &str) -> Result<(), WrongName> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let begins_well = name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    let is_taken = name.eq_ignore_ascii_case(OPERATOR);
    if !begins_well || is_taken || name.len() > LONGEST_NAME || !name.bytes().all(plain) {
        return Err(WrongName(name.chars().take(80).collect()));
    }
    Ok(())
}

/// What people are told of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    /// Its name.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// Its tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Which tools it sees; all if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The groups it is in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Its scopes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// When it was made, RFC 3339.
    pub created: String,
    /// By whom.
    pub created_by: String,
    /// Until when it is good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Whether it is good no more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// When it was last used, give or take a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used: Option<String>,
    /// Until when the text before the last rotation is good too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotating_until: Option<String>,
}

impl KeyView {
    pub(crate) fn of(record: &KeyRecord, last_used: Option<u64>, now: u64) -> Self {
        let until =
            record.secrets.iter().filter_map(|secret| secret.until).filter(|until| *until > now).max();
        Self {
            name: record.name.clone(),
            role: record.role,
            tenant: record.tenant.clone(),
            tools: record.tools.clone(),
            groups: record.groups.clone(),
            scopes: record.scopes.clone(),
            created: told(record.created),
            created_by: record.created_by.clone(),
            expires: record.expires.map(told),
            expired: record.expires.is_some_and(|expires| expires <= now),
            last_used: last_used.map(told),
            rotating_until: until.map(told),
        }
    }
}

/// Seconds since 1970, now.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A moment for people.
pub(crate) fn told(seconds: u64) -> String {
    rfc3339(UNIX_EPOCH + Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_a_short_plain_name() {
        for good in ["ci", "Agent_1.eu-west", &"x".repeat(64)] {
            assert_eq!(check_name(good), Ok(()));
        }
        for bad in ["", "..", "-x", "_x", "Operator", "a b", "a/b", "schlüssel", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
