//! The desk at which calls wait for a decision. What lies there are records of the store: a few places for each who calls, so
//! that nobody fills the store, and a place is taken by one only.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, OnceCell, Semaphore, SemaphorePermit, watch};
use toolrail_core::{
    Author, CallError, ErrorCode, RecordAudit, RecordWrite, RecordWritten, Store, StoreError, Way,
    author_name, hexadecimal,
};

use super::approved::Round;
use super::board::{ApprovalBoard, Paper, ROUND_KIND};
use super::digest::digest_of;
use super::form::FormAnswer;
use super::needed::ToApprove;
use super::record::{ApprovalRecord, ApprovalState, KIND, asker_of, now};

/// The most calls of one caller that lie here, those of one tenant that wait, and of all of them.
const MOST_OF_ONE: usize = 50;
const MOST_OF_TENANT: usize = 200;
const MOST_IN_ALL: usize = 500;
/// The most papers of any sort.
const MOST_PAPERS: usize = 5_000;
/// The most calls that wait in this process with somebody on the line.
const MOST_WAITING: usize = 1_000;
/// Those of one caller.
const MOST_WAITING_OF_ONE: usize = 100;
/// How often a write is tried that others are in the way of.
const TRIES: usize = 20;
/// How often what is over is taken away, and how much of it at once.
const SWEEP: Duration = Duration::from_secs(15);
const MOST_SWEPT: usize = 100;
/// The kind of the records under which answers to forms get into the audit record.
const ANSWER_KIND: &str = "approval_answer";
/// The name of the key of the store that digests are made with.
const SALT: &str = "approvals";
/// Who takes away what is over, in the audit record.
const GATEWAY: &str = "gateway";

/// Where calls wait for a person.
pub struct ApprovalDesk {
    store: OnceLock<Arc<dyn Store>>,
    board: Mutex<ApprovalBoard>,
    /// Stirred when anything on the board has changed.
    pub(super) changed: watch::Sender<()>,
    /// Whoever has this looks into the store for all who wait.
    pub(super) leading: Mutex<()>,
    /// Room for those who wait, and how many each has.
    places: Semaphore,
    waiting: std::sync::Mutex<HashMap<String, usize>>,
    salt: OnceCell<String>,
}

impl Default for ApprovalDesk {
    fn default() -> Self {
        Self {
            store: OnceLock::new(),
            board: Mutex::default(),
            changed: watch::Sender::new(()),
            leading: Mutex::default(),
            places: Semaphore::new(MOST_WAITING),
            waiting: std::sync::Mutex::default(),
            salt: OnceCell::new(),
        }
    }
}

impl ApprovalDesk {
    /// Keeps what lies here in that store from now on.
    pub(crate) fn connect(&self, store: Arc<dyn Store>) {
        // A desk stays with the store it began with.
        let _ = self.store.set(store);
    }

    pub(super) fn store(&self) -> Result<&dyn Store, CallError> {
        let nowhere = || CallError::new(ErrorCode::Internal, "approvals are not kept here");
        self.store.get().map(|store| &**store).ok_or_else(nowhere)
    }

