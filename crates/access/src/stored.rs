//! The rules in the store: one record a version, of which the newest holds. Every gateway on the store hears of a new one within
//! a moment. What cannot be read never opens anything: the last that could be read stays, and where there is none, nobody who
//! could be limited by it is let in.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use toolrail_core::{
    Author, Difference, Expected, Problem, Record, RecordAudit, RecordLimits, RecordListener, RecordWrite,
    RecordWritten, Store, StoreError, async_trait, differences, rfc3339,
};

use crate::rulebook::Rulebook;
use crate::version_record::{KIND, VersionRecord, id_of, version_of};

/// How many versions are kept.
pub const MOST_RULE_VERSIONS: i64 = 100;
/// The most characters of a note.
const LONGEST_NOTE: usize = 500;

/// The rules in the store.
pub struct StoredRules {
    store: Arc<dyn Store>,
    heard: Mutex<Heard>,
    state: Arc<ArcSwap<StoredState>>,
    changed: watch::Sender<()>,
}

/// What is there, as far as it was told.
#[derive(Default)]
struct Heard {
    versions: BTreeMap<i64, HeardVersion>,
    /// A record of this kind that is no version.
    strange: Option<String>,
    /// What was looked at last.
    looked_at: Option<Newest>,
}

/// What decides: a record that is no version, and the newest version with the number of its record.
type Newest = (Option<String>, Option<(i64, i64)>);

impl Heard {
    fn newest(&self) -> Newest {
        let newest = self.versions.last_key_value().map(|(version, heard)| (*version, heard.number));
        (self.strange.clone(), newest)
    }
}

/// A version, and the number of its record.
struct HeardVersion {
    number: i64,
    view: RulesVersion,
}

/// What holds of the rules in the store.
#[derive(Debug)]
pub struct StoredState {
    /// The version that holds; none if there is none.
    pub version: Option<i64>,
    /// Its rules.
    pub rulebook: Rulebook,
    /// Why the newest does not hold, in words.
    pub fault: Option<String>,
    /// Whether nobody knows what should hold.
    pub is_unknown: bool,
}

impl StoredState {
    /// Refuses whoever rules could limit while nobody knows them.
    pub(crate) fn must_be_known(&self) -> Result<(), RulesUnknown> {
        if !self.is_unknown {
            return Ok(());
        }
        let unread = || "the permission rules in the store were not read yet; try again".to_owned();
        Err(RulesUnknown(self.fault.clone().unwrap_or_else(unread)))
    }
}

/// Nobody knows which rules hold, so whoever could be limited by them is not let in; why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesUnknown(pub String);

/// A version of the rules, as people are told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RulesVersion {
    /// Its number.
    pub version: i64,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// When, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// By what way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// What for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl RulesVersion {
    fn of(version: i64, read: Result<&VersionRecord, String>) -> Self {
        match read {
            Ok(record) => Self {
                version,
                who: Some(record.who.clone()),
                at: Some(record.at.clone()),
                via: Some(record.via.clone()),
                note: record.note.clone(),
                fault: None,
            },
            Err(fault) => Self { version, who: None, at: None, via: None, note: None, fault: Some(fault) },
        }
    }
}

/// Rules to be put into the store.
#[derive(Clone, Debug)]
pub struct NewRules {
    /// Their document.
    pub document: Value,
    /// What for.
    pub note: Option<String>,
    /// What must be there.
    pub expected: Expected,
    /// What the audit record calls this, such as `permissions.update`.
    pub action: &'static str,
}

/// What putting rules into the store comes to.
#[derive(Clone, Debug)]
pub struct RulesPlan {
    /// The newest version before.
    pub before: Option<i64>,
    /// Where the rules differ from it.
    pub differences: Vec<Difference>,
    /// What is poor about them.
    pub warnings: Vec<Problem>,
    /// The rules.
    pub rulebook: Rulebook,
}

/// Why rules cannot be put into the store, or found there.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// There is something wrong with them.
    #[error("the rules have problems")]
    Refused(Vec<Problem>),
    /// They are too large.
    #[error(
        "the rules have {0} bytes with what is kept beside them, and at most {most} can be; leave tests out, or put a part into the configuration",
        most = RecordLimits::ALL.largest
    )]
    TooLarge(usize),
    /// The note is too long.
    #[error("the note has more than {LONGEST_NOTE} characters or some that cannot be printed; shorten it")]
    Note,
    /// Others were faster.
    #[error("the rules are at {}, not at {}; look at what is there, and try again", told(*found), told_expected(*expected))]
    Conflict {
        /// The newest version.
        found: Option<i64>,
        /// What was expected.
        expected: Expected,
    },
    /// There is no such version.
    #[error("there is no version {0} of the rules; the last {MOST_RULE_VERSIONS} are kept")]
    NoVersion(i64),
    /// It is there, but what it says is not known.
    #[error("version {version} of the rules cannot be read: {why}")]
    Unreadable {
        /// Which.
        version: i64,
        /// Why.
        why: String,
    },
    /// The store has no room.
    #[error("the store has no room for another version of the rules")]
    NoRoom,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn told(version: Option<i64>) -> String {
    version.map_or_else(|| "no version yet".to_owned(), |version| format!("version {version}"))
}

