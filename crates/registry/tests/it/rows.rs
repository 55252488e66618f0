//! A store in memory, which can be made to fail, to hang, to be replaced and to be read in small pages.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use toolrail_core::{
    Action, AuditEntry, AuditHead, AuditStore, Author, Change, Changes, DefinitionStore, Expected, Forget,
    HistoryQuery, HistoryStore, LearntQuery, News, NewsKind, QueryPage, Record, RecordLimits, RecordStore,
    RecordWrite, RecordWritten, ReplicaStore, Retention, Revision, Row, Store, StoreError, ToolKey, ToolName,
    Usage, UseStore, Uses, Version, VersionKind, async_trait,
};

use crate::learnt_rows::LearntRows;

pub(crate) struct Rows {
    table: Mutex<Table>,
    bell: Option<Arc<Notify>>,
    state: watch::Sender<Health>,
    uses: Mutex<Vec<(Option<String>, String, u32)>>,
    learnt: Mutex<LearntRows>,
    /// By their numbers.
    records: Mutex<BTreeMap<i64, Record>>,
    /// The most rows of one page.
    pub(crate) page: AtomicU32,
    /// How often changes were asked for.
    pub(crate) asked: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    Well,
    Down,
    /// Takes writes, and gives no changes.
    Unreadable,
    Hanging,
}

#[derive(Clone, Default)]
pub(crate) struct Table {
    revision: Revision,
    rows: BTreeMap<ToolKey, Row>,
    gone: BTreeMap<ToolKey, Revision>,
    history: Vec<Version>,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            table: Mutex::default(),
            bell: None,
            state: watch::channel(Health::Well).0,
            uses: Mutex::default(),
            learnt: Mutex::default(),
            records: Mutex::default(),
            page: AtomicU32::new(Changes::MOST),
            asked: AtomicUsize::new(0),
        }
    }
}

pub(crate) fn put(name: &str, config_json: &str) -> Change {
    let action = Action::Put { enabled: true, config_json: config_json.into() };
    Change { tenant: None, name: name.into(), expected: Expected::Anything, action }
}

pub(crate) fn switch(name: &str, enabled: bool) -> Change {
    Change { action: Action::SetEnabled(enabled), ..put(name, "") }
}

pub(crate) fn purge(name: &str) -> Change {
    Change { action: Action::Purge, ..put(name, "") }
}

/// The same for a tenant.
pub(crate) fn of(tenant: &str, change: Change) -> Change {
    Change { tenant: Some(tenant.into()), ..change }
}

impl Rows {
    /// One that rings.
    pub(crate) fn ringing() -> Self {
        Self { bell: Some(Arc::default()), ..Self::default() }
    }

    pub(crate) fn set_down(&self, down: bool) {
        self.set(if down { Health::Down } else { Health::Well });
    }

    pub(crate) fn set(&self, health: Health) {
        self.state.send_replace(health);
    }

    /// Changes rows as another program would, and rings.
    pub(crate) fn commit(&self, changes: &[Change]) -> Revision {
        let mut table = self.table.lock().unwrap();
        for change in changes {
            table.change(change);
        }
        if let Some(bell) = &self.bell {
            bell.notify_one();
        }
        table.revision
    }

    /// Everything gone without any trace, as `TRUNCATE` leaves it.
    pub(crate) fn truncate(&self) {
        self.table.lock().unwrap().rows.clear();
    }

    /// Another database in its place.
    pub(crate) fn replace(&self, other: &Self) {
        *self.table.lock().unwrap() = other.table.lock().unwrap().clone();
    }

    pub(crate) fn uses(&self) -> Vec<(Option<String>, String, u32)> {
        let mut uses = self.uses.lock().unwrap().clone();
        uses.sort();
        uses
    }

    /// The queries that are kept: whose, which tool, the query, in how many conversations.
    pub(crate) fn learnt(&self) -> Vec<(Option<String>, String, String, u32)> {
        self.learnt.lock().unwrap().all()
    }

    /// Waits while it hangs.
    async fn check(&self) -> Result<(), StoreError> {
        let mut state = self.state.subscribe();
        let state = *state.wait_for(|state| *state != Health::Hanging).await.unwrap();
        if state == Health::Down {
            return Err(StoreError::Unavailable { store: "rows".into(), source: "it is down".into() });
        }
        Ok(())
    }
}

