//! Who sent an HTTP request, where to, and from where.

use std::net::IpAddr;
use std::sync::Arc;

use http::request::Parts;
use toolrail_core::{CallerToken, ForeignPage, PeerAddress, Principal};
use toolrail_registry::Endpoint;

use crate::reply::Fault;
use crate::server::Server;
use crate::session::Owner;

/// The sender of one request.
#[derive(Clone)]
pub(super) struct Visitor {
    pub(super) principal: Principal,
    /// The token that showed who that is, if one did.
    pub(super) token: Option<CallerToken>,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) address: Option<IpAddr>,
    /// Whether it is a web page from elsewhere.
    pub(super) foreign_page: bool,
}

impl Visitor {
    /// The sender of a request with that head, as whoever took it in found out; a fault if it was sent to a group that is not
    /// there.
    pub(super) fn of(server: &Server, parts: &Parts, address: Option<PeerAddress>) -> Result<Self, Fault> {
        Ok(Self {
            principal: parts.extensions.get().cloned().unwrap_or_default(),
            token: parts.extensions.get().cloned(),
            endpoint: Arc::clone(server.endpoint_at(parts.uri.path())?),
            address: address.map(|PeerAddress(address)| address),
            foreign_page: parts.extensions.get::<ForeignPage>().is_some(),
        })
    }

    /// Whose its sessions are.
    pub(super) fn owner(&self) -> Owner<'_> {
        Owner { principal: &self.principal, group: self.endpoint.group.as_deref() }
    }
}
