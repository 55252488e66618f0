//! How connections are made: plain or TLS, within the connect time of the request that asked. TLS is prepared on first
//! use, so that a gateway with plain upstreams neither reads nor holds root certificates.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tower_service::Service;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

tokio::task_local! {
    /// What the connector must know of the request it works for; hyper gives it the address alone.
    pub(super) static DIAL: Dial;
}

/// One request's wish for a connection.
pub(super) struct Dial {
    limit: Duration,
    dialed: Cell<bool>,
}

impl Dial {
    pub(super) fn within(limit: Duration) -> Self {
        Self { limit, dialed: Cell::new(false) }
    }

    /// Forgets an earlier connection.
    pub(super) fn reset(&self) {
        self.dialed.set(false);
    }

    /// Whether a new connection was asked for; if not, a pooled one was used.
    pub(super) fn dialed(&self) -> bool {
        self.dialed.get()
    }
}

/// No connection stood in the time it was given.
#[derive(Debug)]
pub(super) struct ConnectTimeout(pub(super) Duration);

impl fmt::Display for ConnectTimeout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no connection within {} ms", self.0.as_millis())
    }
}

impl std::error::Error for ConnectTimeout {}

/// Connects to `http` and `https` addresses.
#[derive(Clone)]
pub(super) struct Connector {
    http: HttpConnector,
    https: Arc<OnceCell<HttpsConnector<HttpConnector>>>,
}

impl Connector {
    pub(super) fn new() -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        Self { http, https: Arc::default() }
    }

    /// The same, trusting exactly what `config` trusts.
    #[cfg(test)]
    pub(super) fn trusting(config: ClientConfig) -> Self {
        let connector = Self::new();
        let https = HttpsConnector::from((connector.http.clone(), config));
        Self { https: Arc::new(OnceCell::new_with(Some(https))), ..connector }
    }

    async fn connect(mut self, target: Uri) -> Result<MaybeHttpsStream<TokioIo<TcpStream>>, BoxError> {
        if target.scheme() != Some(&Scheme::HTTPS) {
            return Ok(MaybeHttpsStream::Http(self.http.call(target).await?));
        }
        let http = &self.http;
        let https = self
            .https
            .get_or_try_init(|| async {
                let config = tokio::task::spawn_blocking(tls_config).await??;
                Ok::<_, BoxError>(HttpsConnector::from((http.clone(), config)))
            })
            .await?;
        https.clone().call(target).await
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        // Read here and not in the future: when a pooled connection turns up first, hyper finishes the new one in a task
        // of its own, where the request's wish is out of sight.
        let limit = DIAL.try_with(|dial| {
            dial.dialed.set(true);
            dial.limit
        });
        let connecting = self.clone().connect(target);
        Box::pin(async move {
            let Ok(limit) = limit else {
                return connecting.await;
            };
            tokio::time::timeout(limit, connecting)
                .await
                .unwrap_or_else(|_| Err(ConnectTimeout(limit).into()))
        })
    }
}

/// Trusts the roots of the system or, where it has none (a bare container), those of Mozilla.
fn tls_config() -> Result<ClientConfig, BoxError> {
    let builder = || {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
    };
    let config = match builder()?.with_native_roots() {
        Ok(config) => config,
        Err(reason) => {
            tracing::warn!(%reason, "no system root certificates; using the built-in ones");
            builder()?.with_webpki_roots()
        }
    };
    Ok(config.with_no_client_auth())
}