    /// What lies here, as it was last read.
    pub(super) async fn board(&self) -> MutexGuard<'_, ApprovalBoard> {
        self.board.lock().await
    }

    /// Reads what is new.
    pub(super) async fn refresh(&self) -> Result<(), CallError> {
        let store = self.store()?;
        if self.board().await.refresh(store).await.map_err(unavailable)? {
            self.changed.send_replace(());
        }
        Ok(())
    }

    /// What lies here for that very call; put up if there is nothing.
    pub(super) async fn paper_of(&self, call: &ToApprove<'_>) -> Result<Paper, CallError> {
        for _ in 0..TRIES {
            self.refresh().await?;
            let found = self.board().await.of_call(asker_of(call.principal), &call.digest).cloned();
            match found {
                Some(paper) if !paper.record.is_over() => return Ok(paper),
                Some(paper) => self.end(&paper).await?,
                None => self.put_up(call).await?,
            }
        }
        Err(busy())
    }

    async fn put_up(&self, call: &ToApprove<'_>) -> Result<(), CallError> {
        if self.board().await.len() >= MOST_PAPERS {
            self.sweep().await?;
        }
        self.make_room(asker_of(call.principal)).await?;
        let Some(slot) = self.free_slot(call).await? else {
            return Ok(());
        };
        let write = RecordWrite {
            kind: KIND.to_owned(),
            id: slot,
            body: Some(record_of(call)?.write()),
            expected: Some(0),
            audited: None,
        };
        match self.store()?.write_record(&write).await.map_err(unavailable)? {
            // Whoever took the place first may have put up the same.
            RecordWritten::Done(_) | RecordWritten::Otherwise => Ok(()),
            RecordWritten::NoRoom => Err(full("in all")),
        }
    }

    /// What was denied makes room for what is asked next.
    async fn make_room(&self, asker: &str) -> Result<(), CallError> {
        let denied = {
            let board = self.board().await;
            let own: Vec<&Paper> = board.all().filter(|paper| paper.record.asker == asker).collect();
            let denied = own.iter().filter(|paper| paper.record.state == ApprovalState::Denied);
            let oldest = denied.min_by_key(|paper| paper.record.created).map(|paper| (*paper).clone());
            oldest.filter(|_| own.len() >= MOST_OF_ONE)
        };
        match denied {
            Some(paper) => self.end(&paper).await,
            None => Ok(()),
        }
    }

    /// Where a call can be put up; nowhere if it has been meanwhile.
    async fn free_slot(&self, call: &ToApprove<'_>) -> Result<Option<String>, CallError> {
        let (asker, board) = (asker_of(call.principal), self.board().await);
        if board.of_call(asker, &call.digest).is_some() {
            return Ok(None);
        }
        let tenant = call.principal.tenant();
        let waiting = || board.all().filter(|paper| paper.record.state == ApprovalState::Pending);
        if waiting().count() >= MOST_IN_ALL || board.len() >= MOST_PAPERS {
            return Err(full("in all"));
        }
        let is_theirs = |paper: &&Paper| paper.record.tenant.as_deref() == tenant;
        if tenant.is_some() && waiting().filter(is_theirs).count() >= MOST_OF_TENANT {
            return Err(full("of this tenant"));
        }
        let digest = digest_of(&[asker]);
        // The same call always begins at the same place, so that no two replicas put it up twice; others begin elsewhere.
        let first = call.digest.bytes().map(usize::from).sum::<usize>();
        let mut slots =
            (0..MOST_OF_ONE).map(|place| format!("{}.{}", &digest[..32], (first + place) % MOST_OF_ONE));
        slots.find(|slot| !board.has(slot)).map(Some).ok_or_else(|| full("of this caller"))
    }

    /// Takes an approval away because the call is made now; false if somebody else was faster.
    pub(super) async fn consume(&self, paper: &Paper, call: &ToApprove<'_>) -> Result<bool, CallError> {
        self.remove(paper, Some(("approval.use", call.author()))).await
    }

    /// Takes away what is over. What nobody decided, or nobody used, is told in the audit record.
    pub(super) async fn end(&self, paper: &Paper) -> Result<(), CallError> {
        let author = Author { who: GATEWAY.to_owned(), address: None, via: GATEWAY.to_owned() };
        let audited = (paper.record.state != ApprovalState::Denied).then_some(("approval.expire", author));
        self.remove(paper, audited).await.map(|_| ())
    }

    async fn remove(&self, paper: &Paper, audited: Option<(&str, Author)>) -> Result<bool, CallError> {
        let write = RecordWrite {
            kind: KIND.to_owned(),
            id: paper.slot.clone(),
            body: None,
            expected: Some(paper.number),
            audited: audited.map(|(action, author)| audit(&paper.record, action, author)),
        };
        let written = self.store()?.write_record(&write).await.map_err(unavailable)?;
        self.refresh().await?;
        Ok(matches!(written, RecordWritten::Done(_)))
    }

    /// Takes away what is over.
    pub(super) async fn sweep(&self) -> Result<(), CallError> {
        self.refresh().await?;
        let over: Vec<Paper> = self
            .board()
            .await
            .all()
            .filter(|paper| paper.record.is_over())
            .take(MOST_SWEPT)
            .cloned()
            .collect();
        for paper in over {
            self.end(&paper).await?;
        }
        let rounds: Vec<String> = self.board().await.late_rounds(now()).take(MOST_SWEPT).collect();
        for id in rounds {
            let write =
                RecordWrite { kind: ROUND_KIND.to_owned(), id, body: None, expected: None, audited: None };
            self.store()?.write_record(&write).await.map_err(unavailable)?;
        }
        Ok(())
    }

    /// Keeps the desk tidy until the future is dropped.
    pub(crate) async fn follow(&self) {
        loop {
            tokio::time::sleep(SWEEP).await;
            if let Err(error) = self.sweep().await {
                tracing::debug!(%error, "approvals cannot be looked at");
            }
        }
    }

    /// A place to wait at, if there is one left for that caller.
    pub(super) fn place_for(&self, asker: &str) -> Option<WaitingPlace<'_>> {
        let permit = self.places.try_acquire().ok()?;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let own = waiting.entry(asker.to_owned()).or_default();
        if *own >= MOST_WAITING_OF_ONE {
            return None;
        }
        *own += 1;
        Some(WaitingPlace { desk: self, asker: asker.to_owned(), _permit: permit })
    }

    /// What makes the digests of arguments ours: nobody finds a short secret among them by trying.
    pub(super) async fn salt(&self) -> Result<String, CallError> {
        let made =
            async { self.store()?.shared_key(SALT).await.map(|key| hexadecimal(&key)).map_err(unavailable) };
        self.salt.get_or_try_init(|| made).await.cloned()
    }

    /// Lets a client whose call was approved come back with answers; false if it has done so before, or is late.
    pub(super) async fn use_round(&self, round: &Round) -> Result<bool, CallError> {
        if round.until <= now() {
            return Ok(false);
        }
        let write = RecordWrite {
            kind: ROUND_KIND.to_owned(),
            id: round.id.clone(),
            body: Some(round.until.to_string()),
            expected: Some(0),
            audited: None,
        };
        match self.store()?.write_record(&write).await.map_err(unavailable)? {
            RecordWritten::Done(_) => Ok(true),
            RecordWritten::Otherwise => Ok(false),
            RecordWritten::NoRoom => Err(full("in all")),
        }
    }

    /// Notes how the client's own user answered. What cannot be noted is not carried out.
    pub(super) async fn note_answer(
        &self,
        call: &ToApprove<'_>,
        answer: &FormAnswer,
    ) -> Result<(), CallError> {
        let action = if answer.approves { "approval.approve" } else { "approval.deny" };
        let author = call.author();
        let record = ApprovalRecord {
            decided_by: Some(author.who.clone()),
            reason: answer.reason.clone(),
            ..record_of(call)?
        };
        let mut write = RecordWrite {
            kind: ANSWER_KIND.to_owned(),
            id: digest_of(&[asker_of(call.principal)])[..32].to_owned(),
            body: Some("{}".to_owned()),
            expected: None,
            audited: Some(audit(&record, action, author)),
        };
        match self.store()?.write_record(&write).await.map_err(unavailable)? {
            RecordWritten::Done(_) => {}
            RecordWritten::Otherwise | RecordWritten::NoRoom => return Err(busy()),
        }
        // Only the audit record is to keep it.
        write.body = None;
        write.audited = None;
        self.store()?.write_record(&write).await.map_err(unavailable).map(|_| ())
    }
}

