//! Those who may come in, as the store has them now. A request is looked up in memory; `record_follower.rs` brings what is new a
//! few times a second, so that what is revoked anywhere is refused everywhere within that time.

use arc_swap::{ArcSwap, ArcSwapOption};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use toolrail_core::{
    DigestMap, Ending, Identity, Principal, Record, RecordListener, RecordWrite, Role, Store, StoreError,
    async_trait,
};

use crate::key::{Digest, Digester, KeyText, are_equal, digest_of, is_local};
use crate::key_record::{KIND, KeyRecord, OPERATOR, SecretRecord, USE_KIND, now};
use crate::keyring::{Keyring, last_use};

/// How many seconds a use waits before it is written down, so that a busy key is written once a minute; where there are very
/// many keys, less often.
const USE_REST: u64 = 60;
/// The most uses that are written down at once.
const MOST_NOTED: usize = 8;

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// What was shown is no key of ours, or one that was revoked.
    Unknown,
    /// It was good once.
    Expired,
    /// The keys could not be read yet.
    NotReady,
}

/// Those who may come in.
pub struct Directory {
    store: Arc<dyn Store>,
    known: ArcSwap<Known>,
    /// What was taken in and does not hold yet.
    coming: Mutex<Coming>,
    /// Whoever administers this machine.
    operator: ArcSwapOption<Operator>,
}

/// Keys that were taken in.
#[derive(Default)]
struct Coming {
    keys: Keys,
    /// Whether they are others than those that hold.
    changed: bool,
}

/// What was read.
#[derive(Default)]
struct Known {
    digester: Option<Digester>,
    keys: Keys,
    by_digest: DigestMap<Digest, Entrance>,
}

/// Whoever administers this machine.
struct Operator {
    text: String,
    identity: Arc<Identity>,
}

/// Whoever has a key, by what it is kept under; and that by the key's own id.
#[derive(Clone, Default)]
struct Keys {
    holders: HashMap<String, Arc<Holder>>,
    by_uid: HashMap<String, String>,
}

/// One way in.
#[derive(Clone)]
struct Entrance {
    holder: Arc<Holder>,
    door: Door,
}

/// One text by which a key is known. Whoever comes in by one that is closed later has to go.
#[derive(Clone)]
struct Door {
    digest: Digest,
    /// Until when it is open, in seconds since 1970.
    until: Option<u64>,
    identity: Arc<Identity>,
}

/// Whoever has a key.
struct Holder {
    record: KeyRecord,
    doors: Vec<Door>,
    /// When the key was last used, as far as we have seen.
    used: AtomicU64,
    /// When that was last written down.
    noted: AtomicU64,
}

impl Directory {
    /// Those of that store; nobody until it was read.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, known: ArcSwap::default(), coming: Mutex::default(), operator: ArcSwapOption::empty() }
    }

    /// Lets somebody in who can read what only whoever started this process can; the key is good as long as it runs.
    pub fn admit_operator(&self) -> Result<KeyText, getrandom::Error> {
        let text = KeyText::mint_local()?;
        let identity = Identity {
            id: format!("local:{}", KeyText::mint()?.reveal()).into(),
            name: OPERATOR.to_owned(),
            tenant: None,
            role: Role::Admin,
            groups: Vec::new(),
            scopes: Vec::new(),
            reach: None,
            ending: Ending::default(),
        };
        self.operator
            .store(Some(Arc::new(Operator { text: text.reveal().to_owned(), identity: Arc::new(identity) })));
        Ok(text)
    }

    /// Who shows that text.
    pub fn recognise(&self, text: &str) -> Result<Principal, Rejection> {
        if is_local(text) {
            let operator = self.operator.load();
            let is_theirs = |operator: &&Arc<Operator>| are_equal(&operator.text, text);
            let found = operator.as_ref().filter(is_theirs).ok_or(Rejection::Unknown)?;
            return Ok(Principal::Known(Arc::clone(&found.identity)));
        }
        let known = self.known.load();
        let Some(digester) = &known.digester else {
            return Err(Rejection::NotReady);
        };
        let digest = digester.digest(text).ok_or(Rejection::Unknown)?;
        let entrance = known.by_digest.get(&digest).ok_or(Rejection::Unknown)?;
        let now = now();
        if entrance.door.until.is_some_and(|until| until <= now) {
            return Err(Rejection::Expired);
        }
        entrance.holder.used.store(now, Ordering::Relaxed);
        Ok(Principal::Known(Arc::clone(&entrance.door.identity)))
    }

    /// Whether there is anybody at all.
    pub fn is_empty(&self) -> bool {
        self.known.load().keys.holders.is_empty()
    }

    /// Closes what is still open of texts that have expired.
    fn end_expired(&self) {
        let (known, now) = (self.known.load(), now());
        let has_expired = |door: &&Door| door.until.is_some_and(|until| until <= now);
        for door in known.keys.holders.values().flat_map(|holder| &holder.doors).filter(has_expired) {
            door.identity.ending.come();
        }
    }

    /// Writes down which keys were used.
    async fn note_uses(&self) -> Result<(), StoreError> {
        let known = self.known.load_full();
        let rest = USE_REST.max(known.keys.holders.len() as u64 / 20);
        let is_due = |holder: &&Arc<Holder>| {
            let (used, noted) = (holder.used.load(Ordering::Relaxed), holder.noted.load(Ordering::Relaxed));
            used != 0 && used >= noted.saturating_add(rest)
        };
        for holder in known.keys.holders.values().filter(is_due).take(MOST_NOTED) {
            let used = holder.used.load(Ordering::Relaxed);
            holder.noted.store(used, Ordering::Relaxed);
            let write = RecordWrite {
                kind: USE_KIND.to_owned(),
                id: holder.record.uid.clone(),
                body: Some(used.to_string()),
                expected: None,
                audited: None,
            };
            self.store.write_record(&write).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl RecordListener for Directory {
    fn kinds(&self) -> &'static [&'static str] {
        &[KIND, USE_KIND]
    }

    fn take(&self, records: &[Record]) {
        let mut coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            match record.kind.as_str() {
                KIND => {
                    coming.changed = true;
                    coming.keys.take(&record.id, KeyRecord::read(record));
                }
                USE_KIND => coming.keys.hear_of_use(last_use(record)),
                _ => {}
            }
        }
    }

    async fn settle(&self) -> Result<(), StoreError> {
        let digester = self.known.load().digester.clone();
        let (digester, is_first) = match digester {
            Some(digester) => (digester, false),
            None => (Keyring::new(Arc::clone(&self.store)).digester().await?, true),
        };
        let mut coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut coming.changed) || is_first {
            let keys = coming.keys.clone();
            let by_digest = keys.holders.values().flat_map(entrances).collect();
            self.known.store(Arc::new(Known { digester: Some(digester), keys, by_digest }));
        }
        Ok(())
    }

    /// While the store is away, those who are known stay known.
    async fn tend(&self) -> Result<(), StoreError> {
        self.end_expired();
        self.note_uses().await
    }
}

