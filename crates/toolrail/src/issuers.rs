//! The issuers whose tokens are taken, as the configuration names them, and how their documents are fetched.

use std::sync::Arc;
use std::time::Duration;

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use toolrail_core::async_trait;
use toolrail_executors::outbound::{Bound, Client, ClientLimits, Outgoing, SendLimits, Sensitive};
use toolrail_http::ProtectedResource;
use toolrail_identity::{FetchDocument, IssuerSettings, Tokens};

use crate::config::Settings;
use crate::identity;

/// How long an issuer may take to answer, and how much it may say.
const WITHIN: Duration = Duration::from_secs(10);
const MOST_BYTES: usize = 1 << 20;

/// The issuers, and what they were made from.
#[derive(Clone)]
pub(crate) struct Issuers {
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) resource: ProtectedResource,
    made_from: (Vec<IssuerSettings>, Option<String>),
}

impl Issuers {
    /// Those of the configuration, if it names any.
    pub(crate) fn of(settings: &Settings) -> Option<Self> {
        if settings.issuers.is_empty() {
            return None;
        }
        let (issuers, public_url) = (settings.issuers.clone(), settings.public_url.as_deref());
        let documents = Arc::new(Documents(Client::new(ClientLimits::default())));
        let tokens = Arc::new(Tokens::new(issuers.clone(), public_url, documents));
        let names = tokens.issuers().map(str::to_owned).collect();
        let scopes = tokens.scopes().into_iter().map(str::to_owned).collect();
        let resource = ProtectedResource::new(public_url, names, scopes, identity::title());
        Some(Self { tokens, resource, made_from: (issuers, settings.public_url.clone()) })
    }

    /// Those of a configuration that was read again: the same, if nothing has changed, so that whoever is known stays known.
    pub(crate) fn again(before: Option<&Self>, settings: &Settings) -> Option<Self> {
        let now = (settings.issuers.clone(), settings.public_url.clone());
        match before {
            Some(before) if before.made_from == now => Some(before.clone()),
            before => {
                if let Some(before) = before {
                    before.tokens.end_all();
                }
                Self::of(settings)
            }
        }
    }
}

struct Documents(Client);

#[async_trait]
impl FetchDocument for Documents {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        let uri: Uri = url.parse().map_err(|_| "it is no address".to_owned())?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let request = Outgoing {
            method: Method::GET,
            uri,
            headers,
            body: bytes::Bytes::new(),
            secret_body: false,
            limits: SendLimits {
                connect: WITHIN,
                total: WITHIN,
                max_response_bytes: MOST_BYTES,
                redirects: 0,
            },
            sensitive: Sensitive::default(),
            bound: Bound::default(),
        };
        let answer = self.0.send(request).await.map_err(|failure| failure.error.message)?;
        if answer.status != StatusCode::OK {
            return Err(format!("it answered {}", answer.status));
        }
        Ok(answer.body.to_vec())
    }
}
