//! What the store keeps of a call that waits for a person, and what people are told of it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolrail_core::{Principal, Record, rfc3339};

/// The kind of these records in the store.
pub(super) const KIND: &str = "approval";

/// How a call that needs approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    /// Nobody has decided.
    Pending,
    /// It may be made, once.
    Approved,
    /// It may not be made.
    Denied,
}

/// A call that needs approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRecord {
    /// By what people name it; no two ever have the same.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The tenant of whoever calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Who calls: what tells him from all others.
    pub(super) asker: String,
    /// His name.
    pub(super) asked_by: String,
    /// The digest of the tool, its definition and the arguments: of the very call that may be made.
    pub(super) call: String,
    /// The digest of the definition.
    pub version: String,
    /// The digest of the arguments.
    pub(super) arguments: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    /// Patterns of those who decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) by: Vec<String>,
    /// In seconds since 1970.
    pub(super) created: u64,
    /// Until when it may be decided, or is good once it was.
    pub(super) until: u64,
    /// How many seconds that is.
    pub(super) within: u64,
    /// How it stands.
    pub state: ApprovalState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) decided_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// What would be sent. Not kept in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shown: Option<Value>,
}

impl ApprovalRecord {
    pub(super) fn read(record: &Record) -> Option<Self> {
        serde_json::from_str(record.body.as_deref()?).ok()
    }

    pub(super) fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn is_over(&self) -> bool {
        self.until <= now()
    }

    /// What people are told.
    pub fn view(&self) -> ApprovalView<'_> {
        ApprovalView {
            id: &self.id,
            tool: &self.tool,
            tenant: self.tenant.as_deref(),
            status: self.state,
            asked_by: &self.asked_by,
            asked: told(self.created),
            until: told(self.until),
            message: self.message.as_deref(),
            by: &self.by,
            arguments_digest: &self.arguments,
            decided_by: self.decided_by.as_deref(),
            reason: self.reason.as_deref(),
            call: self.shown.as_ref(),
        }
    }
}

/// What people are told of a call that needs approval.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalView<'a> {
    /// By what it is named.
    pub id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The tenant of whoever calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<&'a str>,
    /// How it stands.
    pub status: ApprovalState,
    /// Who calls.
    pub asked_by: &'a str,
    /// Since when, RFC 3339.
    pub asked: String,
    /// Until when it may be decided; once it was, until when that is good.
    pub until: String,
    /// What the definition says to those who decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
    /// Who decides, if the definition says so.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub by: &'a [String],
    /// The SHA-256 of the arguments, which the audit record has too.
    pub arguments_digest: &'a str,
    /// Who decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<&'a str>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// The arguments, and the request that would be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<&'a Value>,
}

/// What tells somebody from all others.
pub(super) fn asker_of(principal: &Principal) -> &str {
    match principal {
        // No tenant has an empty name, nor one with a colon, which every id has.
        Principal::Anonymous => "",
        Principal::Member { tenant } => tenant,
        Principal::Known(identity) => &identity.id,
    }
}

/// Seconds since 1970, now.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

pub(super) fn told(seconds: u64) -> String {
    rfc3339(UNIX_EPOCH + Duration::from_secs(seconds))
}
