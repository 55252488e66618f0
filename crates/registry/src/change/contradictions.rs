//! Versions that contradict the audit record: somebody changed the history of what was written. Versions that other
//! programs wrote have no entry in the record, and cannot be judged.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use toolrail_core::{
    AuditEntry, AuditStore, HistoryQuery, Revision, Standing, ToolKey, ToolName, Version, VersionKind,
    audit_changes,
};

use super::Changes;
use super::contradiction::{Contradiction, HistoryFault};
use super::error::WriteError;

/// How many versions, or entries, are read at once.
const PAGE: u32 = 1_000;
/// The most that are named.
const MOST: usize = 100;

/// What the record says of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VersionVerdict {
    /// Nothing: another program wrote it.
    Unknown,
    /// What was changed is so; the rest cannot be seen, as the version before is not kept.
    PartlySo,
    So,
    NotSo,
}

impl Changes {
    /// Every version that contradicts the first `entries` entries of the record, which must be whole.
    pub(crate) async fn contradictions(&self, entries: i64) -> Result<Vec<Contradiction>, WriteError> {
        let store = &self.store;
        let mut record = Backwards { store: &**store, last: entries, page: Vec::new() };
        let mut walk = HistoryWalk::default();
        let mut query = HistoryQuery { of: None, before: None, most: PAGE };
        loop {
            let page = store.history(&query).await?;
            let Some(last) = page.last() else { break };
            query.before = Some(last.revision);
            for version in page {
                let entry = record.entry_of(version.revision, &mut walk).await?;
                walk.take(version, entry);
            }
        }
        Ok(walk.finish())
    }

    /// Refuses a version that contradicts the record, as far as can be seen from it and the one before it.
    pub(crate) async fn refuse_contradicted(&self, version: &Version) -> Result<(), WriteError> {
        let Some(entry) = entry_of(&*self.store, version.revision).await? else {
            return Ok(());
        };
        let before = self.before(&key_of(version), Some(version.revision)).await?;
        let is_so = entry.hash == entry.expected_hash()
            && verdict(Some(&entry), version, before.as_ref()) != VersionVerdict::NotSo;
        if is_so {
            return Ok(());
        }
        let fault = before
            .filter(|_| entry.action != "create")
            .map_or(HistoryFault::Otherwise, |before| HistoryFault::OtherwiseOr(before.revision));
        Err(WriteError::Contradicted(Box::new(contradiction(version, fault))))
    }
}

/// The entry that led to that revision. Entries are in the order of revisions; those about records, which lead to none,
/// come behind it with the same.
async fn entry_of(store: &dyn AuditStore, revision: Revision) -> Result<Option<AuditEntry>, WriteError> {
    let (mut low, mut high) = (1, store.audit_head().await?.map_or(0, |head| head.number));
    let mut first = None;
    while low <= high {
        let middle = low + (high - low) / 2;
        let Some(entry) = store.audit(middle - 1, 1).await?.pop() else {
            return Ok(None);
        };
        if entry.revision < revision {
            low = entry.number.max(middle) + 1;
        } else {
            high = middle - 1;
            first = Some(entry);
        }
    }
    Ok(first.filter(|entry| entry.revision == revision && made_a_version(entry)))
}

/// The record from its end, in pages.
struct Backwards<'s> {
    store: &'s dyn AuditStore,
    /// The number of the last entry that was not read yet.
    last: i64,
    /// The oldest first.
    page: Vec<AuditEntry>,
}

impl Backwards<'_> {
    /// The entry of that revision; those of later ones belong to versions that are not there.
    async fn entry_of(
        &mut self,
        revision: Revision,
        walk: &mut HistoryWalk,
    ) -> Result<Option<AuditEntry>, WriteError> {
        loop {
            while self.page.is_empty() && self.last > 0 {
                let after = (self.last - i64::from(PAGE)).max(0);
                let most = u32::try_from(self.last - after).unwrap_or(PAGE);
                self.page = self.store.audit(after, most).await?;
                self.page.retain(made_a_version);
                self.last = after;
            }
            match self.page.last() {
                Some(entry) if entry.revision > revision => walk.miss(entry),
                Some(entry) if entry.revision == revision => return Ok(self.page.pop()),
                _ => return Ok(None),
            }
            self.page.pop();
        }
    }
}

