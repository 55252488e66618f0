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
}

/// What we say of ourselves.
pub(super) fn about(url: &str) -> Value {
    json!({
        "client_id": format!("{url}{PLACE}client.json"),
        "client_name": "Toolrail",
        "client_uri": url,
        "redirect_uris": [callback(url)],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "web",
    })
}

/// Where people are sent back to.
pub(super) fn callback(url: &str) -> String {
    format!("{url}{PLACE}callback")
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
            return Ok(UpstreamClient { id: id.clone(), secret });
        }
        let url = self.public_url()?;
        if there.takes_documents && self.is_secure() {
            return Ok(UpstreamClient { id: format!("{url}{PLACE}client.json"), secret: None });
        }
        let Some(registration) = &there.registration else {
            let told = format!(
                "{} registers no clients by itself; register this gateway there with the redirect address {}, and write its clientId into the definition of {}",
                there.issuer,
                callback(url),
                server.name
            );
            return Err(Failure::unavailable(told));
        };
        let keys = self.keys().await?;
        let id = hash_of(&format!("{} {url}", there.issuer));
        let known = self.store.record(KIND, &id).await?.and_then(|record| record.body);
        if let Some(client) = known.and_then(|body| keys.open_long(Purpose::UpstreamClient, &body)) {
            return Ok(client);
        }
        let client = self.register(registration, server).await.map_err(|why| {
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

    async fn register(&self, url: &str, server: &GrantServer) -> Result<UpstreamClient, String> {
        let own = self.public_url().map_err(|failure| failure.about)?;
        let mut said = about(own);
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
                Ok(UpstreamClient { id: id.to_owned(), secret })
            }
            (status, _) => Err(format!("it answered {status}")),
        }
    }
}
