//! The approvals of the store as this process knows them, without what is shown of the calls. Kept up to date by reading only
//! what is new, like the keys of clients.

use std::collections::HashMap;

use toolrail_core::{Record, Store, StoreError};

use super::record::{ApprovalRecord, ApprovalState, KIND};

/// The kind of the records that tell which rounds were used.
pub(super) const ROUND_KIND: &str = "approval_round";

/// The approvals there are.
#[derive(Default)]
pub(super) struct ApprovalBoard {
    /// The number of the newest record that was read, if any was.
    number: Option<i64>,
    papers: HashMap<String, Paper>,
    /// Until when the rounds that were used are remembered.
    rounds: HashMap<String, u64>,
}

/// One of them, as it stands in the store.
#[derive(Clone)]
pub(super) struct Paper {
    /// What it is kept under.
    pub(super) slot: String,
    /// The number of its last write.
    pub(super) number: i64,
    pub(super) record: ApprovalRecord,
}

impl ApprovalBoard {
    /// Reads what is new, and says whether anything is. Dropped on its way, it has read less.
    pub(super) async fn refresh(&mut self, store: &dyn Store) -> Result<bool, StoreError> {
        let newest = store.record_number().await?;
        if self.number == Some(newest) {
            return Ok(false);
        }
        let mut changed = false;
        loop {
            let page = store.records_after(self.number.unwrap_or_default(), &[KIND, ROUND_KIND]).await?;
            let Some(last) = page.last() else {
                // What else there is was for others.
                self.number = self.number.max(Some(newest));
                return Ok(changed);
            };
            self.number = Some(last.number);
            for record in &page {
                match record.kind.as_str() {
                    KIND => {
                        changed = true;
                        self.take(record);
                    }
                    ROUND_KIND => self.take_round(record),
                    _ => {}
                }
            }
        }
    }

    fn take(&mut self, record: &Record) {
        match ApprovalRecord::read(record) {
            Some(read) => {
                let slot = record.id.clone();
                let read = ApprovalRecord { shown: None, ..read };
                self.papers.insert(slot.clone(), Paper { slot, number: record.number, record: read });
            }
            None => {
                self.papers.remove(&record.id);
            }
        }
    }

    fn take_round(&mut self, record: &Record) {
        match record.body.as_deref() {
            // What cannot be read is forgotten with the next sweep.
            Some(until) => self.rounds.insert(record.id.clone(), until.parse().unwrap_or_default()),
            None => self.rounds.remove(&record.id),
        };
    }

    /// The rounds that nobody could use any more.
    pub(super) fn late_rounds(&self, now: u64) -> impl Iterator<Item = String> {
        self.rounds.iter().filter(move |(_, until)| **until <= now).map(|(id, _)| id.clone())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Paper> {
        self.papers.values()
    }

    /// The one people call that.
    pub(super) fn named(&self, id: &str) -> Option<&Paper> {
        self.all().find(|paper| paper.record.id == id)
    }

    /// That of the very call somebody makes; if there should be several, a no counts first.
    pub(super) fn of_call(&self, asker: &str, call: &str) -> Option<&Paper> {
        let own = self.all().filter(|paper| paper.record.asker == asker && paper.record.call == call);
        own.min_by_key(|paper| match paper.record.state {
            ApprovalState::Denied => 0,
            ApprovalState::Approved => 1,
            ApprovalState::Pending => 2,
        })
    }

    pub(super) fn has(&self, slot: &str) -> bool {
        self.papers.contains_key(slot)
    }

    pub(super) fn len(&self) -> usize {
        self.papers.len()
    }
}