/// A version whose predecessor is still to come.
struct Successor {
    version: Version,
    entry: Option<AuditEntry>,
    /// The newer version that this one is under suspicion for.
    suspected_by: Option<Revision>,
}

/// The history from its end.
#[derive(Default)]
struct HistoryWalk {
    waiting: HashMap<ToolKey, Successor>,
    /// Entries without a version.
    missed: HashMap<ToolKey, Revision>,
    found: BTreeMap<Revision, Contradiction>,
}

impl HistoryWalk {
    /// An entry has no version: it was forgotten, unless an older one is there.
    fn miss(&mut self, entry: &AuditEntry) {
        let key = ToolKey { tenant: entry.tenant.clone(), name: ToolName::fold(&entry.name) };
        self.missed.insert(key, entry.revision);
    }

    fn take(&mut self, version: Version, entry: Option<AuditEntry>) {
        let key = key_of(&version);
        let missed = self.missed.remove(&key);
        if let Some(missing) = missed {
            let name = Contradiction { version: missing, ..contradiction(&version, HistoryFault::Missing) };
            self.found.insert(missing, name);
        }
        let newer = self.waiting.remove(&key);
        // Across a gap nothing can be said but of what was changed.
        let before = Some(&version).filter(|_| missed.is_none());
        let suspected_by = newer.and_then(|newer| self.judge(&newer, before));
        self.waiting.insert(key, Successor { version, entry, suspected_by });
    }

    /// Notes what is wrong with a version, and returns its number if the one before it may be to blame.
    fn judge(&mut self, newer: &Successor, before: Option<&Version>) -> Option<Revision> {
        let number = newer.version.revision;
        match verdict(newer.entry.as_ref(), &newer.version, before) {
            VersionVerdict::Unknown | VersionVerdict::PartlySo => None,
            VersionVerdict::So => {
                let doubted = newer.suspected_by.and_then(|by| self.found.get_mut(&by));
                if let Some(doubted) = doubted {
                    doubted.fault = HistoryFault::Otherwise;
                }
                None
            }
            VersionVerdict::NotSo => {
                newer.suspected_by.and_then(|by| self.found.remove(&by));
                let is_first = newer.entry.as_ref().is_some_and(|entry| entry.action == "create");
                let suspect = before.map(|before| before.revision).filter(|_| !is_first);
                let fault = suspect.map_or(HistoryFault::Otherwise, HistoryFault::OtherwiseOr);
                self.found.insert(number, contradiction(&newer.version, fault));
                suspect.map(|_| number)
            }
        }
    }

    fn finish(mut self) -> Vec<Contradiction> {
        for (_, oldest) in std::mem::take(&mut self.waiting) {
            self.judge(&oldest, None);
        }
        self.found.into_values().take(MOST).collect()
    }
}

/// Whether an entry is about a definition. Those about records have the revision of whatever was changed before them.
fn made_a_version(entry: &AuditEntry) -> bool {
    matches!(entry.action.as_str(), "create" | "update" | "enable" | "disable" | "purge")
}

pub(crate) fn key_of(version: &Version) -> ToolKey {
    ToolKey { tenant: version.tenant.clone(), name: ToolName::fold(&version.name) }
}

fn contradiction(version: &Version, fault: HistoryFault) -> Contradiction {
    let (tenant, name) = (version.tenant.clone(), version.name.clone());
    Contradiction { tenant, name, version: version.revision, fault }
}

