//! The person's answer: whoever agrees is sent to the provider to sign in.

use http::header::{HeaderMap, HeaderName, ORIGIN};
use serde::{Deserialize, Serialize};

use crate::answer::Failure;
use crate::authorize::{MOST_SECONDS, Pending};
use crate::browser::Browser;
use crate::keys::Purpose;
use crate::page::{Back, Page, Trouble};
use crate::parameters::Parameters;
use crate::provider::Departure;
use crate::session::Asked;
use crate::sessions::now;
use crate::token::challenge_of;
use crate::{Broker, CALLBACK};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A request whose sender is signing in at the provider; travels there and back.
#[derive(Serialize, Deserialize)]
pub(crate) struct Travelling {
    #[serde(rename = "a")]
    pub(crate) asked: Asked,
    #[serde(rename = "b")]
    pub(crate) browser: String,
    #[serde(rename = "e")]
    pub(crate) until: u64,
    /// What the nonce and our own verifier for the provider follow from.
    #[serde(rename = "d")]
    pub(crate) seed: String,
}

/// Takes the answer.
pub(crate) async fn take(broker: &Broker, headers: &HeaderMap, form: &Parameters) -> Result<Page, Trouble> {
    if !is_from_page_of(&broker.origin, headers) {
        return Err(Failure::invalid("the answer was sent by a page of another site").into());
    }
    let keys = broker.keys().await?;
    let pending: Option<Pending> = form.get("request").and_then(|text| keys.open(Purpose::Consent, text));
    let pending = pending.filter(|pending| pending.until > now()).ok_or(Trouble::Stale)?;
    let browser = Browser::of(headers, broker.is_secure).ok_or(Trouble::OtherBrowser)?;
    if browser.hash() != pending.browser {
        return Err(Trouble::OtherBrowser);
    }
    let Pending { asked, browser, .. } = pending;
    let back = Back::of(&asked);
    if form.get("answer") != Some("yes") {
        let denied = Failure::refused("access_denied", "the person did not agree");
        return Ok(Page::Redirect(back.with_error(&denied, &broker.url)));
    }
    let seed = keys.random_text()?;
    let nonce = keys.tag("nonce", seed.as_bytes());
    let challenge = challenge_of(&keys.tag("verifier", seed.as_bytes()));
    let travelling = Travelling { asked, browser, until: now() + MOST_SECONDS, seed };
    let state = keys.seal(Purpose::State, &travelling)?;
    let callback = format!("{}{CALLBACK}", broker.url);
    let departure = Departure { callback: &callback, state: &state, nonce: &nonce, challenge: &challenge };
    let there = broker.provider.departure(&departure).await;
    there.map(Page::Redirect).map_err(|failure| Trouble::from(failure).with_back(back))
}

/// Whether a browser says that the form was one of ours. The cookie alone would do; browsers differ in what they send.
pub(crate) fn is_from_page_of(own: &str, headers: &HeaderMap) -> bool {
    let said = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    said(&ORIGIN).is_none_or(|origin| origin == own)
        && said(&FETCH_SITE).is_none_or(|site| matches!(site, "same-origin" | "none"))
}
