//! The other way round: people grant this gateway tokens of their own at the authorisation servers of upstream MCP servers, of which
//! it is a client (OAuth 2.1).
//!
//! ```text
//! invitation ─▶ an address              a ticket in the store       ticket
//! open ───────▶ a page that asks        sealed in its form          flow, pages
//! agree ──────▶ (who are you? ─▶) there sealed in state             flow, discovery, registered
//! callback ───▶ a grant                 one record in the store     flow, grant
//! token ──────▶ renewed when need be    the same record             grant
//! ```

mod discovery;
mod flow;
mod grant;
mod pages;
mod registered;
mod ticket;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::routing::get;
use http::{Request, Response};
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;
use toolrail_core::{
    Author, CallError, ErrorCode, GrantId, GrantServer, GrantView, Invitation, NoToken, OnConnected,
    Principal, Record, RecordListener, Role, Secret, Store, StoreError, UserGrants, async_trait,
};
use url::Url;

use crate::Broker;
use crate::answer::{Failure, public_json};
use crate::keys::{Keys, Purpose, hash_of};
use crate::sessions::now;
pub use discovery::{
    ClientSecret, MOST_ANSWER_BYTES, UpstreamAnswer, UpstreamBody, UpstreamOutbound, UpstreamRequest,
};
use grant::UserGrant;
use pages::{ConnectPage, ConnectTrouble};
use ticket::{Grantor, PendingTicket, Ticket};

/// Where all of this is.
const PLACE: &str = "/connect/";
/// The name of the key of the store that everything follows from.
const SHARED_KEY: &str = "upstream connections";
/// The most who are told that one invitation was followed.
const MOST_TOLD: usize = 16;
/// How many invitations that are over are removed at once.
const AT_ONCE: usize = 100;

/// What people have granted this gateway at upstream servers.
pub struct Connections {
    /// For what goes on without whoever asked for it.
    this: Weak<Self>,
    /// Under which address browsers reach us, without a slash at its end; nobody can be invited without one.
    url: Option<String>,
    /// The same without a path.
    origin: String,
    store: Arc<dyn Store>,
    outbound: Arc<dyn UpstreamOutbound>,
    /// Knows who somebody is that signs in, where people do.
    broker: Option<Arc<Broker>>,
    keys: OnceCell<Keys>,
    memory: Mutex<Memory>,
    /// Who renews what.
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    renewals: TaskTracker,
}

/// What is known without the store.
#[derive(Default)]
struct Memory {
    tickets: HashMap<String, PendingTicket>,
    /// Who is told that an invitation was followed.
    waiting: HashMap<String, Vec<OnConnected>>,
    cached: HashMap<String, Cached>,
    /// Records that came before they could be opened.
    unread: Vec<Record>,
}

/// A token that is good for a while.
struct Cached {
    token: Secret,
    until: u64,
}

impl fmt::Debug for Connections {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Connections")
    }
}

