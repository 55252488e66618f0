//! Link-local addresses: those that are answered on the machine's own network segment only. Clouds answer there with the
//! credentials of the machine, for whoever asks.

use std::net::{IpAddr, Ipv6Addr};

/// Where Amazon's cloud answers over IPv6; unlike all others it is not link-local by its range.
const AMAZON: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// Whether that address is one of them.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address == AMAZON,
    }
}

/// Whether the host of a URL is such an address, rather than a name.
pub(crate) fn is_link_local_host(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse().is_ok_and(is_link_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_local_addresses_are_known_in_every_form() {
        for (host, expected) in [
            ("169.254.169.254", true),
            ("169.254.0.1", true),
            ("[fe80::1]", true),
            ("[febf::1]", true),
            ("[fd00:ec2::254]", true),
            ("[::ffff:169.254.169.254]", true),
            ("169.253.0.1", false),
            ("127.0.0.1", false),
            ("[fec0::1]", false),
            ("[fd00:ec2::253]", false),
            ("api.example.com", false),
        ] {
            assert_eq!(is_link_local_host(host), expected, "{host}");
        }
    }
}
