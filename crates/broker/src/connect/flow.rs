//! The way of a person who connects an account: a page that says what is to be connected to whom, a look at who it is where that
//! can be known, the upstream's authorisation server, and back. Whoever opens the address of another is told so before anything
//! happens, and cannot go on where people sign in here: nobody gets the account of somebody else connected to his own name.

use http::HeaderMap;
use http::request::Parts;
use serde::{Deserialize, Serialize};

use super::discovery::{AuthorisationServer, discover};
use super::grant::{NoTokens, UserGrant};
use super::pages::{Confirming, ConnectPage, ConnectTrouble};
use super::registered::{UpstreamClient, callback};
use super::ticket::Ticket;
use super::{Connections, PLACE};
use crate::answer::Failure;
use crate::browser::Browser;
use crate::consent::is_from_page_of;
use crate::keys::Purpose;
use crate::parameters::{Parameters, written};
use crate::sessions::now;
use crate::token::challenge_of;

/// What stands in the form of the page: which ticket, and the browser that it was shown to.
#[derive(Serialize, Deserialize)]
struct ConnectForm {
    ticket: String,
    browser: String,
}

/// What travels to the authorisation server and back.
#[derive(Serialize, Deserialize)]
struct ConnectState {
    ticket: String,
    browser: String,
    /// What the verifier follows from.
    seed: String,
    issuer: String,
    says_issuer: bool,
    token_url: String,
    resource: String,
    client: UpstreamClient,
    until: u64,
}

impl Connections {
    /// The page that asks.
    pub(super) async fn show(&self, id: &str, headers: &HeaderMap) -> Result<ConnectPage, ConnectTrouble> {
        let keys = self.keys().await?;
        let (ticket, _) = self.find_ticket(id).await?.ok_or(ConnectTrouble::Stale)?;
        let browser = match Browser::of(headers, self.is_secure()) {
            Some(browser) => browser,
            None => Browser::new(keys)?,
        };
        let form = ConnectForm { ticket: id.to_owned(), browser: browser.hash() };
        Ok(ConnectPage::Confirm(Confirming {
            action: format!("{}{PLACE}{id}", self.public_url()?),
            request: keys.seal(Purpose::ConnectForm, &form)?,
            server: ticket.server.name,
            url: ticket.server.url,
            person: ticket.person.name,
            gateway: self.origin.clone(),
            cookie: browser.cookie(self.is_secure()),
        }))
    }

    /// The person agrees: on to where the account is, or first to where people sign in.
    pub(super) async fn agree(
        &self,
        id: &str,
        headers: &HeaderMap,
        form: &Parameters,
    ) -> Result<ConnectPage, ConnectTrouble> {
        if !is_from_page_of(&self.origin, headers) {
            return Err(Failure::invalid("the answer was sent by a page of another site").into());
        }
        let keys = self.keys().await?;
        let shown: Option<ConnectForm> =
            form.get("request").and_then(|text| keys.open(Purpose::ConnectForm, text));
        let shown = shown.filter(|shown| shown.ticket == id).ok_or(ConnectTrouble::Stale)?;
        let browser = self.same_browser(headers, &shown.browser)?;
        let (ticket, number) = self.find_ticket(id).await?.ok_or(ConnectTrouble::Stale)?;
        if form.get("answer") != Some("yes") {
            self.spend(id, number).await?;
            return Ok(ConnectPage::Refused);
        }
        if let Some(broker) = &self.broker
            && broker.subject_of(&ticket.person.id).is_some()
        {
            return Ok(ConnectPage::Redirect(broker.ask_who(id, &browser).await?));
        }
        self.depart(id, &ticket, browser).await
    }

    /// Somebody comes back who was asked who he is.
    pub(super) async fn go(&self, id: &str, head: &Parts) -> Result<ConnectPage, ConnectTrouble> {
        let query = Parameters::read(head.uri.query().unwrap_or_default().as_bytes());
        let query = query.map_err(Failure::invalid)?;
        let broker = self.broker.as_ref().ok_or(ConnectTrouble::Stale)?;
        let pass = broker.read_pass(query.get("pass").unwrap_or_default()).await?;
        let pass = pass.filter(|pass| pass.ticket == id).ok_or(ConnectTrouble::Stale)?;
        let browser = self.same_browser(&head.headers, &pass.browser)?;
        let (ticket, _) = self.find_ticket(id).await?.ok_or(ConnectTrouble::Stale)?;
        if broker.subject_of(&ticket.person.id) != Some(pass.subject.as_str()) {
            return Err(ConnectTrouble::OtherPerson(ticket.person.name));
        }
        self.depart(id, &ticket, browser).await
    }