impl Table {
    fn change(&mut self, Change { tenant, name, action, .. }: &Change) {
        let key = ToolKey { tenant: tenant.clone(), name: ToolName::fold(name) };
        self.revision += 1;
        let version = self.revision;
        let before = self.rows.get(&key);
        let was_there = before.is_some();
        let (enabled, config_json) = match (action, before) {
            (Action::Put { enabled, config_json }, _) => (*enabled, config_json.clone()),
            (Action::SetEnabled(enabled), before) => {
                (*enabled, before.map(|row| row.config_json.clone()).unwrap_or_default())
            }
            (Action::Purge, before) => (false, before.map(|row| row.config_json.clone()).unwrap_or_default()),
        };
        self.history.push(Version {
            revision: version,
            tenant: tenant.clone(),
            name: name.clone(),
            kind: match action {
                Action::Purge => VersionKind::Removed,
                Action::Put { .. } | Action::SetEnabled(_) if was_there => VersionKind::Updated,
                Action::Put { .. } | Action::SetEnabled(_) => VersionKind::Created,
            },
            enabled,
            config_json,
            at: format!("2026-01-01T00:00:{version:02}Z"),
            who: None,
            address: None,
            via: None,
        });
        match action {
            Action::Put { enabled, config_json } => {
                self.gone.remove(&key);
                let row = Row {
                    tenant: tenant.clone(),
                    name: name.clone(),
                    enabled: *enabled,
                    config_json: config_json.clone(),
                    version,
                    updated_at: format!("2026-01-01T00:00:{version:02}Z"),
                    updated_by: None,
                };
                self.rows.insert(key, row);
            }
            Action::SetEnabled(enabled) => {
                if let Some(row) = self.rows.get_mut(&key) {
                    (row.enabled, row.version) = (*enabled, version);
                }
            }
            Action::Purge => {
                self.rows.remove(&key);
                self.gone.insert(key, version);
            }
        }
    }
}

#[async_trait]
impl DefinitionStore for Rows {
    fn bell(&self) -> Option<Arc<Notify>> {
        self.bell.clone()
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.check().await?;
        Ok(self.table.lock().unwrap().revision)
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.check().await?;
        Ok(self.table.lock().unwrap().rows.len() as u64)
    }

    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError> {
        self.check().await?;
        if *self.state.borrow() == Health::Unreadable {
            return Err(StoreError::Unavailable {
                store: "rows".into(),
                source: "it may not be read".into(),
            });
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        let table = self.table.lock().unwrap();
        let mut rows: Vec<Row> = table.rows.values().filter(|row| row.version > since).cloned().collect();
        rows.sort_by_key(|row| row.version);
        let most = self.page.load(Ordering::SeqCst) as usize;
        let more = rows.len() > most;
        rows.truncate(most);
        let revision = rows.last().filter(|_| more).map_or(table.revision, |row| row.version);
        let gone = |version: Revision| version > since && version <= revision;
        let removed = table.gone.iter().filter(|(_, version)| gone(**version)).map(|(key, _)| key.clone());
        let removed = removed.collect();
        Ok(Changes { revision, rows, removed, more, age: Some(Duration::from_millis(5)) })
    }

    async fn find(&self, tenant: Option<&str>, name: &str) -> Result<Option<Row>, StoreError> {
        self.check().await?;
        let key = ToolKey { tenant: tenant.map(str::to_owned), name: ToolName::fold(name) };
        Ok(self.table.lock().unwrap().rows.get(&key).cloned())
    }

    async fn write(&self, changes: &[Change], _: &Author) -> Result<Revision, StoreError> {
        self.check().await?;
        Ok(self.commit(changes))
    }
}

#[async_trait]
impl HistoryStore for Rows {
    async fn history(&self, query: &HistoryQuery) -> Result<Vec<Version>, StoreError> {
        self.check().await?;
        let before = query.before.unwrap_or(Revision::MAX);
        let table = self.table.lock().unwrap();
        let is_wanted = |version: &&Version| {
            let key = ToolKey { tenant: version.tenant.clone(), name: ToolName::fold(&version.name) };
            version.revision < before && query.of.as_ref().is_none_or(|of| *of == key)
        };
        let newest_first = table.history.iter().rev().filter(is_wanted);
        Ok(newest_first.take(query.most as usize).cloned().collect())
    }

