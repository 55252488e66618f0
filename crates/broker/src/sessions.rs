//! Those who are signed in, in the store: every step is one write that expects what was read before, so that of two replicas that
//! are shown the same text at the same moment, one is refused. Follows the store, to know on every replica whose session is over.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tokio::sync::MutexGuard;
use toolrail_core::{
    Author, Record, RecordAudit, RecordWrite, RecordWritten, Store, StoreError, hexadecimal,
};
use toolrail_identity::{Moment, SessionView, Withdrawal};

use crate::answer::Failure;
use crate::keys::{Keys, Purpose, hash_of};
use crate::session::{Session, Shown};
use crate::settings::LONGEST_TOKEN_SECONDS;
use crate::signing::SigningKeys;

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

/// For how many seconds a refresh token that was used gives the same successor again, to the same client: some refresh twice at once.
const GRACE: u64 = 10;
/// How often it is looked whether another replica has gone on.
const SOON: usize = 4;
/// How many may refresh at the same time; two of one session never do.
const TURNS: usize = 256;
/// The most characters of a name that are shown.
const LONGEST_NAME: usize = 120;

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
    /// The number of the newest record that was read.
    place: tokio::sync::Mutex<i64>,
    turns: Vec<tokio::sync::Mutex<()>>,
    signing: Arc<SigningKeys>,
}

/// What is remembered of a session that is not over.
struct Live {
    /// The hash of whose it is.
    subject: String,
    ends: u64,
    number: i64,
    view: SessionView,
}

/// A session as it was read.
pub(crate) struct Found {
    pub(crate) session: Session,
    number: i64,
}

impl Sessions {
    pub(crate) fn new(store: Arc<dyn Store>, issuer: String, signing: Arc<SigningKeys>) -> Self {
        Self {
            store,
            issuer,
            caught_up: AtomicBool::new(false),
            over: RwLock::default(),
            live: Mutex::default(),
            place: tokio::sync::Mutex::default(),
            turns: (0..TURNS).map(|_| tokio::sync::Mutex::default()).collect(),
            signing,
        }
    }