/// A place at which a call waits.
pub(super) struct WaitingPlace<'d> {
    desk: &'d ApprovalDesk,
    asker: String,
    _permit: SemaphorePermit<'d>,
}

impl Drop for WaitingPlace<'_> {
    fn drop(&mut self) {
        let mut waiting = self.desk.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = waiting.get_mut(&self.asker) {
            *own -= 1;
            if *own == 0 {
                waiting.remove(&self.asker);
            }
        }
    }
}

/// What the audit record says of an approval.
pub(super) fn audit(record: &ApprovalRecord, action: &str, author: Author) -> RecordAudit {
    let changes = json!({
        "approval": record.id,
        "askedBy": record.asked_by,
        "decidedBy": record.decided_by,
        "reason": record.reason,
        "arguments": format!("sha256:{}", record.arguments),
        "definition": format!("sha256:{}", record.version),
    });
    RecordAudit {
        author,
        action: action.to_owned(),
        tenant: record.tenant.clone(),
        name: record.tool.clone(),
        changes: changes.to_string(),
    }
}

fn record_of(call: &ToApprove<'_>) -> Result<ApprovalRecord, CallError> {
    let (created, within) = (now(), call.rule.within.as_secs());
    Ok(ApprovalRecord {
        id: fresh_id("ap_")?,
        tool: call.tool.to_owned(),
        tenant: call.principal.tenant().map(str::to_owned),
        asker: asker_of(call.principal).to_owned(),
        asked_by: author_name(call.principal.name().unwrap_or_default()),
        call: call.digest.clone(),
        version: call.version.to_owned(),
        arguments: call.arguments.clone(),
        message: call.rule.message.clone(),
        by: call.rule.by.clone(),
        created,
        until: created.saturating_add(within),
        within,
        state: ApprovalState::Pending,
        decided_by: None,
        reason: None,
        shown: Some(call.shown.clone()).filter(|shown| *shown != Value::Null),
    })
}

/// An id that nobody has yet.
pub(super) fn fresh_id(prefix: &str) -> Result<String, CallError> {
    let mut bytes = [0; 10];
    let dry = |_| CallError::new(ErrorCode::Internal, "the system gives no random numbers");
    getrandom::fill(&mut bytes).map_err(dry)?;
    Ok(format!("{prefix}{}", hexadecimal(&bytes)))
}

impl ToApprove<'_> {
    /// Whoever calls, for the audit record.
    pub(super) fn author(&self) -> Author {
        Author {
            who: author_name(self.principal.name().unwrap_or_default()),
            address: self.caller.address().map(|address| address.to_string()),
            via: Way::Mcp.word().to_owned(),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
pub(super) fn unavailable(error: StoreError) -> CallError {
    let message = format!("nobody can be asked to approve of the call: {error}; nothing was sent");
    CallError::new(ErrorCode::StoreUnavailable, message)
}

pub(super) fn busy() -> CallError {
    CallError::new(ErrorCode::Conflict, "the approval is being changed by others; try again")
}

fn full(of: &str) -> CallError {
    let message =
        format!("too many calls {of} wait for approval; have them decided, or wait until their time is over");
    CallError::new(ErrorCode::Overloaded, message)
}
