//! The issuers whose tokens are taken, as the configuration names them, the broker among them, and how their documents are fetched.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use toolrail_broker::{Broker, BrokerSettings, MOST_PAGE_BYTES, Outbound, Proof};
use toolrail_core::{Role, Secret, Secrets, Store, async_trait};
use toolrail_executors::outbound::{Bound, Client, ClientLimits, Incoming, Outgoing, SendLimits, Sensitive};
use toolrail_http::ProtectedResource;
use toolrail_identity::{FetchDocument, IssuerSettings, Tokens};

use crate::config::Settings;
use crate::identity;

/// How long an issuer may take to answer, and how much it may say.
const WITHIN: Duration = Duration::from_secs(10);
const MOST_BYTES: usize = 1 << 20;
/// How long the page of a client may take.
const PAGE_WITHIN: Duration = Duration::from_secs(5);

/// The issuers, and what they were made from.
#[derive(Clone)]
pub(crate) struct Issuers {
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) resource: ProtectedResource,
    /// Where people sign in here, if they do.
    pub(crate) broker: Option<Arc<Broker>>,
    made_from: Arc<MadeFrom>,
}

type MadeFrom = (Vec<IssuerSettings>, Option<Box<BrokerSettings>>, Option<String>);

impl Issuers {
    /// Those of the configuration, if it names any.
    pub(crate) fn of(settings: &Settings, store: &Arc<dyn Store>, secrets: &Arc<Secrets>) -> Option<Self> {
        if settings.issuers.is_empty() && settings.broker.is_none() {
            return None;
        }
        let public_url = settings.public_url.as_deref();
        let client = Arc::new(Client::new(ClientLimits::default()));
        let (mut issuers, mut broker) = (settings.issuers.clone(), None);
        if let Some((ours, url)) = settings.broker.as_ref().zip(public_url) {
            // First, since it is what most clients should use.
            issuers.insert(0, ours.as_issuer(url));
            broker = Some(Arc::new(broker_of(ours, (url, store, secrets), &client, settings)));
        }
        let own_keys = broker.clone().zip(issuers.first().and_then(|first| first.jwks.clone()));
        let documents = Arc::new(Documents { client, own_keys });
        let withdrawal = broker.as_ref().map(|broker| broker.withdrawal());
        let tokens = Tokens::new(issuers, public_url, documents).with_withdrawal(withdrawal);
        let names = tokens.issuers().map(str::to_owned).collect();
        let scopes = tokens.scopes().into_iter().map(str::to_owned).collect();
        let owned = |scopes: Vec<&str>| -> Vec<String> { scopes.into_iter().map(str::to_owned).collect() };
        let for_roles = Role::ALL.map(|role| (role, owned(tokens.scopes_for(role))));
        let resource = ProtectedResource::new(public_url, names, scopes, identity::title());
        let resource = resource.with_scopes_for(for_roles.into());
        let made_from = (settings.issuers.clone(), settings.broker.clone(), settings.public_url.clone());
        Some(Self { tokens: Arc::new(tokens), resource, broker, made_from: Arc::new(made_from) })
    }

    /// Those of a configuration that was read again: the same, if nothing has changed, so that whoever is known stays known.
    pub(crate) fn again(before: Option<&Self>, now: Option<Self>) -> Option<Self> {
        let Some(before) = before else { return now };
        if now.as_ref().is_some_and(|now| now.made_from == before.made_from) {
            return Some(before.clone());
        }
        before.tokens.end_all();
        now
    }

    /// Keeps up with them until the future is dropped.
    pub(crate) async fn follow(&self) {
        let keep_sessions = async {
            match &self.broker {
                Some(broker) => broker.follow().await,
                None => std::future::pending().await,
            }
        };
        tokio::join!(self.tokens.follow(), keep_sessions);
    }
}

fn broker_of(
    broker: &BrokerSettings,
    (url, store, secrets): (&str, &Arc<dyn Store>, &Arc<Secrets>),
    client: &Arc<Client>,
    settings: &Settings,
) -> Broker {
    let strangers = if broker.private_clients {
        Client::new(ClientLimits::default())
    } else {
        Client::to_public_addresses(ClientLimits::default())
    };
    let secret = broker.secret_name().map(str::to_owned);
    let listed = settings.secrets.iter().filter(|listed| Some(&listed.name) == secret.as_ref());
    let bindings = listed.filter_map(|listed| Some((listed.name.clone(), listed.binding.clone()?)));
    let bound = Bound::new(bindings);
    let outbound = ProviderClient {
        client: Arc::clone(client),
        strangers,
        client_id: broker.client_id.clone(),
        secret,
        bound,
        secrets: Arc::clone(secrets),
    };
    let documents = Arc::new(Documents { client: Arc::clone(client), own_keys: None });
    Broker::new(broker, url, Arc::clone(store), (documents, Arc::new(outbound)))
}

