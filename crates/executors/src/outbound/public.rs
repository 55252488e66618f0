//! Public addresses: those that anybody can reach. A request to an address that a stranger has named goes to no other, so that nobody
//! looks through us at what stands behind a firewall.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use http::Uri;
use toolrail_core::{CallError, ErrorCode};

use super::OutboundError;
use super::failure::{origin, port};

/// Refuses a name that stands for any address that is not public, before a connection is made.
pub(super) async fn check_name(uri: &Uri, within: Duration) -> Result<(), OutboundError> {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let found = tokio::time::timeout(within, tokio::net::lookup_host((host, port(uri)))).await;
    // What cannot be looked up cannot be connected to either, and is told then.
    let Ok(Ok(mut found)) = found else { return Ok(()) };
    match found.find(|address| !is_public(address.ip())) {
        Some(_) => Err(refused(uri)),
        None => Ok(()),
    }
}

/// Refuses a connection that leads to an address that is not public.
pub(super) fn check_peer(uri: &Uri, peer: Option<IpAddr>) -> Result<(), OutboundError> {
    if peer.is_some_and(is_public) { Ok(()) } else { Err(refused(uri)) }
}

fn refused(uri: &Uri) -> OutboundError {
    let message = format!("{} is not at a public address, so nothing is asked there", origin(uri));
    OutboundError { error: CallError::new(ErrorCode::Forbidden, message), connected: false }
}

/// Whether anybody can reach that address.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || first == 0
        || first >= 240;
    // Carriers' own networks, the protocols' own, relays, and benchmarks.
    let is_reserved = (first == 100 && second & 0xc0 == 64)
        || (first == 192 && second == 0 && third == 0)
        || (first == 192 && second == 88 && third == 99)
        || (first == 198 && second & 0xfe == 18);
    !is_special && !is_reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // What is handed out to the world, without documentation, and without the ways (Teredo, 6to4) to reach another address.
    let is_global = first & 0xe000 == 0x2000;
    let is_reserved =
        (first == 0x2001 && (second < 0x0200 || second == 0x0db8)) || first == 0x2002 || first == 0x3fff;
    is_global && !is_reserved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_not_everybody_can_reach_are_known_in_every_form() {
        for public in ["8.8.8.8", "100.63.0.1", "100.128.0.1", "172.32.0.1", "2606:4700::1", "::ffff:8.8.8.8"]
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for other in [
            "0.0.0.0",
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "::7f00:1",
        ] {
            assert!(!is_public(other.parse().unwrap()), "{other}");
        }
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_refused() {
        for uri in ["https://localhost/x", "https://127.0.0.1/x", "https://[::1]:9/x"] {
            let refused = check_name(&uri.parse().unwrap(), Duration::from_secs(5)).await.unwrap_err();
            assert!(refused.error.message.contains("not at a public address"), "{refused}");
        }
    }
}
