//! The audit record: reading it, and finding out whether it, or what it tells of, was tampered with.

use std::collections::BTreeSet;

use toolrail_core::{AuditBroken, AuditCheck, AuditEntry, AuditHead, Revision, ToolKey, ToolName};

use super::Changes;
use super::contradiction::Contradiction;
use super::contradictions::key_of;
use super::error::WriteError;
use super::stored_form::{form_of_row, form_of_version};

/// How many entries are read at once.
const PAGE: u32 = 1_000;
/// The most of those that are looked through for the entries of one tenant.
const MOST_PAGES: usize = 200;
/// The most definitions that are named as changed behind the record.
const MOST_STRAYS: usize = 100;

/// What a look at the whole record found.
#[derive(Clone, Debug)]
pub struct AuditReport {
    /// How many entries were read.
    pub entries: i64,
    /// The newest entry, if the record is whole. Noted elsewhere, it shows whether the record was made anew.
    pub head: Option<AuditHead>,
    /// Where the record is broken.
    pub broken: Option<AuditBroken>,
    /// Whether the hash that was noted elsewhere is in the record; none if there was none to look for.
    pub noted: Option<Noted>,
    /// Versions that contradict the record. Not looked for while the record is broken.
    pub contradictions: Vec<Contradiction>,
    /// Definitions that are otherwise than their newest version says.
    pub strays: Vec<Stray>,
}

/// What became of a hash that somebody noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// It is that of this entry.
    At(i64),
    /// No entry has it.
    Missing,
}

/// A definition that was changed without leaving a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// Which.
    pub tool: ToolKey,
    /// What is wrong.
    pub fault: &'static str,
}

impl AuditReport {
    /// Whether nothing was tampered with, as far as can be seen.
    pub fn is_good(&self) -> bool {
        self.broken.is_none()
            && self.contradictions.is_empty()
            && self.strays.is_empty()
            && self.noted != Some(Noted::Missing)
    }
}

impl Changes {
    /// Entries of the audit record after that number, oldest first, only those of one tenant if one is named; and after
    /// which to go on if there may be more.
    pub async fn audit(
        &self,
        tenant: Option<&str>,
        after: i64,
        most: u32,
    ) -> Result<(Vec<AuditEntry>, Option<i64>), WriteError> {
        let store = &self.store;
        let (wanted, mut found, mut last) = (usize::try_from(most).unwrap_or(usize::MAX), Vec::new(), after);
        let portion = if tenant.is_some() { PAGE } else { most };
        for _ in 0..MOST_PAGES {
            let page = store.audit(last, portion).await?;
            let is_last = u32::try_from(page.len()).is_ok_and(|length| length < portion);
            last = page.last().map_or(last, |entry| entry.number);
            found.extend(page.into_iter().filter(|entry| is_of(entry, tenant)));
            if found.len() >= wanted {
                found.truncate(wanted);
                last = found.last().map_or(last, |entry: &AuditEntry| entry.number);
                break;
            }
            if is_last {
                return Ok((found, None));
            }
        }
        Ok((found, Some(last)))
    }

    /// The newest entries, of one tenant if one is named, the oldest of them first.
    pub async fn newest_audit(&self, tenant: Option<&str>, most: u32) -> Result<Vec<AuditEntry>, WriteError> {
        let store = &self.store;
        let wanted = usize::try_from(most).unwrap_or(usize::MAX);
        let portion = if tenant.is_some() { PAGE } else { most };
        let mut last = store.audit_head().await?.map_or(0, |head| head.number);
        let mut found = Vec::new();
        // Numbers have no gaps.
        for _ in 0..MOST_PAGES {
            let after = (last - i64::from(portion)).max(0);
            let page = store.audit(after, portion).await?;
            let of_tenant =
                page.into_iter().rev().filter(|entry| entry.number <= last && is_of(entry, tenant));
            found.extend(of_tenant);
            last = after;
            if found.len() >= wanted || last == 0 {
                break;
            }
        }
        found.truncate(wanted);
        found.reverse();
        Ok(found)
    }

    /// The newest entry, as the store remembers it.
    pub async fn audit_head(&self) -> Result<Option<AuditHead>, WriteError> {
        Ok(self.store.audit_head().await?)
    }

