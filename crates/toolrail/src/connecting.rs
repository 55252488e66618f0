//! How upstream servers and their authorisation servers are reached where people connect their accounts: through the one guarded
//! client, and only to public addresses where others name them.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Uri};
use toolrail_broker::{
    Broker, ClientSecret, Connections, MOST_ANSWER_BYTES, UpstreamAnswer, UpstreamBody, UpstreamOutbound,
    UpstreamRequest,
};
use toolrail_core::{Secrets, Store, async_trait};
use toolrail_executors::outbound::{Bound, Client, ClientLimits, Outgoing, SendLimits, Sensitive};

use crate::config::Settings;
use crate::issuers::basic;

/// How long one of them may take.
const WITHIN: Duration = Duration::from_secs(10);

/// The accounts that people have connected, in that store.
pub(crate) fn connections(
    settings: &Settings,
    store: &Arc<dyn Store>,
    secrets: &Arc<Secrets>,
    broker: Option<Arc<Broker>>,
) -> Arc<Connections> {
    let outbound = ConnectClient {
        // What definitions and servers name is asked like tools ask: no gateway is administered by it.
        anywhere: Client::of_gateway(ClientLimits::default()),
        public: Client::to_public_addresses(ClientLimits::default()),
        secrets: Arc::clone(secrets),
    };
    Connections::new(settings.public_url.as_deref(), Arc::clone(store), Arc::new(outbound), broker)
}

/// Reaches them.
struct ConnectClient {
    anywhere: Client,
    /// For addresses that others have named.
    public: Client,
    secrets: Arc<Secrets>,
}

#[async_trait]
impl UpstreamOutbound for ConnectClient {
    async fn send(&self, request: UpstreamRequest<'_>) -> Result<UpstreamAnswer, String> {
        let client = if request.may_be_private { &self.anywhere } else { &self.public };
        let answer = client.send(self.outgoing(&request)?).await.map_err(|failure| failure.error.message)?;
        if answer.cut.is_some() {
            return Err(format!("it answered more than {MOST_ANSWER_BYTES} bytes"));
        }
        let challenge = answer.headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let challenge = challenge.map(str::to_owned);
        Ok(UpstreamAnswer { status: answer.status.as_u16(), challenge, body: answer.body.to_vec() })
    }
}

impl ConnectClient {
    fn outgoing(&self, request: &UpstreamRequest<'_>) -> Result<Outgoing, String> {
        let uri: Uri = request.url.parse().map_err(|_| "it is no address".to_owned())?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream;q=0.1"));
        let (method, body) = match &request.body {
            UpstreamBody::Nothing => (Method::GET, String::new()),
            UpstreamBody::Form(pairs) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
                let mut body = url::form_urlencoded::Serializer::new(String::new());
                (Method::POST, body.extend_pairs(pairs.iter()).finish())
            }
            UpstreamBody::Json(text) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                (Method::POST, text.clone())
            }
        };
        let (mut sensitive, mut bound) = (Sensitive::default(), Bound::default());
        if let Some((id, secret)) = request.client {
            let text = match secret {
                ClientSecret::Given(text) => text.as_str(),
                ClientSecret::Named(name) => {
                    let binding = self.secrets.binding(name).cloned();
                    bound = Bound::new(binding.map(|binding| (name.clone(), binding)).into_iter());
                    self.secrets.find(name).ok_or_else(|| self.secrets.how_to_set(name))?.reveal()
                }
            };
            headers.insert(AUTHORIZATION, basic(id, text)?);
            sensitive = Sensitive::of([text]);
        }
        let limits = SendLimits {
            connect: WITHIN,
            total: WITHIN,
            max_response_bytes: MOST_ANSWER_BYTES,
            redirects: 0,
        };
        let is_form = matches!(request.body, UpstreamBody::Form(_));
        Ok(Outgoing {
            method,
            uri,
            headers,
            body: body.into(),
            secret_body: is_form,
            limits,
            sensitive,
            bound,
        })
    }
}
