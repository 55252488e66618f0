//! Those who are signed in, in the store: every step is one write that expects what was read before, so that of two replicas that
//! are shown the same text at the same moment, one is refused. Follows the store, to know on every replica whose session is over.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use toolrail_core::{
    Author, Record, RecordAudit, RecordWrite, RecordWritten, Store, StoreError, hexadecimal,
};
use toolrail_identity::Withdrawal;

use crate::answer::Failure;
use crate::keys::{Keys, Purpose, hash_of};
use crate::session::{Session, Shown};
use crate::settings::LONGEST_TOKEN_SECONDS;

/// The kind of these records in the store.
const KIND: &str = "oauth_session";
/// By what way sign-ins stand in the audit record.
const VIA: &str = "sign-in";
/// How often the store is asked whether there is anything new.
const LOOK: Duration = Duration::from_millis(250);
/// How often what is over is removed, and how much at once.
const SWEEP: Duration = Duration::from_secs(30);
const AT_ONCE: usize = 200;
/// The most sessions of one person; a further one ends the oldest.
const MOST_OF_ONE: usize = 100;

/// The sessions of a store.
pub(crate) struct Sessions {
    store: Arc<dyn Store>,
    /// Who issues their tokens: this gateway.
    issuer: String,
    /// Whether everything was read once.
    caught_up: AtomicBool,
    /// Until when it matters that a session is over.
    over: RwLock<HashMap<String, u64>>,
    live: Mutex<HashMap<String, Live>>,
}

/// What is remembered of a session that is not over.
struct Live {
    /// The hash of whose it is.
    subject: String,
    ends: u64,
    number: i64,
}

/// A session as it was read.
pub(crate) struct Found {
    pub(crate) session: Session,
    number: i64,
}

impl Sessions {
    pub(crate) fn new(store: Arc<dyn Store>, issuer: String) -> Self {
        let (over, live) = (RwLock::default(), Mutex::default());
        Self { store, issuer, caught_up: AtomicBool::new(false), over, live }
    }

    /// Begins one; gives its code.
    pub(crate) async fn begin(
        &self,
        keys: &Keys,
        session: &Session,
        address: Option<String>,
    ) -> Result<String, Failure> {
        self.end_oldest_of(&session.subject).await?;
        let id = hexadecimal(&keys.random::<16>()?);
        let changes = json!({"client": session.asked.name, "redirect": session.asked.redirect});
        let audited = Some(audit(session, "session.begin", changes.to_string(), address));
        match self.write(keys, &id, (Some(session), 0), audited).await? {
            RecordWritten::Done(number) => {
                // Known here at once: of very many at a time, each must see the others.
                self.note_begun(&id, session, number);
                Ok(Shown::code(&id, keys))
            }
            RecordWritten::Otherwise => Err(Failure::internal("two sessions got the same id")),
            RecordWritten::NoRoom => {
                Err(Failure::unavailable("too many people are signed in; tell whoever runs the gateway"))
            }
        }
    }

    /// The session that a text stands for, if it is not over. A text that was shown before ends it.
    pub(crate) async fn find(&self, keys: &Keys, shown: &Shown) -> Result<Found, Failure> {
        let record = self.store.record(KIND, &shown.id).await?;
        let found = record.and_then(|record| read(keys, &record)).ok_or_else(gone)?;
        if shown.generation != found.session.generation {
            self.end(&shown.id, &found.session, "session.replayed").await?;
            return Err(gone());
        }
        if found.session.ends() <= now() {
            return Err(gone());
        }
        Ok(found)
    }

    /// The session of that id, whatever was shown.
    pub(crate) async fn look_up(&self, keys: &Keys, id: &str) -> Result<Option<Session>, Failure> {
        let record = self.store.record(KIND, id).await?;
        Ok(record.and_then(|record| read(keys, &record)).map(|found| found.session))
    }

    /// Goes on to the next refresh token. If somebody else did so meanwhile, the text was shown twice.
    pub(crate) async fn advance(
        &self,
        keys: &Keys,
        id: &str,
        (mut session, number): (Session, i64),
    ) -> Result<(Session, String), Failure> {
        session.generation += 1;
        match self.write(keys, id, (Some(&session), number), None).await? {
            RecordWritten::Done(_) => {
                let refresh = Shown::refresh(id, session.generation, keys);
                Ok((session, refresh))
            }
            RecordWritten::Otherwise | RecordWritten::NoRoom => {
                self.end(id, &session, "session.replayed").await?;
                Err(gone())
            }
        }
    }