impl Keys {
    /// Whoever has the key of that id.
    fn of(&self, uid: &str) -> Option<&Arc<Holder>> {
        self.holders.get(self.by_uid.get(uid)?)
    }

    /// A key is as it is said, or gone.
    fn take(&mut self, id: &str, record: Option<KeyRecord>) {
        let before = self.holders.remove(id);
        if let Some(before) = &before {
            self.by_uid.remove(&before.record.uid);
        }
        let is_same =
            |before: &&Arc<Holder>| record.as_ref().is_some_and(|record| before.record.has_rights_of(record));
        let same = before.as_ref().filter(is_same);
        let doors = record.as_ref().map_or_else(Vec::new, |record| doors_of(record, same));
        for gone in before.iter().flat_map(|before| &before.doors).filter(|door| !is_among(door, &doors)) {
            gone.identity.ending.come();
        }
        let counter = |of: fn(&Holder) -> &AtomicU64| {
            AtomicU64::new(same.map_or(0, |before| of(before).load(Ordering::Relaxed)))
        };
        let (used, noted) = (counter(|holder| &holder.used), counter(|holder| &holder.noted));
        let Some(record) = record else {
            return;
        };
        self.by_uid.insert(record.uid.clone(), id.to_owned());
        self.holders.insert(id.to_owned(), Arc::new(Holder { record, doors, used, noted }));
    }

    /// What another gateway has written down need not be written again.
    fn hear_of_use(&self, told: Option<(String, u64)>) {
        if let Some((uid, at)) = told
            && let Some(holder) = self.of(&uid)
        {
            holder.noted.fetch_max(at, Ordering::Relaxed);
        }
    }
}

fn entrances(holder: &Arc<Holder>) -> Vec<(Digest, Entrance)> {
    let entrance = |door: &Door| (door.digest, Entrance { holder: Arc::clone(holder), door: door.clone() });
    holder.doors.iter().map(entrance).collect()
}

/// The ways in that a key has; those that were there before stay the same.
fn doors_of(record: &KeyRecord, before: Option<&Arc<Holder>>) -> Vec<Door> {
    let before = before.map(|before| before.doors.as_slice()).unwrap_or_default();
    let door = |secret: &SecretRecord| {
        let digest = digest_of(&secret.hash)?;
        let until = [secret.until, record.expires].into_iter().flatten().min();
        let known = before.iter().find(|door| door.digest == digest);
        let identity = known.map_or_else(|| Arc::new(record.identity()), |door| Arc::clone(&door.identity));
        Some(Door { digest, until, identity })
    };
    record.secrets.iter().filter_map(door).collect()
}

fn is_among(door: &Door, doors: &[Door]) -> bool {
    doors.iter().any(|other| other.digest == door.digest && Arc::ptr_eq(&other.identity, &door.identity))
}