    /// The turn of a session to go on: waits while somebody else goes on with it here.
    pub(crate) async fn turn_of(&self, id: &str) -> Option<MutexGuard<'_, ()>> {
        let place = id.bytes().fold(0, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        Some(self.turns.get(place % TURNS)?.lock().await)
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

    /// The session that a text stands for, if it is not over. A text that was shown before ends it, unless that was just now.
    pub(crate) async fn find(&self, keys: &Keys, shown: &Shown) -> Result<Found, Failure> {
        let record = self.store.record(KIND, &shown.id).await?;
        let found = record.and_then(|record| read(keys, &record)).ok_or_else(gone)?;
        if shown.generation != found.session.generation && !found.is_successor_of(shown) {
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

    /// The session, if somebody has just gone on with it by that very text.
    pub(crate) async fn successor(&self, keys: &Keys, shown: &Shown) -> Result<Option<Found>, Failure> {
        let record = self.store.record(KIND, &shown.id).await?;
        let found = record.and_then(|record| read(keys, &record));
        Ok(found.filter(|found| found.is_successor_of(shown) && found.session.ends() > now()))
    }

    /// The same, if somebody is about to.
    pub(crate) async fn successor_soon(&self, keys: &Keys, shown: &Shown) -> Result<Option<Found>, Failure> {
        for _ in 0..SOON {
            if let Some(found) = self.successor(keys, shown).await? {
                return Ok(Some(found));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(None)
    }

    /// Goes on to the next refresh token. If somebody else did so meanwhile, the text was shown twice: of a refresh token, both get
    /// the same; of a code, neither gets far.
    pub(crate) async fn advance(
        &self,
        keys: &Keys,
        id: &str,
        (mut session, number): (Session, i64),
    ) -> Result<(Session, String), Failure> {
        let shown = Shown { id: id.to_owned(), generation: session.generation };
        session.generation += 1;
        session.advanced = now();
        match self.write(keys, id, (Some(&session), number), None).await? {
            RecordWritten::Done(_) => {
                let refresh = Shown::refresh(id, session.generation, keys);
                Ok((session, refresh))
            }
            RecordWritten::Otherwise | RecordWritten::NoRoom => {
                if let Some(found) = self.successor(keys, &shown).await? {
                    let refresh = Shown::refresh(id, found.session.generation, keys);
                    return Ok((found.session, refresh));
                }
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
        self.remove(id, audited).await
    }

    async fn remove(&self, id: &str, audited: RecordAudit) -> Result<(), Failure> {
        self.store.write_record(&removal(id, None, Some(audited))).await?;
        // Here at once; elsewhere when the store is looked at.
        self.is_gone(id);
        Ok(())
    }

    /// Those of a tenant, or all, the newest first.
    pub(crate) async fn list(&self, keys: &Keys, tenant: Option<&str>) -> Result<Vec<SessionView>, Failure> {
        self.read_new(keys).await?;
        let now = now();
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let here = live.values().filter(|live| live.ends > now);
        let theirs = here.filter(|live| tenant.is_none() || live.view.tenant.as_deref() == tenant);
        let mut views: Vec<SessionView> = theirs.map(|live| live.view.clone()).collect();
        views.sort_by(|one, other| (other.begun, &one.id).cmp(&(one.begun, &other.id)));
        Ok(views)
    }

    /// Ends the session of that id, or all of the person of that name, among those of a tenant; gives how many.
    pub(crate) async fn end_for(
        &self,
        keys: &Keys,
        (which, tenant): (&str, Option<&str>),
        author: &Author,
    ) -> Result<usize, Failure> {
        let all = self.list(keys, tenant).await?;
        let mut ended = 0;
        for view in all.iter().filter(|view| view.id == which || view.name == which) {
            let audited = RecordAudit {
                author: author.clone(),
                action: "session.end".to_owned(),
                tenant: view.tenant.clone(),
                name: view.name.clone(),
                changes: json!({"client": view.client}).to_string(),
            };
            self.remove(&view.id, audited).await?;
            ended += 1;
        }
        Ok(ended)
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
        let (mut failing, mut swept) = (false, tokio::time::Instant::now());
        loop {
            let looked = async {
                self.read_new(keys).await?;
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

    async fn read_new(&self, keys: &Keys) -> Result<(), StoreError> {
        let mut place = self.place.lock().await;
        let number = &mut *place;
        let newest = self.store.record_number().await?;
        if *number != 0 && *number == newest {
            return Ok(());
        }
        loop {
            let page = self.store.records_after(*number, &[KIND]).await?;
            let Some(last) = page.last() else {
                // What else there is was for others.
                *number = newest.max(*number);
                return Ok(());
            };
            *number = last.number;
            for record in &page {
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
        let short = |name: &str| name.chars().take(LONGEST_NAME).collect::<String>();
        let view = SessionView {
            id: id.to_owned(),
            name: short(&session.name),
            client: short(&session.asked.name),
            tenant: session.tenant.clone(),
            begun: Moment(session.begun),
            until: Moment(session.ends()),
        };
        let live = Live { subject: hash_of(&session.subject), ends: session.ends(), number, view };
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
    /// Whether it has just gone on by that very text, which was no code: a code is good once, however soon it is shown again.
    pub(crate) fn is_successor_of(&self, shown: &Shown) -> bool {
        let Session { generation, advanced, .. } = self.session;
        shown.generation > 0 && shown.generation + 1 == generation && now().saturating_sub(advanced) < GRACE
    }

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

    fn key_changes(&self) -> u64 {
        self.signing.changes()
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
        let signing = Arc::new(SigningKeys::new(Arc::clone(&store), "https://id".to_owned()));
        let keys = Keys::from_shared(&[1; 32], "https://id").unwrap();
        (Sessions::new(store, "https://t".to_owned(), signing), keys)
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
            advanced: 0,
            begun,
            until: begun + 600,
            provider_refresh: None,
        }
    }

    async fn begin(sessions: &Sessions, keys: &Keys, subject: &str, begun: u64) -> Shown {
        let code = sessions.begin(keys, &session(subject, begun), None).await.unwrap();
        sessions.read_new(keys).await.unwrap();
        Shown::read_code(&code, keys).unwrap()
    }

    #[tokio::test]
    async fn what_is_over_is_removed_and_nothing_else() {
        let (sessions, keys) = sessions().await;
        let old = begin(&sessions, &keys, "ann", now() - CODE_SECONDS - 1).await;
        let new = begin(&sessions, &keys, "ann", now()).await;
        assert!(sessions.find(&keys, &old).await.is_err(), "a code that is too old");
        sessions.sweep().await.unwrap();
        sessions.read_new(&keys).await.unwrap();
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
    async fn of_two_who_redeem_the_same_code_at_once_neither_gets_far() {
        let (sessions, keys) = sessions().await;
        let shown = begin(&sessions, &keys, "ann", now()).await;
        let one = sessions.find(&keys, &shown).await.unwrap();
        let other = sessions.find(&keys, &shown).await.unwrap();
        let (_, refresh) = sessions.advance(&keys, &shown.id, one.take()).await.unwrap();
        assert!(sessions.advance(&keys, &shown.id, other.take()).await.is_err());
        let next = Shown::read_refresh(&refresh, &keys).unwrap();
        assert!(sessions.find(&keys, &next).await.is_err() && sessions.is_over(&shown.id));
    }

    #[tokio::test]
    async fn of_two_who_refresh_at_once_both_get_the_same_and_nobody_later() {
        let (sessions, keys) = sessions().await;
        let code = begin(&sessions, &keys, "ann", now()).await;
        let found = sessions.find(&keys, &code).await.unwrap();
        let (_, first) = sessions.advance(&keys, &code.id, found.take()).await.unwrap();
        let shown = Shown::read_refresh(&first, &keys).unwrap();
        let [one, other] =
            [sessions.find(&keys, &shown).await.unwrap(), sessions.find(&keys, &shown).await.unwrap()];
        let (_, refresh) = sessions.advance(&keys, &shown.id, one.take()).await.unwrap();
        let (_, again) = sessions.advance(&keys, &shown.id, other.take()).await.unwrap();
        assert_eq!(refresh, again);
        let soon = sessions.find(&keys, &shown).await.unwrap();
        assert!(soon.is_successor_of(&shown) && !soon.is_successor_of(&code));

        // The same a while later.
        let (mut session, number) = soon.take();
        session.advanced -= GRACE + 1;
        sessions.write(&keys, &shown.id, (Some(&session), number), None).await.unwrap();
        assert!(sessions.find(&keys, &shown).await.is_err() && sessions.is_over(&shown.id));
        let next = Shown::read_refresh(&refresh, &keys).unwrap();
        assert!(sessions.find(&keys, &next).await.is_err(), "whoever has the successor is out too");
    }

    #[tokio::test]
    async fn a_code_is_good_once_however_soon_it_is_shown_again() {
        let (sessions, keys) = sessions().await;
        let code = begin(&sessions, &keys, "ann", now()).await;
        let found = sessions.find(&keys, &code).await.unwrap();
        sessions.advance(&keys, &code.id, found.take()).await.unwrap();
        assert!(sessions.find(&keys, &code).await.is_err() && sessions.is_over(&code.id));
    }

    #[tokio::test]
    async fn whoever_administers_lists_and_ends_those_of_his_tenant() {
        let (sessions, keys) = sessions().await;
        for (subject, tenant, ago) in [("ann", Some("acme"), 9), ("ann", None, 5), ("bob", Some("acme"), 1)] {
            let session = Session { tenant: tenant.map(str::to_owned), ..session(subject, now() - ago) };
            sessions.begin(&keys, &session, None).await.unwrap();
        }
        let names = async |tenant: Option<&'static str>| {
            let views = sessions.list(&keys, tenant).await.unwrap();
            views.into_iter().map(|view| view.name).collect::<Vec<_>>()
        };
        assert_eq!(names(None).await, ["bob", "ann", "ann"]);
        assert_eq!(names(Some("acme")).await, ["bob", "ann"]);
        assert_eq!(names(Some("globex")).await, [""; 0]);
        let author = Author { who: "boss".to_owned(), address: None, via: "cli".to_owned() };
        let bobs = sessions.list(&keys, None).await.unwrap().remove(0).id;
        assert_eq!(sessions.end_for(&keys, (&bobs, Some("globex")), &author).await.unwrap(), 0);
        assert_eq!(sessions.end_for(&keys, ("ann", Some("acme")), &author).await.unwrap(), 1);
        assert_eq!(sessions.end_for(&keys, (&bobs, None), &author).await.unwrap(), 1);
        assert!(sessions.is_over(&bobs));
        assert_eq!(names(None).await, ["ann"]);
    }
}