    /// Ends one, with all its tokens.
    pub(crate) async fn end(&self, id: &str, session: &Session, action: &str) -> Result<(), Failure> {
        if action == "session.replayed" {
            tracing::warn!(name = %session.name, client = %session.asked.name, "a code or refresh token was shown that was used before, so its session is ended");
        }
        let audited = audit(session, action, json!({"client": session.asked.name}).to_string(), None);
        self.store.write_record(&removal(id, None, Some(audited))).await?;
        // Here at once; elsewhere when the store is looked at.
        self.is_gone(id);
        Ok(())
    }

    async fn write(
        &self,
        keys: &Keys,
        id: &str,
        (session, number): (Option<&Session>, i64),
        audited: Option<RecordAudit>,
    ) -> Result<RecordWritten, Failure> {
        let body = session.map(|session| keys.seal(Purpose::Session, session)).transpose()?;
        let write =
            RecordWrite { kind: KIND.to_owned(), id: id.to_owned(), body, expected: Some(number), audited };
        Ok(self.store.write_record(&write).await?)
    }

    /// Makes room for another session of somebody.
    async fn end_oldest_of(&self, subject: &str) -> Result<(), Failure> {
        let subject = hash_of(subject);
        let mut own: Vec<(u64, String)> = {
            let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            let own = live.iter().filter(|(_, live)| live.subject == subject);
            own.map(|(id, live)| (live.ends, id.clone())).collect()
        };
        own.sort_unstable();
        let over = (own.len() + 1).saturating_sub(MOST_OF_ONE).min(AT_ONCE);
        for (_, id) in own.into_iter().take(over) {
            self.store.write_record(&removal(&id, None, None)).await?;
            self.is_gone(&id);
        }
        Ok(())
    }

    /// Keeps up with the store, and removes what is over, until the future is dropped.
    pub(crate) async fn follow(&self, keys: &Keys) {
        let (mut number, mut failing, mut swept) = (0, false, tokio::time::Instant::now());
        loop {
            let looked = async {
                self.read_new(keys, &mut number).await?;
                self.caught_up.store(true, Ordering::Release);
                if swept.elapsed() >= SWEEP {
                    swept = tokio::time::Instant::now();
                    self.sweep().await?;
                }
                Ok::<(), StoreError>(())
            };
            match looked.await {
                Ok(()) => failing = false,
                Err(error) if !failing => {
                    failing = true;
                    tracing::warn!(%error, "sessions cannot be read; those that are known stay good");
                }
                Err(_) => {}
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn read_new(&self, keys: &Keys, number: &mut i64) -> Result<(), StoreError> {
        if *number != 0 && *number == self.store.record_number().await? {
            return Ok(());
        }
        loop {
            let page = self.store.records_after(*number).await?;
            let Some(last) = page.last() else { return Ok(()) };
            *number = last.number;
            for record in page.iter().filter(|record| record.kind == KIND) {
                match read(keys, record) {
                    Some(found) => self.is_there(&record.id, &found),
                    None => self.is_gone(&record.id),
                }
            }
        }
    }

    fn is_there(&self, id: &str, Found { session, number }: &Found) {
        self.note_begun(id, session, *number);
    }

    fn note_begun(&self, id: &str, session: &Session, number: i64) {
        let live = Live { subject: hash_of(&session.subject), ends: session.ends(), number };
        self.live.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), live);
    }

    fn is_gone(&self, id: &str) {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        // After that its tokens have expired, whatever the settings were, and clocks that are apart allowed for.
        let until = now() + LONGEST_TOKEN_SECONDS + 700;
        self.over.write().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), until);
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        let now = now();
        self.over.write().unwrap_or_else(PoisonError::into_inner).retain(|_, until| *until > now);
        let ended: Vec<(String, i64)> = {
            let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            let ended = live.iter().filter(|(_, live)| live.ends <= now);
            ended.take(AT_ONCE).map(|(id, live)| (id.clone(), live.number)).collect()
        };
        for (id, number) in ended {
            // Another replica may have been quicker.
            self.store.write_record(&removal(&id, Some(number), None)).await?;
        }
        Ok(())
    }
}

impl Found {
    /// The session, and what a write of it must find.
    pub(crate) fn take(self) -> (Session, i64) {
        (self.session, self.number)
    }
}

