//! The audit record: every administrative change, each entry sealed with the hash of the one before, so that whoever
//! changes, removes or inserts one later is found out.

use async_trait::async_trait;
use ring::digest::{Context, SHA256};
use serde_json::{Map, Value};

use super::{Revision, StoreError};
use crate::difference::differences;

/// What the first entry is chained to.
pub const AUDIT_START: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One entry of the audit record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its place, from 1 without gaps.
    pub number: i64,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// Who.
    pub who: String,
    /// From which address, if known.
    pub address: Option<String>,
    /// By what way.
    pub via: String,
    /// What was done: `create`, `update`, `enable`, `disable`, `purge` to a definition; to anything else a word with a dot,
    /// such as `key.create`.
    pub action: String,
    /// Whose it is; everybody's if absent.
    pub tenant: Option<String>,
    /// The name of what it was done to, as it is stored.
    pub name: String,
    /// The revision that it led to, which is the number of the version that it made; where it made none, the one that was.
    pub revision: Revision,
    /// What became otherwise, as the JSON text that [`audit_changes`] gives.
    pub changes: String,
    /// The hash of the entry before, in hexadecimal.
    pub previous: String,
    /// The hash of this one.
    pub hash: String,
}

/// The newest entry, as the store remembers it beside the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditHead {
    /// Its number.
    pub number: i64,
    /// Its hash.
    pub hash: String,
}

/// A definition as it stood before or after a change.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// Whether it might be called.
    pub enabled: bool,
    /// The definition as JSON text.
    pub config_json: &'a str,
}

/// What a change made otherwise, as JSON text for [`AuditEntry::changes`]: the differences of the two definitions, with the
/// switch at `/enabled`. What is no JSON object stands at `/definition`.
pub fn audit_changes(before: Option<Standing<'_>>, after: Option<Standing<'_>>) -> String {
    let (before, after) = (before.map(document), after.map(document));
    serde_json::to_string(&differences(before.as_ref(), after.as_ref())).unwrap_or_default()
}

fn document(standing: Standing<'_>) -> Value {
    let text = standing.config_json;
    let mut members = match serde_json::from_str(text) {
        Ok(Value::Object(members)) => members,
        Ok(other) => Map::from_iter([("definition".to_owned(), other)]),
        Err(_) => Map::from_iter([("definition".to_owned(), Value::String(text.to_owned()))]),
    };
    members.insert("enabled".to_owned(), Value::Bool(standing.enabled));
    Value::Object(members)
}

impl Default for AuditHead {
    /// What is there before the first entry.
    fn default() -> Self {
        Self { number: 0, hash: AUDIT_START.to_owned() }
    }
}

impl AuditEntry {
    /// This entry as the one behind `head`: with the next number, the hash of the one before, and its own.
    #[must_use]
    pub fn chained_to(mut self, head: &AuditHead) -> Self {
        self.number = head.number + 1;
        self.previous.clone_from(&head.hash);
        self.hash = self.expected_hash();
        self
    }

    /// What the store is to remember when this is the newest entry.
    pub fn head(&self) -> AuditHead {
        AuditHead { number: self.number, hash: self.hash.clone() }
    }

    /// The hash that this entry must have: over every field, each with its length, so that none can flow into another.
    pub fn expected_hash(&self) -> String {
        let mut hash = Context::new(&SHA256);
        let mut field = |text: Option<&str>| {
            let length = text.map_or(u64::MAX, |text| text.len() as u64);
            hash.update(&length.to_be_bytes());
            hash.update(text.unwrap_or_default().as_bytes());
        };
        field(Some(&self.previous));
        field(Some(&self.number.to_string()));
        field(Some(&self.at));
        field(Some(&self.who));
        field(self.address.as_deref());
        field(Some(&self.via));
        field(Some(&self.action));
        field(self.tenant.as_deref());
        field(Some(&self.name));
        field(Some(&self.revision.to_string()));
        field(Some(&self.changes));
        hexadecimal(hash.finish().as_ref())
    }
}

/// Bytes in hexadecimal.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Follows the record from its first entry and finds where it was tampered with.
#[derive(Clone, Debug, Default)]
pub struct AuditCheck {
    last: AuditHead,
}

/// Where and how the record is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("entry {number}: {fault}")]
pub struct AuditBroken {
    /// The first entry that is wrong.
    pub number: i64,
    /// What is wrong about it.
    pub fault: &'static str,
}

impl AuditCheck {
    /// Takes the next entry.
    pub fn take(&mut self, entry: &AuditEntry) -> Result<(), AuditBroken> {
        let number = self.last.number + 1;
        let broken = |fault| Err(AuditBroken { number, fault });
        if entry.number != number {
            return broken("is missing: it was removed");
        }
        if entry.previous != self.last.hash {
            return broken("does not follow the entry before: one of them was replaced");
        }
        if entry.hash != entry.expected_hash() {
            return broken("was changed after it was written");
        }
        self.last = entry.head();
        Ok(())
    }

