//! The address of a client that comes by way of a reverse proxy, as that proxy tells it. Only proxies that the operator has named
//! are believed: everybody else can write any header.

use std::net::IpAddr;
use std::str::FromStr;

use http::{HeaderMap, HeaderName};
use toolrail_core::PeerAddress;

/// Where proxies write for whom they ask: each behind those before it.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// How many proxies one behind the other are looked through.
const MOST_HOPS: usize = 32;

/// The proxies that are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies(Vec<Network>);

/// Addresses that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

/// Why a text means no addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no address and no network; write it like 10.0.0.5 or 10.0.0.0/8")]
pub struct WrongNetwork;

impl FromStr for Network {
    type Err = WrongNetwork;

    fn from_str(text: &str) -> Result<Self, WrongNetwork> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().map_err(|_| WrongNetwork)?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| WrongNetwork)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most { Err(WrongNetwork) } else { Ok(Self { address, bits }) }
    }
}

impl Network {
    fn has(&self, address: IpAddr) -> bool {
        fn begin_alike(one: u128, other: u128, bits: u32) -> bool {
            bits == 0 || (one ^ other) >> (128 - bits) == 0
        }
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let wide = |address: std::net::Ipv4Addr| u128::from(address.to_bits()) << 96;
                begin_alike(wide(own), wide(other), self.bits)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => begin_alike(own.to_bits(), other.to_bits(), self.bits),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl Proxies {
    /// Those at these addresses.
    pub fn new(networks: Vec<Network>) -> Self {
        Self(networks)
    }

    /// Who asks: whoever is at the other end of the connection, unless that is a proxy; then for whom it says that it asks, and so
    /// on through those before it.
    pub(super) fn client(&self, peer: Option<PeerAddress>, headers: &HeaderMap) -> Option<PeerAddress> {
        let Some(PeerAddress(peer)) = peer.filter(|_| !self.0.is_empty()) else {
            return peer;
        };
        let told = headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
        let told: Vec<&str> = told.flat_map(|value| value.split(',')).collect();
        let mut client = peer.to_canonical();
        for before in told.iter().rev().take(MOST_HOPS) {
            if !self.are(client) {
                break;
            }
            let Some(address) = address_in(before) else { break };
            client = address.to_canonical();
        }
        Some(PeerAddress(client))
    }

    fn are(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.has(address))
    }
}

/// An address as proxies write it: some with a port.
fn address_in(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let plain =
        text.strip_prefix('[').and_then(|text| text.split_once(']')).map_or(text, |(inside, _)| inside);
    let with_port = || plain.split_once(':').and_then(|(address, _)| address.parse().ok());
    plain.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn proxies(networks: &[&str]) -> Proxies {
        Proxies::new(networks.iter().map(|text| text.parse().unwrap()).collect())
    }

    fn client(proxies: &Proxies, peer: &str, told: &[&'static str]) -> String {
        let mut headers = HeaderMap::new();
        for value in told {
            headers.append(FORWARDED_FOR, HeaderValue::from_static(value));
        }
        proxies.client(Some(PeerAddress(peer.parse().unwrap())), &headers).unwrap().0.to_string()
    }

    #[test]
    fn only_named_proxies_are_believed_and_each_only_about_the_one_before_it() {
        let known = proxies(&["10.0.0.0/8", "::1"]);
        for (peer, told, expected) in [
            ("10.1.2.3", &["203.0.113.7"][..], "203.0.113.7"),
            ("198.51.100.1", &["203.0.113.7"], "198.51.100.1"),
            ("10.1.2.3", &["6.6.6.6, 203.0.113.7, 10.9.9.9"], "203.0.113.7"),
            ("10.1.2.3", &["6.6.6.6", "203.0.113.7"], "203.0.113.7"),
            ("10.1.2.3", &[], "10.1.2.3"),
            ("10.1.2.3", &["unknown"], "10.1.2.3"),
            ("10.1.2.3", &["203.0.113.7:4711"], "203.0.113.7"),
            ("::1", &["[2001:db8::1]:4711"], "2001:db8::1"),
            ("::ffff:10.1.2.3", &["203.0.113.7"], "203.0.113.7"),
        ] {
            assert_eq!(client(&known, peer, told), expected, "{peer} {told:?}");
        }
        assert_eq!(client(&Proxies::default(), "127.0.0.1", &["203.0.113.7"]), "127.0.0.1");
    }

    #[test]
    fn networks_are_read_or_refused() {
        for good in ["10.0.0.5", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::1"] {
            assert!(good.parse::<Network>().is_ok(), "{good}");
        }
        for bad in ["", "proxy", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "::1/129"] {
            assert_eq!(bad.parse::<Network>(), Err(WrongNetwork), "{bad}");
        }
        let all = proxies(&["0.0.0.0/0"]);
        assert_eq!(client(&all, "1.2.3.4", &["5.6.7.8"]), "5.6.7.8");
    }
}
