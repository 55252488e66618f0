//! The bounds of numbers, and what else single values must be: the same for the file, the environment and flags.

use std::fmt::Display;

use toolrail_core::Principal;

use toolrail_http::{Network, Proxies};

use super::{address_of, is_host, is_origin};

/// A number has to lie within these.
pub(crate) struct Bounds {
    least: u64,
    most: u64,
    /// What is counted.
    unit: &'static str,
}

pub(crate) const POLL_MS: Bounds = Bounds { least: 50, most: 60_000, unit: "milliseconds" };
pub(crate) const REFRESH_WINDOW_MS: Bounds = Bounds { least: 0, most: 5_000, unit: "milliseconds" };
pub(crate) const PAGE_SIZE: Bounds = Bounds { least: 1, most: 100_000, unit: "tools" };
pub(crate) const HISTORY_VERSIONS: Bounds = Bounds { least: 1, most: 1_000_000, unit: "versions" };
pub(crate) const HISTORY_DAYS: Bounds = Bounds { least: 1, most: 36_500, unit: "days" };

impl Bounds {
    /// What is wrong with a number.
    pub(super) fn fault<T: TryInto<u64> + Display + Copy>(&self, number: T) -> Option<String> {
        let lies_within = number.try_into().is_ok_and(|number| (self.least..=self.most).contains(&number));
        (!lies_within).then(|| self.told(number))
    }

    /// Reads a number.
    pub(crate) fn parse<T: TryFrom<u64>>(&self, text: &str) -> Result<T, String> {
        let number = text.parse().ok().filter(|number| (self.least..=self.most).contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| self.told(text))
    }

    fn told(&self, number: impl Display) -> String {
        format!("{number} is not between {} and {} {}", self.least, self.most, self.unit)
    }
}

/// The name of a tenant.
pub(crate) fn tenant(text: &str) -> Result<String, String> {
    Principal::of_tenant(text).map(|_| text.to_owned()).map_err(|wrong| wrong.to_string())
}

/// An address to listen on.
pub(crate) fn address(text: &str) -> Result<String, String> {
    address_of(text).map(|_| text.to_owned()).map_err(|wrong| format!("{wrong:#}"))
}

/// The name of a host as clients send it.
pub(crate) fn host(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is not the name of a host; write it like gateway.example.com");
    if is_host(text) { Ok(text.to_owned()) } else { Err(wrong()) }
}

/// The address of a proxy, or of several.
pub(super) fn network(text: &str) -> Result<Network, String> {
    text.parse().map_err(|wrong| format!("{text:?} {wrong}"))
}

/// The proxies at those addresses.
pub(super) fn proxies(list: &[String]) -> Proxies {
    Proxies::new(list.iter().filter_map(|text| network(text).ok()).collect())
}

/// The origin of a web page.
pub(crate) fn origin(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is not an origin; write it like https://console.example.com");
    if is_origin(text) { Ok(text.to_owned()) } else { Err(wrong()) }
}
