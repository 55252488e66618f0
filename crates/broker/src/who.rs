//! Who somebody is that connects an account at an upstream server: he signs in at the provider, and what comes of it is sealed for
//! the next step. Nobody is let in by it, and nothing is kept.

use http::request::Parts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Failure;
use crate::browser::Browser;
use crate::keys::{Keys, Purpose};
use crate::page::{Page, Trouble};
use crate::parameters::{Parameters, written};
use crate::provider::{Departure, NotSignedIn};
use crate::sessions::now;
use crate::token::challenge_of;
use crate::{Broker, CALLBACK};

/// How long signing in may take, and how long the answer is good, in seconds.
const MOST_SECONDS: u64 = 600;
const PASS_SECONDS: u64 = 60;

/// Somebody who is asked who he is.
#[derive(Serialize, Deserialize)]
pub(crate) struct AskedWho {
    ticket: String,
    browser: String,
    seed: String,
    until: u64,
}

/// Who it was that signed in, in that browser, for that.
#[derive(Serialize, Deserialize)]
pub(crate) struct Pass {
    pub(crate) ticket: String,
    pub(crate) browser: String,
    pub(crate) subject: String,
    until: u64,
}

/// What was asked, if that is why somebody comes back.
pub(crate) fn asked(keys: &Keys, query: &Parameters) -> Option<AskedWho> {
    query.get("state").and_then(|text| keys.open(Purpose::ConnectWho, text))
}

impl Broker {
    /// The subject of somebody who signed in here, by what tells him from others.
    pub(crate) fn subject_of<'i>(&self, id: &'i str) -> Option<&'i str> {
        id.strip_prefix("token:")?.strip_prefix(self.url.as_str())?.strip_prefix('|')
    }

    /// Where to send somebody so that he says who he is.
    pub(crate) async fn ask_who(&self, ticket: &str, browser: &str) -> Result<String, Failure> {
        let keys = self.keys().await?;
        let seed = keys.random_text()?;
        let nonce = keys.tag("nonce", seed.as_bytes());
        let challenge = challenge_of(&keys.tag("verifier", seed.as_bytes()));
        let (ticket, browser) = (ticket.to_owned(), browser.to_owned());
        let state =
            keys.seal(Purpose::ConnectWho, &AskedWho { ticket, browser, seed, until: now() + MOST_SECONDS })?;
        let callback = format!("{}{CALLBACK}", self.url);
        let departure =
            Departure { callback: &callback, state: &state, nonce: &nonce, challenge: &challenge };
        self.provider.departure(&departure).await
    }

    /// What was found out, if it is still good.
    pub(crate) async fn read_pass(&self, text: &str) -> Result<Option<Pass>, Failure> {
        let pass: Option<Pass> = self.keys().await?.open(Purpose::ConnectPass, text);
        Ok(pass.filter(|pass| pass.until > now()))
    }
}

/// Takes somebody back who was asked.
pub(crate) async fn arrive(
    broker: &Broker,
    head: &Parts,
    (asked, query): (AskedWho, &Parameters),
) -> Result<Page, Trouble> {
    if asked.until <= now() {
        return Err(Trouble::Stale);
    }
    let browser = Browser::of(&head.headers, broker.is_secure).ok_or(Trouble::OtherBrowser)?;
    if browser.hash() != asked.browser {
        return Err(Trouble::OtherBrowser);
    }
    broker.provider.check_issuer(query.get("iss")).await?;
    if let Some(error) = query.get("error") {
        return Err(Trouble::NotSignedIn(error.chars().take(300).collect()));
    }
    let code = query.get("code").ok_or_else(|| Failure::invalid("the identity provider sent no code"))?;
    if !broker.spent.take(&asked.seed, asked.until) {
        return Err(Trouble::Stale);
    }
    let keys = broker.keys().await?;
    let seed = asked.seed.as_bytes();
    let (nonce, verifier) = (keys.tag("nonce", seed), keys.tag("verifier", seed));
    let callback = format!("{}{CALLBACK}", broker.url);
    let arrived = broker.provider.arrival((code, &callback), &verifier, &nonce).await;
    let signed_in = arrived.map_err(|why| match why {
        NotSignedIn::Refused(told) => Trouble::NotSignedIn(told),
        NotSignedIn::Failed(told) => Trouble::Provider(told),
    })?;
    let subject = signed_in.claims.get("sub").and_then(Value::as_str).unwrap_or_default().to_owned();
    let AskedWho { ticket, browser, .. } = asked;
    let go = format!("{}/connect/{ticket}/go", broker.url);
    let pass = Pass { ticket, browser, subject, until: now() + PASS_SECONDS };
    let pass = keys.seal(Purpose::ConnectPass, &pass)?;
    Ok(Page::Redirect(format!("{go}?{}", written([("pass", pass.as_str())]))))
}