fn told_expected(expected: Expected) -> String {
    match expected {
        Expected::Version(version) => told(Some(version)),
        Expected::Absent => told(None),
        Expected::Anything => "the one before".to_owned(),
    }
}

impl StoredRules {
    /// Those of that store; unknown until they were read.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let unknown =
            StoredState { version: None, rulebook: Rulebook::default(), fault: None, is_unknown: true };
        Self {
            store,
            heard: Mutex::default(),
            state: Arc::new(ArcSwap::from_pointee(unknown)),
            changed: watch::Sender::new(()),
        }
    }

    /// What holds, now and after every change.
    pub(crate) fn state(&self) -> Arc<ArcSwap<StoredState>> {
        Arc::clone(&self.state)
    }

    /// What holds now.
    pub fn now(&self) -> Arc<StoredState> {
        self.state.load_full()
    }

    /// Hears of every change from now on.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The versions there are, the newest first.
    pub fn history(&self) -> Vec<RulesVersion> {
        self.heard().versions.values().rev().map(|heard| heard.view.clone()).collect()
    }

    /// One of them, with its document.
    pub async fn version(&self, version: i64) -> Result<(RulesVersion, Value), RulesError> {
        let found = self.store.record(KIND, &id_of(version)).await?;
        let body = found.and_then(|record| record.body).ok_or(RulesError::NoVersion(version))?;
        let read = VersionRecord::read(&body).map_err(|why| RulesError::Unreadable { version, why })?;
        Ok((RulesVersion::of(version, Ok(&read)), read.document))
    }

    /// What putting rules there would come to. Everything about them is checked, and their tests are run.
    pub async fn plan(&self, new: &NewRules) -> Result<RulesPlan, RulesError> {
        let (rulebook, warnings) = Rulebook::check(&new.document).map_err(RulesError::Refused)?;
        let before = self.heard().versions.keys().next_back().copied();
        let is_met = match new.expected {
            Expected::Anything => true,
            Expected::Absent => before.is_none(),
            Expected::Version(version) => before == Some(version),
        };
        if !is_met {
            return Err(RulesError::Conflict { found: before, expected: new.expected });
        }
        let there = match before {
            // What cannot be read is replaced as a whole.
            Some(version) => match self.version(version).await {
                Ok((_, document)) => Some(document),
                Err(RulesError::Unreadable { .. } | RulesError::NoVersion(_)) => None,
                Err(failed) => return Err(failed),
            },
            None => None,
        };
        let differences = differences(there.as_ref(), Some(&new.document));
        Ok(RulesPlan { before, differences, warnings, rulebook })
    }

    /// Puts rules there as a new version, unless they are the same as before; gives the version that they have.
    pub async fn save(&self, new: NewRules, author: &Author) -> Result<(RulesPlan, i64), RulesError> {
        if new.note.as_deref().is_some_and(|note| !is_note(note)) {
            return Err(RulesError::Note);
        }
        let plan = self.plan(&new).await?;
        if let Some(version) = plan.before.filter(|_| plan.differences.is_empty()) {
            return Ok((plan, version));
        }
        let version = plan.before.unwrap_or_default().saturating_add(1);
        let write = written(version, &new, author, &plan.differences);
        let size = write.body.as_ref().map_or(0, String::len);
        if size > RecordLimits::ALL.largest {
            return Err(RulesError::TooLarge(size));
        }
        match self.store.write_record(&write).await? {
            RecordWritten::Done(_) => {}
            RecordWritten::Otherwise => {
                return Err(RulesError::Conflict { found: Some(version), expected: new.expected });
            }
            RecordWritten::NoRoom => return Err(RulesError::NoRoom),
        }
        self.forget_old(version).await;
        Ok((plan, version))
    }

    /// Removes versions that are too old. Some more may stay if that fails; the next time they go too.
    async fn forget_old(&self, newest: i64) {
        let oldest = newest.saturating_sub(MOST_RULE_VERSIONS);
        let old: Vec<i64> = self.heard().versions.range(..=oldest).map(|(version, _)| *version).collect();
        for version in old {
            let removal = RecordWrite {
                kind: KIND.to_owned(),
                id: id_of(version),
                body: None,
                expected: None,
                audited: None,
            };
            if let Err(error) = self.store.write_record(&removal).await {
                tracing::warn!(%error, version, "an old version of the permission rules could not be removed");
                return;
            }
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rules of a version; nothing if it is gone already.
    async fn read(&self, version: i64) -> Result<Option<Result<Rulebook, String>>, StoreError> {
        let Some(body) = self.store.record(KIND, &id_of(version)).await?.and_then(|record| record.body)
        else {
            return Ok(None);
        };
        Ok(Some(VersionRecord::read(&body).and_then(|record| record.rulebook())))
    }

    /// From now on this holds.
    fn hold(&self, version: Option<i64>, rulebook: Rulebook) {
        if version.is_some() {
            tracing::info!(version, rules = rulebook.rule_count(), "permission rules of the store hold");
        }
        self.state.store(Arc::new(StoredState { version, rulebook, fault: None, is_unknown: false }));
        self.changed.send_replace(());
    }

    /// The newest cannot be used: whatever holds stays.
    fn keep(&self, newest: &str, why: &str) {
        let before = self.state.load();
        let (version, is_unknown) = (before.version, before.is_unknown);
        let instead = match (is_unknown, version) {
            (true, _) => "so nobody below the role write is let in".to_owned(),
            (false, Some(version)) => format!("so version {version} still holds"),
            (false, None) => "so still none of them hold".to_owned(),
        };
        let fault = format!(
            "{newest} of the permission rules in the store cannot be used, {instead}: {why}; put others there with `permissions set` or `permissions rollback`"
        );
        tracing::error!(fault, "the permission rules in the store cannot be used");
        let rulebook = before.rulebook.clone();
        self.state.store(Arc::new(StoredState { version, rulebook, fault: Some(fault), is_unknown }));
    }
}

#[async_trait]
impl RecordListener for StoredRules {
    fn kinds(&self) -> &'static [&'static str] {
        &[KIND]
    }

    fn take(&self, records: &[Record]) {
        let mut heard = self.heard();
        for record in records.iter().filter(|record| record.kind == KIND) {
            match (version_of(&record.id), &record.body) {
                (Some(version), Some(body)) => {
                    let view =
                        RulesVersion::of(version, VersionRecord::read(body).as_ref().map_err(Clone::clone));
                    heard.versions.insert(version, HeardVersion { number: record.number, view });
                }
                (Some(version), None) => {
                    heard.versions.remove(&version);
                }
                (None, Some(_)) => heard.strange = Some(record.id.clone()),
                (None, None) => heard.strange = heard.strange.take().filter(|id| *id != record.id),
            }
        }
    }

    async fn settle(&self) -> Result<(), StoreError> {
        let newest = self.heard().newest();
        if self.heard().looked_at.as_ref() == Some(&newest) {
            return Ok(());
        }
        match &newest {
            (Some(id), _) => self.keep(&format!("the record {id:?}"), "this program writes none like it"),
            (None, None) => self.hold(None, Rulebook::default()),
            (None, Some((version, _))) => match self.read(*version).await? {
                // It went just now, of which the next look tells.
                None => return Ok(()),
                Some(Ok(rulebook)) => self.hold(Some(*version), rulebook),
                Some(Err(why)) => self.keep(&format!("version {version}"), &why),
            },
        }
        self.heard().looked_at = Some(newest);
        Ok(())
    }
}

/// Text that can stand in one line.
fn is_note(note: &str) -> bool {
    note.chars().nth(LONGEST_NOTE).is_none() && !note.chars().any(char::is_control)
}

fn written(version: i64, new: &NewRules, author: &Author, differences: &[Difference]) -> RecordWrite {
    let record = VersionRecord {
        document: new.document.clone(),
        who: author.who.clone(),
        at: rfc3339(SystemTime::now()),
        via: author.via.clone(),
        note: new.note.clone(),
    };
    RecordWrite {
        kind: KIND.to_owned(),
        id: id_of(version),
        body: Some(json!(record).to_string()),
        // Of two who write at once, one is refused.
        expected: Some(0),
        audited: Some(RecordAudit {
            author: author.clone(),
            action: new.action.to_owned(),
            tenant: None,
            name: format!("permissions version {version}"),
            changes: json!(differences).to_string(),
        }),
    }
}
