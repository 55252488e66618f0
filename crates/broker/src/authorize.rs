//! An application sends somebody here to sign in. What it asks for is checked, and the person is asked before anything else
//! happens: nobody is sent anywhere for a request that somebody else made up (OAuth 2.1, 7.12.2).

use http::request::Parts;
use serde::{Deserialize, Serialize};

use crate::Broker;
use crate::answer::Failure;
use crate::browser::Browser;
use crate::client::Application;
use crate::client_page::is_page;
use crate::keys::{Keys, Purpose, hash_of};
use crate::page::{Asking, Back, Page, Trouble};
use crate::parameters::Parameters;
use crate::redirect;
use crate::session::Asked;
use crate::sessions::now;

/// How many seconds somebody may take to agree, and to sign in.
pub(crate) const MOST_SECONDS: u64 = 900;
/// The longest client id, and the longest state: both travel in addresses.
const LONGEST_CLIENT: usize = 4_000;
const LONGEST_STATE: usize = 2_000;
/// The longest resource.
const LONGEST_RESOURCE: usize = 500;

/// A request that somebody is asked about.
#[derive(Serialize, Deserialize)]
pub(crate) struct Pending {
    #[serde(rename = "a")]
    pub(crate) asked: Asked,
    /// The hash of what the person's browser shows.
    #[serde(rename = "b")]
    pub(crate) browser: String,
    #[serde(rename = "e")]
    pub(crate) until: u64,
}

/// Asks the person who came with that request.
pub(crate) async fn ask(broker: &Broker, head: &Parts) -> Result<Page, Trouble> {
    let query = head.uri.query().unwrap_or_default().as_bytes();
    let query = Parameters::read(query).map_err(Failure::invalid)?;
    let keys = broker.keys().await?;
    let (application, asked) = read(broker, keys, &query).await?;
    let browser = Browser::of(&head.headers, broker.is_secure).map_or_else(|| Browser::new(keys), Ok)?;
    let pending = Pending { asked, browser: browser.hash(), until: now() + MOST_SECONDS };
    let (place, kind) = redirect::place(&pending.asked.redirect);
    Ok(Page::Asking(Asking {
        request: keys.seal(Purpose::Consent, &pending)?,
        name: application.name,
        host: application.host,
        place,
        kind,
        scope: pending.asked.scope,
        cookie: browser.cookie(broker.is_secure),
    }))
}

/// What is asked for, and by whom. Until the redirect address is known to be the client's, nobody is shown a way back.
async fn read(broker: &Broker, keys: &Keys, query: &Parameters) -> Result<(Application, Asked), Trouble> {
    let id = query.get("client_id").ok_or_else(|| Failure::invalid("client_id is missing"))?;
    let application = find(broker, keys, id).await?;
    let redirect = query.get("redirect_uri").ok_or_else(|| Failure::invalid("redirect_uri is missing"))?;
    // Looked at again: what may be registered can have changed since.
    redirect::check(redirect, &broker.redirects)
        .map_err(|why| Failure::invalid(format!("redirect_uri {why}")))?;
    if !application.has_redirect(redirect) {
        return Err(Failure::invalid(
            "redirect_uri is not one that the application has registered, letter by letter",
        )
        .into());
    }
    let state = query.get("state").filter(|state| state.len() <= LONGEST_STATE).map(str::to_owned);
    let back = Back { redirect: redirect.to_owned(), state: state.clone(), name: application.name.clone() };
    let asked = request(broker, query, &back).map_err(|failure| failure.with_back(back.clone()))?;
    let asked = Asked {
        client: hash_of(id),
        name: application.name.clone(),
        redirect: back.redirect,
        state,
        ..asked
    };
    Ok((application, asked))
}

/// The client of that id.
async fn find(broker: &Broker, keys: &Keys, id: &str) -> Result<Application, Failure> {
    let unknown = "client_id is not one that this gateway gave; have the application register anew";
    if id.len() > LONGEST_CLIENT {
        return Err(Failure::refused("invalid_client", unknown));
    }
    if is_page(id) {
        return broker.pages.find(id).await;
    }
    Application::open(id, keys).ok_or_else(|| Failure::refused("invalid_client", unknown))
}

/// What is asked for, apart from by whom.
fn request(broker: &Broker, query: &Parameters, back: &Back) -> Result<Asked, Trouble> {
    if query.get("response_type") != Some("code") {
        return Err(Failure::refused("unsupported_response_type", "response_type must be code").into());
    }
    if query.get("response_mode").is_some_and(|mode| mode != "query") {
        return Err(Failure::invalid("response_mode must be query").into());
    }
    for foreign in ["request", "request_uri"] {
        if query.get(foreign).is_some() {
            return Err(Failure::invalid(format!("{foreign} is not supported")).into());
        }
    }
    if query.get("state").is_some_and(|state| state.len() > LONGEST_STATE) {
        return Err(Failure::invalid(format!("state is longer than {LONGEST_STATE} characters")).into());
    }
    // A client that leaves out the method means `plain`, which protects nothing.
    let challenge = query.get("code_challenge").filter(|challenge| is_challenge(challenge));
    let challenge = challenge.filter(|_| query.get("code_challenge_method") == Some("S256"));
    let challenge = challenge.ok_or_else(|| {
        Failure::invalid("PKCE is needed: code_challenge of 43 characters, code_challenge_method S256")
    })?;
    Ok(Asked {
        client: String::new(),
        name: back.name.clone(),
        redirect: back.redirect.clone(),
        state: None,
        challenge: challenge.to_owned(),
        resource: resource(broker, query.get("resource"))?,
        scope: scope(broker, query.get("scope")),
    })
}

fn is_challenge(text: &str) -> bool {
    text.len() == 43 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// What tokens will be for: this gateway, or one of its endpoints; the whole of it for clients that do not say.
fn resource(broker: &Broker, asked: Option<&str>) -> Result<String, Failure> {
    let Some(asked) = asked else { return Ok(broker.url.clone()) };
    let rest = asked.strip_prefix(&broker.url).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_plain = asked.len() <= LONGEST_RESOURCE
        && !asked.contains("..")
        && asked.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'"' | b'\\'));
    if rest.is_none() || !is_plain {
        let told = format!("resource must be {} or an address below it", broker.url);
        return Err(Failure::refused("invalid_target", told));
    }
    Ok(asked.to_owned())
}

/// The scopes that are asked for, of those that any rule looks at; all of them for clients that do not say.
fn scope(broker: &Broker, asked: Option<&str>) -> String {
    let Some(asked) = asked else { return broker.scopes.join(" ") };
    let asked: Vec<&str> = asked.split_ascii_whitespace().collect();
    let known = broker.scopes.iter().map(String::as_str).filter(|scope| asked.contains(scope));
    known.collect::<Vec<_>>().join(" ")
}
