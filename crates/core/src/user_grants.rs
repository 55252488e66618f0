//! What people have granted this gateway at upstream servers, so that it may ask these in their names: one grant for each of them
//! and each server. Executors use it, and those who administer; who keeps it is another matter.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Author, CallError, Principal, Secret, StoreError};

/// A server at which people have accounts of their own, as its definition says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantServer {
    /// The name of the definition.
    pub name: String,
    /// Where tokens go, without a query. What was granted for one address is never sent to another.
    pub url: String,
    /// The authorisation server; the one that the server names if absent.
    pub issuer: Option<String>,
    /// What this gateway is called there; it registers itself if absent.
    pub client_id: Option<String>,
    /// The name of the secret that proves it, if one does.
    pub client_secret: Option<String>,
    /// What tokens shall be good for; what the server asks for if there are none.
    pub scopes: Vec<String>,
}

/// Which grant: that of one person at one server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GrantId(pub String);

/// Why there is no token.
#[derive(Clone, Debug)]
pub enum NoToken {
    /// Nothing is granted, or not any more.
    NotGranted,
    /// It cannot be had at the moment.
    Failed(CallError),
}

/// Where somebody connects his account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// What tells it from every other.
    pub id: String,
    /// The address to open in a browser.
    pub url: String,
}

/// A grant, as it is listed: without its tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantView {
    /// Which it is.
    pub id: GrantId,
    /// The name of the server's definition.
    pub server: String,
    /// The address of the server.
    pub url: String,
    /// Whose it is, by name.
    pub of: String,
    /// His tenant.
    pub tenant: Option<String>,
    /// Who gave it.
    pub issuer: String,
    /// What it is good for, as far as that was said.
    pub scope: Option<String>,
    /// When it was given.
    pub granted: String,
}

/// Is told when somebody has followed an invitation to its end.
pub type OnConnected = Box<dyn FnOnce() + Send>;

/// What people have granted this gateway.
#[async_trait]
pub trait UserGrants: fmt::Debug + Send + Sync {
    /// The grant that somebody has at that server, or would have; none for those whom nobody knows.
    fn id(&self, server: &GrantServer, principal: &Principal) -> Option<GrantId>;

    /// A token of that grant.
    async fn token(&self, id: &GrantId) -> Result<Secret, NoToken>;

    /// The server does not take the token of that grant any more; false if there can be no other.
    async fn renew(&self, id: &GrantId) -> bool;

    /// Invites somebody to connect his account.
    async fn invite(
        &self,
        server: &GrantServer,
        principal: &Principal,
        connected: OnConnected,
    ) -> Result<Invitation, CallError>;

    /// What somebody may see of them: his own, or, if he administers, those of his tenant, or all.
    async fn list(&self, principal: &Principal) -> Result<Vec<GrantView>, StoreError>;

    /// Takes one back that he may see; nothing if he may not, or there is none.
    async fn revoke(
        &self,
        id: &str,
        principal: &Principal,
        author: &Author,
    ) -> Result<Option<GrantView>, StoreError>;
}