    /// Follows the whole record, looks for a hash that was noted earlier, and compares every version with the record
    /// and every definition with its newest version.
    pub async fn verify_audit(&self, noted: Option<&str>) -> Result<AuditReport, WriteError> {
        let mut report = AuditReport {
            entries: 0,
            head: None,
            broken: None,
            noted: noted.map(|_| Noted::Missing),
            contradictions: Vec::new(),
            strays: Vec::new(),
        };
        match self.follow_record(noted, &mut report).await? {
            Ok(head) => {
                report.contradictions = self.contradictions(head.number).await?;
                report.head = Some(head);
            }
            Err(broken) => report.broken = Some(broken),
        }
        report.strays = self.strays().await?;
        Ok(report)
    }

    /// Follows the record up to the head that the store has at the start, whatever is entered meanwhile.
    async fn follow_record(
        &self,
        noted: Option<&str>,
        report: &mut AuditReport,
    ) -> Result<Result<AuditHead, AuditBroken>, WriteError> {
        let store = &self.store;
        let head = store.audit_head().await?;
        let last = head.as_ref().map_or(0, |head| head.number);
        let mut check = AuditCheck::default();
        while report.entries < last {
            let page = store.audit(report.entries, PAGE).await?;
            if page.is_empty() {
                break;
            }
            for entry in page.iter().take_while(|entry| entry.number <= last) {
                if let Err(broken) = check.take(entry) {
                    return Ok(Err(broken));
                }
                report.entries = entry.number;
                if noted.is_some_and(|noted| noted.eq_ignore_ascii_case(&entry.hash)) {
                    report.noted = Some(Noted::At(entry.number));
                }
            }
            // The next number there is lies beyond the head: the rest was removed.
            if page.first().is_some_and(|entry| entry.number > last) {
                break;
            }
        }
        let finished = check.finish(head.as_ref());
        if finished.is_ok() && !store.audit(last, 1).await?.is_empty() && store.audit_head().await? == head {
            let fault = "was added without the store knowing of it";
            return Ok(Err(AuditBroken { number: last + 1, fault }));
        }
        Ok(finished)
    }

    /// Definitions that were changed behind the back of the triggers that keep versions.
    async fn strays(&self) -> Result<Vec<Stray>, WriteError> {
        let store = &self.store;
        let at = store.revision().await?;
        if at == 0 {
            return Ok(Vec::new());
        }
        let versions = store.state_at(at).await?;
        let (_, mut rows) = self.rows().await?;
        // What changed since is left alone: its version is newer than those that were read.
        let since = self.keys_changed_since(at).await?;
        let mut strays = Vec::new();
        for version in versions {
            let tool = key_of(&version);
            let row = rows.remove(&tool).filter(|row| row.version <= at);
            if since.contains(&tool) {
                continue;
            }
            let fault = match row {
                None => Some("was removed without leaving a version"),
                Some(row) if Some(form_of_row(&row)) != form_of_version(&version) => {
                    Some("is otherwise than its newest version says")
                }
                Some(_) => None,
            };
            strays.extend(fault.map(|fault| Stray { tool, fault }));
        }
        let unknown = rows.into_iter().filter(|(key, row)| row.version <= at && !since.contains(key));
        strays.extend(unknown.map(|(tool, _)| Stray { tool, fault: "was added without leaving a version" }));
        strays.truncate(MOST_STRAYS);
        Ok(strays)
    }

    async fn keys_changed_since(&self, at: Revision) -> Result<BTreeSet<ToolKey>, WriteError> {
        let store = &self.store;
        let (mut revision, mut keys) = (at, BTreeSet::new());
        loop {
            let changes = store.changes_since(revision).await?;
            keys.extend(changes.removed);
            let key =
                |row: toolrail_core::Row| ToolKey { name: ToolName::fold(&row.name), tenant: row.tenant };
            keys.extend(changes.rows.into_iter().map(key));
            if !changes.more || changes.revision <= revision {
                return Ok(keys);
            }
            revision = changes.revision;
        }
    }
}

fn is_of(entry: &AuditEntry, tenant: Option<&str>) -> bool {
    tenant.is_none() || entry.tenant.as_deref() == tenant
}