impl Withdrawal for Sessions {
    fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Not before everything was read.
    fn is_ready(&self) -> bool {
        self.caught_up.load(Ordering::Acquire)
    }

    fn is_over(&self, session: &str) -> bool {
        session.is_empty() || self.over.read().unwrap_or_else(PoisonError::into_inner).contains_key(session)
    }
}

fn read(keys: &Keys, record: &Record) -> Option<Found> {
    let session = keys.open_long(Purpose::Session, record.body.as_deref()?)?;
    Some(Found { session, number: record.number })
}

fn removal(id: &str, expected: Option<i64>, audited: Option<RecordAudit>) -> RecordWrite {
    RecordWrite { kind: KIND.to_owned(), id: id.to_owned(), body: None, expected, audited }
}

fn audit(session: &Session, action: &str, changes: String, address: Option<String>) -> RecordAudit {
    RecordAudit {
        author: Author { who: session.name.clone(), address, via: VIA.to_owned() },
        action: action.to_owned(),
        tenant: session.tenant.clone(),
        name: session.name.clone(),
        changes,
    }
}

fn gone() -> Failure {
    Failure::refused("invalid_grant", "it was used before, has expired or was taken back; sign in again")
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use toolrail_store::StoreUrl;

    use super::*;
    use crate::session::{Asked, CODE_SECONDS};

    async fn sessions() -> (Sessions, Keys) {
        let store = toolrail_store::open(&StoreUrl::Memory).await.unwrap();
        (Sessions::new(store, "https://t".to_owned()), Keys::from_shared(&[1; 32], "https://id").unwrap())
    }

    fn session(subject: &str, begun: u64) -> Session {
        let text = String::new;
        let asked = Asked {
            client: text(),
            name: text(),
            redirect: text(),
            state: None,
            challenge: text(),
            resource: text(),
            scope: text(),
        };
        Session {
            subject: subject.to_owned(),
            name: subject.to_owned(),
            tenant: None,
            claims: Map::new(),
            asked,
            generation: 0,
            begun,
            until: begun + 600,
            provider_refresh: None,
        }
    }

    async fn begin(sessions: &Sessions, keys: &Keys, subject: &str, begun: u64) -> Shown {
        let code = sessions.begin(keys, &session(subject, begun), None).await.unwrap();
        sessions.read_new(keys, &mut 0).await.unwrap();
        Shown::read_code(&code, keys).unwrap()
    }

    #[tokio::test]
    async fn what_is_over_is_removed_and_nothing_else() {
        let (sessions, keys) = sessions().await;
        let old = begin(&sessions, &keys, "ann", now() - CODE_SECONDS - 1).await;
        let new = begin(&sessions, &keys, "ann", now()).await;
        assert!(sessions.find(&keys, &old).await.is_err(), "a code that is too old");
        sessions.sweep().await.unwrap();
        sessions.read_new(&keys, &mut 0).await.unwrap();
        assert!(sessions.look_up(&keys, &old.id).await.unwrap().is_none() && sessions.is_over(&old.id));
        assert!(sessions.find(&keys, &new).await.is_ok() && !sessions.is_over(&new.id));
    }

    #[tokio::test]
    async fn one_person_has_so_many_sessions_and_no_more() {
        let (sessions, keys) = sessions().await;
        let other = begin(&sessions, &keys, "bob", now() - 9).await;
        let oldest = begin(&sessions, &keys, "ann", now() - 5).await;
        for _ in 1..=MOST_OF_ONE {
            begin(&sessions, &keys, "ann", now()).await;
        }
        assert!(sessions.is_over(&oldest.id) && !sessions.is_over(&other.id));
        let live = sessions.live.lock().unwrap();
        assert_eq!(live.len(), MOST_OF_ONE + 1);
    }

    #[tokio::test]
    async fn of_two_who_go_on_with_the_same_text_at_once_neither_gets_far() {
        let (sessions, keys) = sessions().await;
        let shown = begin(&sessions, &keys, "ann", now()).await;
        let one = sessions.find(&keys, &shown).await.unwrap();
        let other = sessions.find(&keys, &shown).await.unwrap();
        let (_, refresh) = sessions.advance(&keys, &shown.id, one.take()).await.unwrap();
        assert!(sessions.advance(&keys, &shown.id, other.take()).await.is_err());
        let next = Shown::read_refresh(&refresh, &keys).unwrap();
        assert!(sessions.find(&keys, &next).await.is_err() && sessions.is_over(&shown.id));
    }
}
