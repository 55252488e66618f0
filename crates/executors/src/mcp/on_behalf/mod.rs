//! In whose name a session with a server is held, where the definition asks in the name of whoever calls. Two callers, and two
//! tokens of one caller, never have one together. `connect` has people connect their accounts.

mod connect;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use toolrail_core::{
    CallError, Caller, CallerToken, ErrorCode, GrantId, GrantServer, NoToken, Principal, Secret, UserGrants,
};

use super::hub::Hub;
use crate::request::OnBehalf;
use crate::runtime::Runtime;
pub(super) use connect::{add_connect, ask_to_connect, check, secret_named};

/// Who holds a session: gives the token for each of its requests.
#[derive(Clone)]
pub(super) struct Holder {
    /// What tells it from every other: the same as long as the token of the caller is, or his grant.
    mark: [u8; 32],
    source: TokenSource,
}

#[derive(Clone)]
enum TokenSource {
    /// The token with which he came, or what is given for it.
    Brought(CallerToken, Arc<OnBehalf>),
    /// What he has granted this gateway.
    Granted(GrantId, Accounts),
}

/// The accounts that people have at a server.
#[derive(Clone)]
pub(super) struct Accounts {
    pub(super) server: GrantServer,
    pub(super) grants: Arc<dyn UserGrants>,
}

impl Holder {
    /// Whoever calls, if he came with a token that may be passed on.
    pub(super) fn who_came(
        caller: &dyn Caller,
        way: &Arc<OnBehalf>,
        server: &str,
    ) -> Result<Self, CallError> {
        let token = OnBehalf::token_of(caller, server)?.clone();
        Ok(Self { mark: mark_of(token.reveal()), source: TokenSource::Brought(token, Arc::clone(way)) })
    }

    /// The token for a request of now.
    pub(super) async fn token(&self, runtime: &Runtime) -> Result<Secret, CallError> {
        match &self.source {
            TokenSource::Brought(token, way) => way.token_for(token, runtime).await,
            TokenSource::Granted(id, accounts) => {
                accounts.grants.token(id).await.map_err(|none| match none {
                    NoToken::NotGranted => not_connected(&accounts.server),
                    NoToken::Failed(error) => error,
                })
            }
        }
    }
}

impl Accounts {
    /// Somebody, with what he has granted.
    pub(super) fn holder(&self, principal: &Principal) -> Result<Holder, CallError> {
        self.grants.id(&self.server, principal).map(|id| self.held(id)).ok_or_else(|| {
            let message = format!(
                "{} is asked with the account of whoever calls, and this caller is nobody in particular; come with a key or a token",
                self.server.name
            );
            CallError::new(ErrorCode::Forbidden, message)
        })
    }

    fn held(&self, id: GrantId) -> Holder {
        Holder { mark: mark_of(&id.0), source: TokenSource::Granted(id, self.clone()) }
    }
}

/// Sees to another token after the server refused the one that somebody has granted; false if there is none.
pub(super) async fn renew(hub: &Hub, principal: &Principal) -> bool {
    let Some(accounts) = hub.connector.accounts(&hub.name) else { return false };
    match accounts.grants.id(&accounts.server, principal) {
        Some(id) => accounts.grants.renew(&id).await,
        None => false,
    }
}

/// Nobody keeps what people grant.
pub(super) fn not_kept() -> CallError {
    CallError::new(ErrorCode::Internal, "nobody keeps here what people grant; use a gateway that runs")
}

fn not_connected(server: &GrantServer) -> CallError {
    let message = format!(
        "no account is connected at {} for this caller; call one of its tools, which says where to connect it",
        server.name
    );
    CallError::new(ErrorCode::Forbidden, message)
}

fn mark_of(text: &str) -> [u8; 32] {
    let mut mark = [0; 32];
    mark.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    mark
}

impl PartialEq for Holder {
    fn eq(&self, other: &Self) -> bool {
        self.mark == other.mark
    }
}

impl Eq for Holder {}

impl Hash for Holder {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.mark.hash(state);
    }
}

impl std::fmt::Debug for Holder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Holder")
    }
}