impl Connections {
    /// Those of a store, for a gateway that browsers reach under that address.
    pub fn new(
        public_url: Option<&str>,
        store: Arc<dyn Store>,
        outbound: Arc<dyn UpstreamOutbound>,
        broker: Option<Arc<Broker>>,
    ) -> Arc<Self> {
        let url = public_url.map(|url| url.trim_end_matches('/').to_owned());
        let parsed = url.as_deref().and_then(|url| Url::parse(url).ok());
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            origin: parsed.map(|url| url.origin().ascii_serialization()).unwrap_or_default(),
            url,
            store,
            outbound,
            broker,
            keys: OnceCell::new(),
            memory: Mutex::default(),
            turns: Mutex::default(),
            renewals: TaskTracker::new(),
        })
    }

    async fn keys(&self) -> Result<&Keys, Failure> {
        self.keys
            .get_or_try_init(|| async { Keys::from_shared(&self.store.shared_key(SHARED_KEY).await?, "") })
            .await
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever has it renews the token of that grant.
    fn turn(&self, id: &str) -> Arc<tokio::sync::Mutex<()>> {
        const MOST: usize = 1_000;
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() >= MOST {
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        Arc::clone(turns.entry(id.to_owned()).or_default())
    }

    fn is_secure(&self) -> bool {
        self.origin.starts_with("https://")
    }

    fn public_url(&self) -> Result<&str, Failure> {
        self.url.as_deref().ok_or_else(|| {
            Failure::unavailable(
                "accounts can be connected only where the configuration has publicUrl; set it",
            )
        })
    }

    /// Tells those who wait that an invitation was followed.
    fn tell_connected(&self, ticket: &str) {
        let waiting = self.lock().waiting.remove(ticket).unwrap_or_default();
        for connected in waiting {
            connected();
        }
    }

    fn note(&self, record: &Record) {
        let Some(keys) = self.keys.get() else {
            self.lock().unread.push(record.clone());
            return;
        };
        let body = record.body.as_deref();
        match record.kind.as_str() {
            grant::KIND => drop(self.lock().cached.remove(&record.id)),
            ticket::KIND => {
                let ticket: Option<Ticket> =
                    body.and_then(|body| keys.open_long(Purpose::ConnectTicket, body));
                let mut memory = self.lock();
                match ticket {
                    Some(Ticket { grant, person, until, .. }) => {
                        let pending =
                            PendingTicket { grant, person: person.id, until, number: record.number };
                        memory.tickets.insert(record.id.clone(), pending);
                    }
                    None => drop(memory.tickets.remove(&record.id)),
                }
            }
            _ => {}
        }
    }

    fn away(&self, failure: &Failure) -> StoreError {
        StoreError::Unavailable { store: self.store.describe(), source: failure.about.clone().into() }
    }

    /// Every grant there is.
    async fn all(&self) -> Result<Vec<(String, UserGrant)>, StoreError> {
        let keys = self.keys().await.map_err(|failure| self.away(&failure))?;
        let (mut number, mut found) = (0, HashMap::new());
        loop {
            let page = self.store.records_after(number, &[grant::KIND]).await?;
            let Some(last) = page.last() else { break };
            number = last.number;
            for record in page {
                let body = record.body.as_deref();
                let grant: Option<UserGrant> = body.and_then(|body| keys.open_long(Purpose::UserGrant, body));
                match grant {
                    Some(grant) => drop(found.insert(record.id, grant)),
                    None => drop(found.remove(&record.id)),
                }
            }
        }
        Ok(found.into_iter().collect())
    }
}

/// Whether somebody may see a grant, and take it back: his own, or, if he administers, one of his tenant or of anybody.
fn may_see(principal: &Principal, person: &Grantor) -> bool {
    if let Principal::Known(identity) = principal
        && *identity.id == *person.id
    {
        return true;
    }
    let is_over = principal.tenant().is_none() || principal.tenant() == person.tenant.as_deref();
    principal.may(Role::Admin) && is_over
}

#[async_trait]
impl UserGrants for Connections {
    fn id(&self, server: &GrantServer, principal: &Principal) -> Option<GrantId> {
        let Principal::Known(identity) = principal else { return None };
        let (id, name) = (&*identity.id, server.name.as_str());
        // The lengths tell where a part ends.
        let whole = format!("{}:{id} {}:{name} {}", id.len(), name.len(), server.url);
        Some(GrantId(format!("co_{}", &hash_of(&whole)[..32])))
    }

    async fn token(&self, id: &GrantId) -> Result<Secret, NoToken> {
        match self.this.upgrade() {
            Some(this) => this.good_token(&id.0).await,
            None => Err(NoToken::NotGranted),
        }
    }

    async fn renew(&self, id: &GrantId) -> bool {
        self.make_stale(&id.0).await
    }

    async fn invite(
        &self,
        server: &GrantServer,
        principal: &Principal,
        connected: OnConnected,
    ) -> Result<Invitation, CallError> {
        let refused = |failure: Failure| CallError::new(ErrorCode::Forbidden, failure.about);
        let Principal::Known(identity) = principal else {
            return Err(CallError::new(ErrorCode::Forbidden, "only those who are known connect accounts"));
        };
        let url = self.public_url().map_err(refused)?;
        let Some(GrantId(grant)) = self.id(server, principal) else {
            return Err(CallError::new(ErrorCode::Forbidden, "only those who are known connect accounts"));
        };
        let id = self.ticket(server, &grant, Grantor::of(identity)).await.map_err(refused)?;
        let mut memory = self.lock();
        let waiting = memory.waiting.entry(id.clone()).or_default();
        if waiting.len() >= MOST_TOLD {
            drop(waiting.remove(0));
        }
        waiting.push(connected);
        Ok(Invitation { url: format!("{url}{PLACE}{id}"), id })
    }

    async fn list(&self, principal: &Principal) -> Result<Vec<GrantView>, StoreError> {
        let all = self.all().await?;
        let seen = all.iter().filter(|(_, grant)| may_see(principal, &grant.person));
        let mut views: Vec<GrantView> = seen.map(|(id, grant)| grant.view(id)).collect();
        views.sort_by(|one, other| {
            (&one.server, &one.of, &one.id).cmp(&(&other.server, &other.of, &other.id))
        });
        Ok(views)
    }

    async fn revoke(
        &self,
        id: &str,
        principal: &Principal,
        author: &Author,
    ) -> Result<Option<GrantView>, StoreError> {
        let away = |failure: Failure| self.away(&failure);
        let Some((grant, _)) = self.find_grant(id).await.map_err(away)? else { return Ok(None) };
        if !may_see(principal, &grant.person) {
            return Ok(None);
        }
        let audited = Some(grant.audit("connection.revoke", Some(author)));
        self.write_grant(id, (None, None), audited).await.map_err(away)?;
        Ok(Some(grant.view(id)))
    }
}

#[async_trait]
impl RecordListener for Connections {
    fn kinds(&self) -> &'static [&'static str] {
        &[grant::KIND, ticket::KIND]
    }

    fn take(&self, records: &[Record]) {
        for record in
            records.iter().filter(|record| [grant::KIND, ticket::KIND].contains(&record.kind.as_str()))
        {
            self.note(record);
        }
    }

    async fn settle(&self) -> Result<(), StoreError> {
        if self.lock().unread.is_empty() {
            return Ok(());
        }
        if self.keys().await.is_ok() {
            let unread = std::mem::take(&mut self.lock().unread);
            for record in &unread {
                self.note(record);
            }
        }
        Ok(())
    }

    async fn tend(&self) -> Result<(), StoreError> {
        let now = now();
        let over: Vec<(String, i64)> = {
            let mut memory = self.lock();
            memory.cached.retain(|_, cached| cached.until > now);
            let over = memory.tickets.iter().filter(|(_, pending)| pending.until <= now).take(AT_ONCE);
            let over: Vec<(String, i64)> = over.map(|(id, pending)| (id.clone(), pending.number)).collect();
            for (id, _) in &over {
                memory.waiting.remove(id);
            }
            over
        };
        for (id, number) in over {
            // Another replica may have been quicker.
            if self.spend(&id, number).await.is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// Whether that is where people connect their accounts, which browsers open that have no token.
pub fn is_connect(path: &str) -> bool {
    path.starts_with(PLACE)
}

/// Everything that is there.
pub fn connect_routes(connections: Arc<Connections>) -> Router {
    Router::new()
        .route("/connect/callback", get(callback))
        .route("/connect/callback/{back}", get(callback_from))
        .route("/connect/client.json", get(client))
        .route("/connect/{ticket}", get(show).post(agree))
        .route("/connect/{ticket}/go", get(go))
        .with_state(connections)
}

type ConnectionsState = State<Arc<Connections>>;

async fn show(
    State(this): ConnectionsState,
    Path(ticket): Path<String>,
    request: Request<Body>,
) -> Response<Body> {
    let (head, _) = request.into_parts();
    pages::answer(&head.headers, this.show(&ticket, &head.headers).await)
}

async fn agree(
    State(this): ConnectionsState,
    Path(ticket): Path<String>,
    request: Request<Body>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let agreed = async {
        let form = crate::form(&head, body).await?;
        this.agree(&ticket, &head.headers, &form).await
    };
    let agreed: Result<ConnectPage, ConnectTrouble> = agreed.await;
    pages::answer(&head.headers, agreed)
}

async fn go(
    State(this): ConnectionsState,
    Path(ticket): Path<String>,
    request: Request<Body>,
) -> Response<Body> {
    let (head, _) = request.into_parts();
    pages::answer(&head.headers, this.go(&ticket, &head).await)
}

async fn callback(State(this): ConnectionsState, request: Request<Body>) -> Response<Body> {
    let (head, _) = request.into_parts();
    pages::answer(&head.headers, this.callback("", &head).await)
}

async fn callback_from(
    State(this): ConnectionsState,
    Path(back): Path<String>,
    request: Request<Body>,
) -> Response<Body> {
    let (head, _) = request.into_parts();
    pages::answer(&head.headers, this.callback(&back, &head).await)
}

/// What authorisation servers read of us that know clients by the address of a document (client id metadata document).
async fn client(State(this): ConnectionsState) -> Response<Body> {
    match this.public_url() {
        Ok(url) => public_json(&registered::about(url)),
        Err(failure) => failure.told(),
    }
}