/// Gets the documents of issuers; the keys of the broker need not travel.
struct Documents {
    client: Arc<Client>,
    own_keys: Option<(Arc<Broker>, String)>,
}

#[async_trait]
impl FetchDocument for Documents {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        if let Some((broker, own)) = &self.own_keys
            && own == url
        {
            return broker.public_keys().await;
        }
        let request = get(url)?;
        whole(self.client.send(request).await.map_err(|failure| failure.error.message)?)
    }
}

/// How the broker reaches its provider, and the pages of clients.
struct ProviderClient {
    client: Arc<Client>,
    /// For addresses that anybody may have named.
    strangers: Client,
    client_id: String,
    /// The name of the secret that proves who we are.
    secret: Option<String>,
    /// Where that may go, if the configuration says so.
    bound: Bound,
    secrets: Arc<Secrets>,
}

#[async_trait]
impl Outbound for ProviderClient {
    async fn post_form(
        &self,
        url: &str,
        form: &[(&str, &str)],
        proof: Proof,
    ) -> Result<(u16, Vec<u8>), String> {
        let request = self.request(url, form, proof)?;
        let answer = self.client.send(request).await.map_err(|failure| failure.error.message)?;
        Ok((answer.status.as_u16(), answer.body.to_vec()))
    }

    async fn fetch_client(&self, url: &str) -> Result<Vec<u8>, String> {
        let request = Outgoing { limits: limits(PAGE_WITHIN, MOST_PAGE_BYTES), ..get(url)? };
        whole(self.strangers.send(request).await.map_err(|failure| failure.error.message)?)
    }
}

impl ProviderClient {
    /// A form for the provider, with the proof of who we are.
    fn request(&self, url: &str, form: &[(&str, &str)], proof: Proof) -> Result<Outgoing, String> {
        let secret = self.secret.as_deref();
        let secret = secret.map(|name| self.secrets.find(name).ok_or_else(|| self.secrets.how_to_set(name)));
        let secret = secret.transpose()?.map(Secret::reveal);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(form);
        match (secret, proof) {
            (Some(secret), Proof::Form) => {
                body.append_pair("client_secret", secret);
            }
            (Some(secret), Proof::Header) => {
                headers.insert(AUTHORIZATION, basic(&self.client_id, secret)?);
            }
            (None, _) => {}
        }
        Ok(Outgoing {
            method: Method::POST,
            headers,
            body: body.finish().into(),
            secret_body: true,
            sensitive: Sensitive::of(secret),
            bound: self.bound.clone(),
            ..get(url)?
        })
    }
}

/// Who we are, in a header (RFC 6749, 2.3.1).
pub(crate) fn basic(id: &str, secret: &str) -> Result<HeaderValue, String> {
    let part = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let shown = format!("Basic {}", STANDARD.encode(format!("{}:{}", part(id), part(secret))));
    let mut value =
        HeaderValue::try_from(shown).map_err(|_| "the client secret cannot be sent".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

fn limits(within: Duration, max_response_bytes: usize) -> SendLimits {
    SendLimits { connect: within, total: within, max_response_bytes, redirects: 0 }
}

fn get(url: &str) -> Result<Outgoing, String> {
    let uri: Uri = url.parse().map_err(|_| "it is no address".to_owned())?;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    Ok(Outgoing {
        method: Method::GET,
        uri,
        headers,
        body: bytes::Bytes::new(),
        secret_body: false,
        limits: limits(WITHIN, MOST_BYTES),
        sensitive: Sensitive::default(),
        bound: Bound::default(),
    })
}

/// A whole answer that is a document.
fn whole(answer: Incoming) -> Result<Vec<u8>, String> {
    if answer.status != StatusCode::OK {
        return Err(format!("it answered {}", answer.status));
    }
    if let Some(cut) = answer.cut {
        return Err(format!("it answered more than {} bytes", cut.cap));
    }
    Ok(answer.body.to_vec())
}
