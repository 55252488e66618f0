//! Clients that have a page of their own (client id metadata documents): their id is its address. Anybody may name an address, so
//! little is fetched, from public addresses only, and seldom.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::Url;

use crate::answer::Failure;
use crate::client::Application;
use crate::provider::Outbound;

/// The longest address.
const LONGEST: usize = 500;
/// The largest page.
pub const MOST_PAGE_BYTES: usize = 5 << 10;
/// How long a page is taken without looking again, and how long it is not looked for after it was not there.
const FRESH: Duration = Duration::from_mins(10);
const REST: Duration = Duration::from_secs(10);
/// The most pages that are remembered, and that are fetched at once.
const MOST_KNOWN: usize = 1_000;
const AT_ONCE: usize = 64;

/// What is known of those pages.
pub(crate) struct ClientPages {
    outbound: Arc<dyn Outbound>,
    redirects: Vec<String>,
    known: Mutex<HashMap<String, Look>>,
    slots: Semaphore,
}

/// When a page was looked for, and what was there.
type Look = (Instant, Result<Application, Failure>);

impl ClientPages {
    pub(crate) fn new(outbound: Arc<dyn Outbound>, redirects: Vec<String>) -> Self {
        Self { outbound, redirects, known: Mutex::default(), slots: Semaphore::new(AT_ONCE) }
    }

    /// The client whose page is at that address.
    pub(crate) async fn find(&self, id: &str) -> Result<Application, Failure> {
        let host = host_of(id).map_err(unknown)?;
        if let Some(known) = self.remembered(id) {
            return known;
        }
        let busy = || Failure::unavailable("too many pages of applications are being read; try again");
        let _slot = self.slots.try_acquire().map_err(|_| busy())?;
        let fetched = self.outbound.fetch_client(id).await;
        let found = fetched.and_then(|page| self.read(id, &page)).map_err(unknown);
        let found = found.map(|application| Application { host: Some(host), ..application });
        self.remember(id, found.clone());
        found
    }

    fn read(&self, id: &str, page: &[u8]) -> Result<Application, String> {
        if page.len() > MOST_PAGE_BYTES {
            return Err(format!("it has more than {MOST_PAGE_BYTES} bytes"));
        }
        let said: Value = serde_json::from_slice(page).map_err(|_| "it is no JSON".to_owned())?;
        if said["client_id"].as_str() != Some(id) {
            return Err("its client_id is not its own address".to_owned());
        }
        // One that can prove who it is must not be let in without.
        let method = said["token_endpoint_auth_method"].as_str().unwrap_or("none");
        if method != "none" || said.get("client_secret").is_some() {
            return Err(format!("it wants to prove who it is by {method:?}; only \"none\" is taken here"));
        }
        Application::read(&said, &self.redirects).map_err(|failure| failure.about)
    }

    fn remembered(&self, id: &str) -> Option<Result<Application, Failure>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, found) = known.get(id)?;
        let fresh = if found.is_ok() { FRESH } else { REST };
        (at.elapsed() < fresh).then(|| found.clone())
    }

    fn remember(&self, id: &str, found: Result<Application, Failure>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN
            && let Some(oldest) = known.iter().min_by_key(|(_, (at, _))| *at).map(|(id, _)| id.clone())
        {
            known.remove(&oldest);
        }
        known.insert(id.to_owned(), (Instant::now(), found));
    }
}

fn unknown(why: impl std::fmt::Display) -> Failure {
    Failure::refused("invalid_client", format!("the page of the application cannot be used: {why}"))
}

/// Whether a client id is the address of a page.
pub(crate) fn is_page(id: &str) -> bool {
    id.starts_with("https://")
}

/// The host of a page, if its address is one: of a page rather than a whole host, and written in one way only.
fn host_of(id: &str) -> Result<String, &'static str> {
    let url = Url::parse(id).map_err(|_| "its address is none")?;
    if id.len() > LONGEST {
        return Err("its address is too long");
    }
    if url.scheme() != "https" || url.as_str() != id {
        return Err("its address is not written as browsers write it, with https");
    }
    let is_bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if !is_bare || url.fragment().is_some() || url.path() == "/" {
        return Err("its address must have a path, and no user name, query or fragment");
    }
    Ok(url.host_str().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_page_is_written_in_one_way() {
        assert_eq!(host_of("https://app.example.com/oauth/client.json").as_deref(), Ok("app.example.com"));
        for bad in [
            "http://app.example.com/c",
            "https://app.example.com/",
            "https://app.example.com",
            "https://app.example.com/a/../c",
            "https://APP.example.com/c",
            "https://app.example.com:443/c",
            "https://u@app.example.com/c",
            "https://app.example.com/c?x",
            "https://app.example.com/c#x",
            "https://app.example.com\\c",
            "https://0x7f000001/c",
        ] {
            assert!(host_of(bad).is_err(), "{bad}");
        }
    }
}