fn verdict(entry: Option<&AuditEntry>, version: &Version, before: Option<&Version>) -> VersionVerdict {
    let Some(entry) = entry else {
        return VersionVerdict::Unknown;
    };
    let after = standing(version);
    let is_named = key_of(version).name == ToolName::fold(&entry.name) && version.tenant == entry.tenant;
    if !is_named || after.is_none() != (entry.action == "purge") {
        return VersionVerdict::NotSo;
    }
    let before = before.and_then(standing);
    let told = changes_of(&entry.changes);
    if entry.action == "create" || before.is_some() {
        let before = before.filter(|_| entry.action != "create");
        let is_so = same_changes(&told, &changes_of(&audit_changes(before, after)));
        return if is_so { VersionVerdict::So } else { VersionVerdict::NotSo };
    }
    // From nothing to what there is, which is the whole document.
    let whole = changes_of(&audit_changes(None, after));
    let document = whole.first().and_then(|whole| whole.get("after")).unwrap_or(&Value::Null);
    let holds = |change: &Value| {
        let there = change["pointer"].as_str().and_then(|pointer| document.pointer(pointer));
        after.is_none() || same(there, change.get("after"))
    };
    if told.iter().all(holds) { VersionVerdict::PartlySo } else { VersionVerdict::NotSo }
}

fn standing(version: &Version) -> Option<Standing<'_>> {
    (version.kind != VersionKind::Removed)
        .then_some(Standing { enabled: version.enabled, config_json: &version.config_json })
}

/// Changes in the order of their places, without those that are none: databases write numbers in their own way.
fn changes_of(text: &str) -> Vec<Value> {
    let mut changes: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    changes.retain(|change| !same(change.get("before"), change.get("after")));
    changes.sort_by(|one, other| one["pointer"].as_str().cmp(&other["pointer"].as_str()));
    changes
}

fn same_changes(told: &[Value], found: &[Value]) -> bool {
    let pairs = || told.iter().zip(found);
    told.len() == found.len() && pairs().all(|(told, found)| same(Some(told), Some(found)))
}

