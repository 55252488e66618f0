//! The provider sends somebody back. If all is well, the person goes on to the application, with a code for it.

use http::request::Parts;
use serde_json::{Map, Value};
use toolrail_core::{PeerAddress, author_name};
use toolrail_identity::{claims_for_rules, granted_to};

use crate::answer::Failure;
use crate::browser::Browser;
use crate::consent::Travelling;
use crate::keys::Purpose;
use crate::page::{Back, Page, Trouble};
use crate::parameters::Parameters;
use crate::provider::{NotSignedIn, SignedIn};
use crate::session::{Asked, Session};
use crate::sessions::now;
use crate::token::claims_of;
use crate::who;
use crate::{Broker, CALLBACK};

/// The most bytes of what is said of somebody: it travels in every request.
const MOST_CLAIM_BYTES: usize = 6 << 10;
/// The longest that somebody stays signed in whom the provider cannot be asked about again.
const UNASKED_SECONDS: u64 = 12 * 3_600;
/// The longest subject.
const LONGEST_SUBJECT: usize = 255;

/// Somebody, as the provider tells of him.
pub(crate) struct Person {
    pub(crate) subject: String,
    pub(crate) name: String,
    pub(crate) tenant: Option<String>,
    pub(crate) claims: Map<String, Value>,
}

/// Takes somebody back.
pub(crate) async fn take(broker: &Broker, head: &Parts) -> Result<Page, Trouble> {
    let query = Parameters::read(head.uri.query().unwrap_or_default().as_bytes());
    let query = query.map_err(Failure::invalid)?;
    let keys = broker.keys().await?;
    if let Some(asked) = who::asked(keys, &query) {
        return who::arrive(broker, head, (asked, &query)).await;
    }
    let travelling: Option<Travelling> = query.get("state").and_then(|text| keys.open(Purpose::State, text));
    let travelling = travelling.filter(|travelling| travelling.until > now()).ok_or(Trouble::Stale)?;
    let browser = Browser::of(&head.headers, broker.is_secure).ok_or(Trouble::OtherBrowser)?;
    if browser.hash() != travelling.browser {
        return Err(Trouble::OtherBrowser);
    }
    let back = Back::of(&travelling.asked);
    let address = head.extensions.get::<PeerAddress>().map(|peer| peer.0.to_string());
    match finish(broker, &query, travelling, address).await {
        Ok(code) => Ok(Page::Redirect(back.with_code(&code, &broker.url))),
        Err(trouble) => Err(trouble.with_back(back)),
    }
}

/// Finds out who came back; gives the code for the application.
async fn finish(
    broker: &Broker,
    query: &Parameters,
    travelling: Travelling,
    address: Option<String>,
) -> Result<String, Trouble> {
    broker.provider.check_issuer(query.get("iss")).await?;
    if let Some(error) = query.get("error") {
        let about = query.get("error_description").unwrap_or_default();
        let told: String = format!("{error}: {about}").chars().take(300).collect();
        return Err(Trouble::NotSignedIn(told));
    }
    let code = query.get("code").ok_or_else(|| Failure::invalid("the identity provider sent no code"))?;
    if !broker.spent.take(&travelling.seed, travelling.until) {
        return Err(Trouble::Stale);
    }
    let keys = broker.keys().await?;
    let seed = travelling.seed.as_bytes();
    let (nonce, verifier) = (keys.tag("nonce", seed), keys.tag("verifier", seed));
    let callback = format!("{}{CALLBACK}", broker.url);
    let arrived = broker.provider.arrival((code, &callback), &verifier, &nonce).await;
    let SignedIn { claims, refresh } = arrived.map_err(|why| match why {
        NotSignedIn::Refused(told) => Trouble::NotSignedIn(told),
        NotSignedIn::Failed(told) => {
            tracing::warn!(why = %told, "somebody could not be signed in, because of the identity provider");
            Trouble::Provider(told)
        }
    })?;
    let person = broker.person(&claims, &travelling.asked).map_err(Trouble::NoRights)?;
    let begun = now();
    let most = if refresh.is_some() { broker.session_seconds } else { UNASKED_SECONDS };
    let session = Session {
        subject: person.subject,
        name: person.name,
        tenant: person.tenant,
        claims: person.claims,
        asked: travelling.asked,
        generation: 0,
        advanced: 0,
        begun,
        until: begun + most.min(broker.session_seconds),
        provider_refresh: refresh,
    };
    Ok(broker.sessions.begin(keys, &session, address).await?)
}

impl Broker {
    /// Who those claims are of, if the rules give him anything; why not, otherwise.
    pub(crate) fn person(&self, claims: &Map<String, Value>, asked: &Asked) -> Result<Person, String> {
        let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
        if subject.is_empty() || subject.len() > LONGEST_SUBJECT {
            return Err("the identity provider does not say whose account it is (sub)".to_owned());
        }
        // Entra leaves out the groups of somebody who is in very many, and only says that there are some.
        let groups = &self.rules.0.groups;
        if claims.get("_claim_names").is_some_and(|names| names.get(groups).is_some()) {
            return Err(format!(
                "the account is in too many groups for the identity provider to name them ({groups}); have it name application roles, or only groups that are assigned to the application"
            ));
        }
        let kept = claims_for_rules(claims, (&self.rules.0, &self.rules.1));
        let size = serde_json::to_string(&kept).map_or(usize::MAX, |text| text.len());
        if size > MOST_CLAIM_BYTES {
            return Err(format!(
                "what the identity provider says of the account takes {size} bytes, and a token has room for {MOST_CLAIM_BYTES}; have it name fewer groups"
            ));
        }
        let all = claims_of(&kept, subject, &asked.scope);
        let (name, tenant) = granted_to(&all, (&self.rules.0, &self.rules.1)).map_err(|told| {
            let who =
                ["email", "preferred_username", "name"].iter().find_map(|claim| claims.get(*claim)?.as_str());
            let who: String = who.unwrap_or(subject).chars().take(100).collect();
            format!("{who}: {told}")
        })?;
        let tenant = tenant.map(|tenant| tenant.to_string());
        // It goes into the log and the audit record.
        Ok(Person { subject: subject.to_owned(), name: author_name(&name), tenant, claims: kept })
    }
}
