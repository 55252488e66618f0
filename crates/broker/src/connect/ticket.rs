//! An invitation to connect an account, in the store, so that any replica can take it up, and each only once.

use serde::{Deserialize, Serialize};
use toolrail_core::{GrantServer, Identity, RecordWrite, RecordWritten};

use super::Connections;
use crate::answer::Failure;
use crate::keys::Purpose;
use crate::sessions::now;

/// The kind of these records in the store.
pub(super) const KIND: &str = "connect_ticket";
/// For how many seconds one is good.
pub(super) const SECONDS: u64 = 900;
/// One that is good for less is not handed out again.
const FRESH_SECONDS: u64 = 300;
/// The most that one person has at once, and all together.
const MOST_OF_ONE: usize = 20;
const MOST: usize = 10_000;

/// An invitation.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Ticket {
    pub(super) server: GrantServer,
    /// Which grant it leads to.
    pub(super) grant: String,
    pub(super) person: Grantor,
    pub(super) until: u64,
}

/// Whose account it is to be.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Grantor {
    /// What tells him from every other (`Identity::id`).
    pub(super) id: String,
    pub(super) name: String,
    pub(super) tenant: Option<String>,
}

/// What is remembered of one.
#[derive(Clone)]
pub(super) struct PendingTicket {
    pub(super) grant: String,
    pub(super) person: String,
    pub(super) until: u64,
    pub(super) number: i64,
}

impl Grantor {
    pub(super) fn of(identity: &Identity) -> Self {
        let tenant = identity.tenant.as_ref().map(ToString::to_string);
        Self { id: identity.id.to_string(), name: identity.name.clone(), tenant }
    }
}

impl Connections {
    /// A ticket for that; the one that was handed out before, if it is still fresh.
    pub(super) async fn ticket(
        &self,
        server: &GrantServer,
        grant: &str,
        person: Grantor,
    ) -> Result<String, Failure> {
        let now = now();
        {
            let memory = self.lock();
            let live = || memory.tickets.iter().filter(|(_, pending)| pending.until > now);
            let is_same =
                |pending: &PendingTicket| pending.grant == grant && pending.until > now + FRESH_SECONDS;
            if let Some((id, _)) = live().find(|(_, pending)| is_same(pending)) {
                return Ok(id.clone());
            }
            let own = live().filter(|(_, pending)| pending.person == person.id).count();
            if own >= MOST_OF_ONE || live().count() >= MOST {
                let told =
                    "too many accounts are being connected at the moment; try again in a quarter of an hour";
                return Err(Failure::unavailable(told));
            }
        }
        let keys = self.keys().await?;
        let id = keys.random_text()?;
        let until = now + SECONDS;
        let ticket = Ticket { server: server.clone(), grant: grant.to_owned(), person, until };
        let body = keys.seal(Purpose::ConnectTicket, &ticket)?;
        let write = RecordWrite {
            kind: KIND.to_owned(),
            id: id.clone(),
            body: Some(body),
            expected: Some(0),
            audited: None,
        };
        let RecordWritten::Done(number) = self.store.write_record(&write).await? else {
            return Err(Failure::unavailable("the store has no room for it; tell whoever runs the gateway"));
        };
        let pending = PendingTicket { grant: ticket.grant, person: ticket.person.id, until, number };
        self.lock().tickets.insert(id.clone(), pending);
        Ok(id)
    }

    /// The ticket of that id, if it is good, and the number of its record.
    pub(super) async fn find_ticket(&self, id: &str) -> Result<Option<(Ticket, i64)>, Failure> {
        if id.len() > 64 {
            return Ok(None);
        }
        let keys = self.keys().await?;
        let Some(record) = self.store.record(KIND, id).await? else { return Ok(None) };
        let ticket: Option<Ticket> =
            record.body.as_deref().and_then(|body| keys.open_long(Purpose::ConnectTicket, body));
        Ok(ticket.filter(|ticket| ticket.until > now()).map(|ticket| (ticket, record.number)))
    }

    /// Takes the ticket away; false if somebody else was quicker.
    pub(super) async fn spend(&self, id: &str, number: i64) -> Result<bool, Failure> {
        let write = RecordWrite {
            kind: KIND.to_owned(),
            id: id.to_owned(),
            body: None,
            expected: Some(number),
            audited: None,
        };
        let written = self.store.write_record(&write).await?;
        self.lock().tickets.remove(id);
        Ok(matches!(written, RecordWritten::Done(_)))
    }
}
