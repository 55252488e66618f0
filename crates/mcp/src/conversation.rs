//! What tells one client's conversation from those of others, so that what it does in a row can be seen together. A digest:
//! neither a session id nor an address is to be had from it.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{Context, SHA256};
use serde_json::Value;

use crate::live::Live;
use crate::peer::Peer;
use crate::stamp::tag;

/// The conversation of a client that introduced itself like that: its session or its connection; without either who it says it
/// is and where it comes from, which several clients may share.
pub(crate) fn of(peer: &Peer<'_>, replica: u32, client_info: Option<&Value>) -> String {
    if let Some(live) = &peer.session.live {
        return of_session(live, replica);
    }
    let told = |field: &str| client_info.and_then(|info| info.get(field)?.as_str()).unwrap_or_default();
    let endpoint = peer.endpoint.group.as_deref().unwrap_or_default();
    let address = peer.address.as_ref().map(IpAddr::to_string).unwrap_or_default();
    digest(&["client", tag(peer.principal), endpoint, told("name"), told("version"), &address])
}

/// The conversation that a session is, or a connection.
pub(crate) fn of_session(live: &Live, replica: u32) -> String {
    match live.key() {
        Some(key) => digest(&["session", key]),
        None => digest(&["connection", &replica.to_string(), &live.number.to_string()]),
    }
}

fn digest(parts: &[&str]) -> String {
    let mut context = Context::new(&SHA256);
    for part in parts {
        // Its length tells where a part ends.
        context.update(&part.len().to_le_bytes());
        context.update(part.as_bytes());
    }
    URL_SAFE_NO_PAD.encode(&context.finish().as_ref()[..16])
}