    async fn state_at(&self, _: Revision) -> Result<Vec<Version>, StoreError> {
        Ok(Vec::new())
    }

    async fn forget(&self, _: &Retention) -> Result<u64, StoreError> {
        Ok(0)
    }
}

#[async_trait]
impl AuditStore for Rows {
    async fn audit(&self, _: i64, _: u32) -> Result<Vec<AuditEntry>, StoreError> {
        Ok(Vec::new())
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        Ok(None)
    }
}

#[async_trait]
impl UseStore for Rows {
    async fn record_uses(&self, uses: &[Uses]) -> Result<(), StoreError> {
        self.check().await?;
        self.learnt.lock().unwrap().count(uses);
        let uses = uses.iter().map(|uses| (uses.tool.tenant.clone(), uses.tool.name.clone(), uses.calls));
        self.uses.lock().unwrap().extend(uses);
        Ok(())
    }

    async fn learnt_number(&self) -> Result<i64, StoreError> {
        self.check().await?;
        Ok(self.learnt.lock().unwrap().number)
    }

    async fn usage_after(&self, number: i64) -> Result<Vec<Usage>, StoreError> {
        self.check().await?;
        Ok(self.learnt.lock().unwrap().usage_after(number))
    }

    async fn record_queries(&self, learnt: &[LearntQuery]) -> Result<(), StoreError> {
        self.check().await?;
        self.learnt.lock().unwrap().learn(learnt);
        Ok(())
    }

    async fn queries_after(&self, number: i64) -> Result<QueryPage, StoreError> {
        self.check().await?;
        Ok(self.learnt.lock().unwrap().queries_after(number))
    }

    async fn forget_queries(&self, what: &Forget) -> Result<u64, StoreError> {
        self.check().await?;
        Ok(self.learnt.lock().unwrap().forget(what))
    }
}

#[async_trait]
impl ReplicaStore for Rows {
    async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError> {
        self.check().await?;
        Ok([u8::try_from(name.len()).unwrap(); 32])
    }

    async fn leave(&self, _: &str, _: &[u8]) -> Result<(), StoreError> {
        self.check().await
    }

    async fn collect(&self, _: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        Ok(Vec::new())
    }

    async fn announce(&self, _: NewsKind, _: &[Vec<u8>]) -> Result<(), StoreError> {
        self.check().await
    }

    async fn news_after(&self, _: i64) -> Result<Vec<News>, StoreError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl RecordStore for Rows {
    async fn record_number(&self) -> Result<i64, StoreError> {
        self.check().await?;
        Ok(self.records.lock().unwrap().keys().last().copied().unwrap_or(0))
    }

    async fn records_after(&self, number: i64, kinds: &[&str]) -> Result<Vec<Record>, StoreError> {
        self.check().await?;
        let records = self.records.lock().unwrap();
        let is_one = |record: &&Record| kinds.is_empty() || kinds.contains(&record.kind.as_str());
        let newer = records.range(number + 1..).map(|(_, record)| record).filter(is_one).cloned();
        Ok(newer.take(RecordLimits::ALL.at_once as usize).collect())
    }

    async fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, StoreError> {
        self.check().await?;
        let records = self.records.lock().unwrap();
        let is_it = |record: &&Record| record.kind == kind && record.id == id && record.body.is_some();
        Ok(records.values().find(is_it).cloned())
    }

    async fn write_record(&self, write: &RecordWrite) -> Result<RecordWritten, StoreError> {
        self.check().await?;
        let mut records = self.records.lock().unwrap();
        let RecordWrite { kind, id, body, expected, .. } = write;
        let before = records.values().find(|record| record.kind == *kind && record.id == *id).cloned();
        let found = before.as_ref().filter(|record| record.body.is_some()).map_or(0, |record| record.number);
        if expected.is_some_and(|expected| expected != found) || (body.is_none() && found == 0) {
            return Ok(RecordWritten::Otherwise);
        }
        let number = records.keys().last().copied().unwrap_or(0) + 1;
        before.and_then(|before| records.remove(&before.number));
        let record = Record { kind: kind.clone(), id: id.clone(), body: body.clone(), number };
        records.insert(number, record);
        Ok(RecordWritten::Done(number))
    }
}

#[async_trait]
impl Store for Rows {
    fn describe(&self) -> String {
        "rows".into()
    }

    async fn close(&self) {}
}