/// Whether two values mean the same: `100` is `1e2`, and the order of members does not matter.
fn same(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (Some(Value::Number(one)), Some(Value::Number(other))) => {
            let bits = |number: &serde_json::Number| number.as_f64().map(f64::to_bits);
            one == other || ((one.is_f64() || other.is_f64()) && bits(one) == bits(other))
        }
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            one.len() == other.len() && one.iter().all(|(key, value)| same(Some(value), other.get(key)))
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(Some(one), Some(other)))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use toolrail_core::{AuditHead, StoreError, async_trait};

    use super::*;

    const NAME: &str = "t";

    /// A version for each text, and its entry.
    fn history(texts: &[&str]) -> Vec<(Version, Option<AuditEntry>)> {
        let mut before: Option<Version> = None;
        let make = |(index, text): (usize, &&str)| {
            let revision = Revision::try_from(index).unwrap() + 1;
            let kind = if before.is_none() { VersionKind::Created } else { VersionKind::Updated };
            let version = Version {
                revision,
                tenant: None,
                name: NAME.into(),
                kind,
                enabled: true,
                config_json: (*text).to_owned(),
                at: String::new(),
                who: None,
                address: None,
                via: None,
            };
            let entry = AuditEntry {
                number: revision,
                at: String::new(),
                who: String::new(),
                address: None,
                via: String::new(),
                action: if before.is_none() { "create" } else { "update" }.into(),
                tenant: None,
                name: NAME.into(),
                revision,
                changes: audit_changes(before.as_ref().and_then(standing), standing(&version)),
                previous: String::new(),
                hash: String::new(),
            };
            before = Some(version.clone());
            (version, Some(entry))
        };
        texts.iter().enumerate().map(make).collect()
    }

    fn walked(history: Vec<(Version, Option<AuditEntry>)>) -> Vec<(Revision, HistoryFault)> {
        let mut walk = HistoryWalk::default();
        for (version, entry) in history.into_iter().rev() {
            walk.take(version, entry);
        }
        walk.finish().into_iter().map(|found| (found.version, found.fault)).collect()
    }

    const TEXTS: [&str; 4] = [r#"{"a":1,"x":0}"#, r#"{"a":2,"x":0}"#, r#"{"a":3,"x":0}"#, r#"{"a":4,"x":0}"#];

    #[test]
    fn a_history_as_it_was_written_contradicts_nothing() {
        assert_eq!(walked(history(&TEXTS)), []);
        assert_eq!(walked(history(&TEXTS).split_off(2)), [], "older versions were forgotten");
        let mut rewritten = history(&[r#"{"a":1e2,"b":[1.0]}"#, r#"{"a":1e2,"b":[1.0],"c":1}"#]);
        rewritten[0].0.config_json = r#"{"b":[1],"a":100}"#.into();
        assert_eq!(walked(rewritten), [], "a database may write JSON in its own way");
    }

    #[test]
    fn the_version_that_was_changed_is_named_and_not_the_one_after_it() {
        for index in 0..TEXTS.len() {
            let mut forged = history(&TEXTS);
            forged[index].0.config_json = forged[index].0.config_json.replace("\"x\":0", "\"x\":9");
            let version = forged[index].0.revision;
            assert_eq!(walked(forged), [(version, HistoryFault::Otherwise)]);
        }
    }

    #[test]
    fn where_another_program_wrote_in_between_either_may_be_to_blame() {
        let mut forged = history(&TEXTS);
        forged[1].1 = None;
        forged[1].0.config_json = r#"{"a":2,"x":9}"#.into();
        assert_eq!(walked(forged), [(3, HistoryFault::OtherwiseOr(2))]);
    }

    #[test]
    fn a_version_that_is_gone_while_older_ones_are_there_shows() {
        let mut walk = HistoryWalk::default();
        let mut history = history(&TEXTS);
        let (_, removed) = history.remove(2);
        let (newest, entry) = history.pop().unwrap();
        walk.take(newest, entry);
        walk.miss(&removed.unwrap());
        for (version, entry) in history.into_iter().rev() {
            walk.take(version, entry);
        }
        let found: Vec<_> = walk.finish().into_iter().map(|found| (found.version, found.fault)).collect();
        assert_eq!(found, [(3, HistoryFault::Missing)]);
    }

    struct Entries(Vec<AuditEntry>);

    #[async_trait]
    impl AuditStore for Entries {
        async fn audit(&self, after: i64, most: u32) -> Result<Vec<AuditEntry>, StoreError> {
            let after = self.0.iter().filter(|entry| entry.number > after);
            Ok(after.take(most as usize).cloned().collect())
        }

        async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
            Ok(self.0.last().map(AuditEntry::head))
        }
    }

    /// The record of a history, with entries about records behind some of its revisions; the third has no other.
    fn entries_with_records() -> Entries {
        let mut entries = Vec::new();
        for (_, entry) in history(&TEXTS) {
            let entry = entry.unwrap();
            let about_key = AuditEntry { action: "key.create".into(), name: "k".into(), ..entry.clone() };
            let keys = [0, 1, 2_500, 2, 0][usize::try_from(entry.revision).unwrap()];
            entries.extend(Some(entry).filter(|entry| entry.revision != 3));
            entries.extend(std::iter::repeat_n(about_key, keys));
        }
        (1..).zip(&mut entries).for_each(|(number, entry)| entry.number = number);
        Entries(entries)
    }

    #[tokio::test]
    async fn entries_about_records_are_not_taken_for_those_of_versions() {
        let entries = entries_with_records();
        let mut walk = HistoryWalk::default();
        let mut record =
            Backwards { store: &entries, last: entries.0.len().try_into().unwrap(), page: Vec::new() };
        for (version, of_version) in history(&TEXTS).into_iter().rev() {
            let expected = of_version.filter(|entry| entry.revision != 3).map(|entry| entry.revision);
            let alone = entry_of(&entries, version.revision).await.unwrap();
            let in_turn = record.entry_of(version.revision, &mut walk).await.unwrap();
            for entry in [&alone, &in_turn] {
                assert_eq!(entry.as_ref().map(|entry| entry.revision), expected);
                assert!(entry.as_ref().is_none_or(|entry| entry.name == NAME));
            }
            walk.take(version, in_turn);
        }
        assert!(walk.finish().is_empty());
    }
}
