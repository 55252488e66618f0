//! What this gateway is called at an authorisation server: what the definition says, the address of a document about it, or what it
//! was given there when it registered (RFC 7591), which is kept for all who connect their accounts there.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolrail_core::{GrantServer, RecordWrite, RecordWritten};

use super::discovery::{AuthorisationServer, ClientSecret, UpstreamBody, UpstreamRequest, may_be_private};
use super::{Connections, PLACE};
use crate::answer::Failure;
use crate::keys::{Purpose, hash_of};

/// The kind of these records in the store.
const KIND: &str = "upstream_client";
/// The longest id, or secret, that is taken.
const LONGEST: usize = 4_000;

/// What we are called, and how we prove it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct UpstreamClient {
    pub(super) id: String,
    pub(super) secret: Option<ClientSecret>,
    /// Where people are sent back to from there: what follows the place of callbacks.
    pub(super) back: String,
}

/// What follows for a client that is known by the address of its document: all authorisation servers have the same, so that only
/// those who say who they are when they send somebody back (RFC 9207) are asked in this way.
const OF_DOCUMENT: &str = "document";

/// What we say of ourselves.
pub(super) fn about(url: &str) -> Value {
    json!({
        "client_id": format!("{url}{PLACE}client.json"),
        "client_name": "Toolrail",
        "client_uri": url,
        "redirect_uris": [callback(url, OF_DOCUMENT)],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "web",
    })
}

/// Where people are sent back to. The plain place, with nothing after it, is for those who have registered this gateway by hand.
pub(super) fn callback(url: &str, back: &str) -> String {
    let joint = if back.is_empty() { "" } else { "/" };
    format!("{url}{PLACE}callback{joint}{back}")
}

/// What follows for a client that registered itself: each authorisation server has its own, so that none can have what another
/// answers brought to it (RFC 9700, section 4.4).
fn back_from(issuer: &str) -> String {
    hash_of(issuer).chars().take(32).collect()
}

impl Connections {
    /// What we are called there.
    pub(super) async fn client_at(
        &self,
        there: &AuthorisationServer,
        server: &GrantServer,
    ) -> Result<UpstreamClient, Failure> {
        if let Some(id) = &server.client_id {
            let secret = server.client_secret.clone().map(ClientSecret::Named);
            return Ok(UpstreamClient { id: id.clone(), secret, back: String::new() });
        }
        let url = self.public_url()?;
        if there.takes_documents && there.says_issuer && self.is_secure() {
            let (id, back) = (format!("{url}{PLACE}client.json"), OF_DOCUMENT.to_owned());
            return Ok(UpstreamClient { id, secret: None, back });
        }
        let Some(registration) = &there.registration else {
            let told = format!(
                "{} registers no clients by itself; register this gateway there with the redirect address {}, and write its clientId into the definition of {}",
                there.issuer,
                callback(url, ""),
                server.name
            );
            return Err(Failure::unavailable(told));
        };
        let keys = self.keys().await?;
        let back = back_from(&there.issuer);
        let id = hash_of(&format!("{} {}", there.issuer, callback(url, &back)));
        let known = self.store.record(KIND, &id).await?.and_then(|record| record.body);
        if let Some(client) = known.and_then(|body| keys.open_long(Purpose::UpstreamClient, &body)) {
            return Ok(client);
        }
        let client = self.register((registration, back), server).await.map_err(|why| {
            Failure::unavailable(format!("this gateway cannot be registered at {}: {why}", there.issuer))
        })?;
        let body = Some(keys.seal(Purpose::UpstreamClient, &client)?);
        let write =
            RecordWrite { kind: KIND.to_owned(), id: id.clone(), body, expected: Some(0), audited: None };
        match self.store.write_record(&write).await? {
            RecordWritten::Done(_) | RecordWritten::NoRoom => Ok(client),
            // Another replica was quicker; what it was given is used by all.
            RecordWritten::Otherwise => {
                let record = self.store.record(KIND, &id).await?.and_then(|record| record.body);
                Ok(record.and_then(|body| keys.open_long(Purpose::UpstreamClient, &body)).unwrap_or(client))
            }
        }
    }

    async fn register(
        &self,
        (url, back): (&str, String),
        server: &GrantServer,
    ) -> Result<UpstreamClient, String> {
        let own = self.public_url().map_err(|failure| failure.about)?;
        let mut said = about(own);
        said["redirect_uris"] = json!([callback(own, &back)]);
        // The id is what is asked for.
        said.as_object_mut().map(|said| said.remove("client_id"));
        let request = UpstreamRequest {
            url,
            body: UpstreamBody::Json(said.to_string()),
            client: None,
            may_be_private: may_be_private(server, url),
        };
        let answer = self.outbound.send(request).await?;
        let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let text = |name: &str| said[name].as_str().filter(|text| !text.is_empty() && text.len() <= LONGEST);
        match (answer.status, text("client_id")) {
            (200..=299, Some(id)) => {
                let secret = text("client_secret").map(|secret| ClientSecret::Given(secret.to_owned()));
                Ok(UpstreamClient { id: id.to_owned(), secret, back })
            }
            (status, _) => Err(format!("it answered {status}")),
        }
    }
}