    /// The newest entry, once all were taken, if that is what the store remembers.
    pub fn finish(self, remembered: Option<&AuditHead>) -> Result<AuditHead, AuditBroken> {
        match remembered {
            Some(head) if *head != self.last => {
                let fault = "is missing or not the last: entries were removed from or added to the end";
                Err(AuditBroken { number: head.number, fault })
            }
            None if self.last.number > 0 => {
                Err(AuditBroken { number: self.last.number, fault: "the store does not remember it" })
            }
            _ => Ok(self.last),
        }
    }
}

/// The audit record of a store. It is written with the changes it is about, and only read here.
#[async_trait]
pub trait AuditStore: Send + Sync {
    /// Entries of the audit record after that number, oldest first.
    async fn audit(&self, after: i64, most: u32) -> Result<Vec<AuditEntry>, StoreError>;

    /// The newest entry of the audit record, kept apart from it.
    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(length: i64) -> Vec<AuditEntry> {
        let mut head = AuditHead::default();
        let entry = |revision: i64| {
            let entry = AuditEntry {
                number: 0,
                at: "2026-01-01T00:00:00Z".into(),
                who: "anna".into(),
                address: None,
                via: "cli".into(),
                action: "update".into(),
                tenant: None,
                name: "t".into(),
                revision,
                changes: "[]".into(),
                previous: String::new(),
                hash: String::new(),
            };
            let entry = entry.chained_to(&head);
            head = entry.head();
            entry
        };
        (1..=length).map(entry).collect()
    }

    fn check(entries: &[AuditEntry], head: Option<&AuditEntry>) -> Result<AuditHead, AuditBroken> {
        let mut check = AuditCheck::default();
        entries.iter().try_for_each(|entry| check.take(entry))?;
        check.finish(head.map(AuditEntry::head).as_ref())
    }

    #[test]
    fn an_untouched_record_is_whole_and_every_tampering_shows() {
        let whole = record(4);
        assert_eq!(check(&whole, whole.last()).unwrap().number, 4);
        assert_eq!(check(&[], None).unwrap().number, 0);
        let mut changed = whole.clone();
        changed[1].who = "eve".into();
        assert_eq!(check(&changed, changed.last()).unwrap_err().number, 2);
        changed[1].hash = changed[1].expected_hash();
        assert_eq!(check(&changed, changed.last()).unwrap_err().number, 3);
        let mut removed = whole.clone();
        removed.remove(1);
        assert_eq!(check(&removed, removed.last()).unwrap_err().number, 2);
        assert_eq!(check(&whole[..3], whole.last()).unwrap_err().number, 4);
        assert_eq!(check(&whole, whole.get(2)).unwrap_err().number, 3);
    }

    #[test]
    fn hashes_stay_as_they_are_for_ever() {
        assert_eq!(hexadecimal(&[0, 9, 10, 255]), "00090aff");
        let hash = record(1).remove(0).hash;
        assert_eq!(hash, "9ea6e64806697b7e49d75eb58b26fdf52bf2f9b818a6cc484ae38b5d5ee12d57");
    }

    #[test]
    fn text_cannot_move_from_one_field_to_the_next() {
        let mut one = record(1).remove(0);
        let (who, via) = (one.who.clone(), one.via.clone());
        one.who = format!("{who}{via}");
        one.via = String::new();
        assert_ne!(one.hash, one.expected_hash());
    }

    #[test]
    fn changes_tell_the_switch_beside_the_definition_whatever_that_is() {
        fn standing(enabled: bool, config_json: &str) -> Option<Standing<'_>> {
            Some(Standing { enabled, config_json })
        }
        let told = |before, after| audit_changes(before, after);
        assert_eq!(
            told(standing(true, r#"{"a":1}"#), standing(false, r#"{"a":2}"#)),
            r#"[{"pointer":"/a","before":1,"after":2},{"pointer":"/enabled","before":true,"after":false}]"#
        );
        assert_eq!(
            told(None, standing(true, r#"{"a":1}"#)),
            r#"[{"pointer":"","after":{"a":1,"enabled":true}}]"#
        );
        assert_eq!(
            told(standing(true, "no json"), standing(true, "5")),
            r#"[{"pointer":"/definition","before":"no json","after":5}]"#
        );
        assert_eq!(
            told(standing(true, r#"{"enabled":false}"#), None),
            r#"[{"pointer":"","before":{"enabled":true}}]"#
        );
        assert_eq!(told(standing(true, r#"{"a":1,"b":2}"#), standing(true, r#"{"b":2,"a":1}"#)), "[]");
    }
}