    async fn depart(
        &self,
        id: &str,
        ticket: &Ticket,
        browser: String,
    ) -> Result<ConnectPage, ConnectTrouble> {
        let keys = self.keys().await?;
        let there = discover(&*self.outbound, &ticket.server).await.map_err(ConnectTrouble::Upstream)?;
        let client = self.client_at(&there, &ticket.server).await?;
        let seed = keys.random_text()?;
        let challenge = challenge_of(&keys.tag("verifier", seed.as_bytes()));
        let (client_id, back) = (client.id.clone(), callback(self.public_url()?, &client.back));
        let AuthorisationServer { issuer, authorization, token, says_issuer, resource, scopes, .. } = there;
        let scopes = if ticket.server.scopes.is_empty() { scopes } else { ticket.server.scopes.clone() };
        let state = ConnectState {
            ticket: id.to_owned(),
            browser,
            seed,
            issuer,
            says_issuer,
            token_url: token,
            resource: resource.clone(),
            client,
            until: ticket.until,
        };
        let state = keys.seal(Purpose::ConnectState, &state)?;
        let scope = scopes.join(" ");
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", client_id.as_str()),
            ("redirect_uri", back.as_str()),
            ("state", state.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
            ("resource", resource.as_str()),
        ];
        if !scope.is_empty() {
            pairs.push(("scope", scope.as_str()));
        }
        if scopes.iter().any(|scope| scope == "offline_access") {
            // Or else OpenID Connect gives no refresh token.
            pairs.push(("prompt", "consent"));
        }
        let joint = if authorization.contains('?') { '&' } else { '?' };
        Ok(ConnectPage::Redirect(format!("{authorization}{joint}{}", written(pairs))))
    }

    /// The authorisation server sends somebody back, to what follows the place of callbacks.
    pub(super) async fn callback(&self, back: &str, head: &Parts) -> Result<ConnectPage, ConnectTrouble> {
        let query = Parameters::read(head.uri.query().unwrap_or_default().as_bytes());
        let query = query.map_err(Failure::invalid)?;
        let keys = self.keys().await?;
        let state: Option<ConnectState> =
            query.get("state").and_then(|text| keys.open(Purpose::ConnectState, text));
        let state = state.filter(|state| state.until > now()).ok_or(ConnectTrouble::Stale)?;
        self.same_browser(&head.headers, &state.browser)?;
        let is_ours = match query.get("iss") {
            Some(said) => said == state.issuer,
            None => !state.says_issuer,
        };
        if !is_ours || back != state.client.back {
            let told = "the answer does not come from the authorisation server that was asked";
            return Err(Failure::invalid(told).into());
        }
        let (ticket, number) = self.find_ticket(&state.ticket).await?.ok_or(ConnectTrouble::Stale)?;
        if let Some(error) = query.get("error") {
            return Err(ConnectTrouble::Upstream(error.chars().take(100).collect()));
        }
        let code = query.get("code").ok_or_else(|| Failure::invalid("there is no code"))?;
        // Whoever takes the ticket away goes on, and nobody after him.
        if !self.spend(&state.ticket, number).await? {
            return Err(ConnectTrouble::Stale);
        }
        self.redeem(&state, &ticket, code).await?;
        self.tell_connected(&state.ticket);
        Ok(ConnectPage::Connected { server: ticket.server.name, person: ticket.person.name })
    }

    async fn redeem(&self, state: &ConnectState, ticket: &Ticket, code: &str) -> Result<(), ConnectTrouble> {
        let keys = self.keys().await?;
        let back = callback(self.public_url()?, &state.client.back);
        let verifier = keys.tag("verifier", state.seed.as_bytes());
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", back.as_str()),
            ("code_verifier", verifier.as_str()),
            ("resource", state.resource.as_str()),
        ];
        let client = (state.client.id.as_str(), state.client.secret.as_ref());
        let answer = self.ask_for_tokens((&ticket.server, &state.token_url), client, &form).await;
        let tokens = answer.and_then(|answer| Self::tokens_in(&answer)).map_err(|none| match none {
            NoTokens::Refused(why) | NoTokens::Failed(why) => ConnectTrouble::Upstream(why),
        })?;
        let grant = UserGrant {
            server: ticket.server.clone(),
            person: ticket.person.clone(),
            issuer: state.issuer.clone(),
            token_url: state.token_url.clone(),
            resource: state.resource.clone(),
            client_id: state.client.id.clone(),
            client_secret: state.client.secret.clone(),
            tokens,
            granted: now(),
            renewing: 0,
        };
        let audited = Some(grant.audit("connection.grant", None));
        self.write_grant(&ticket.grant, (Some(&grant), None), audited).await?;
        Ok(())
    }

    /// What the browser is known by, if it is the one that this was begun in.
    fn same_browser(&self, headers: &HeaderMap, begun_in: &str) -> Result<String, ConnectTrouble> {
        let browser = Browser::of(headers, self.is_secure()).ok_or(ConnectTrouble::OtherBrowser)?;
        let hash = browser.hash();
        if hash == begun_in { Ok(hash) } else { Err(ConnectTrouble::OtherBrowser) }
    }
}
