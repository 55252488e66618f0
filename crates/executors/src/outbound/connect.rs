//! How connections are made: plain or TLS, within the connect time of the request that asked. TLS is prepared on first
//! use, so that a gateway with plain upstreams neither reads nor holds root certificates.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{Connection, HttpConnector, HttpInfo};
use hyper_util::rt::TokioIo;
#[cfg(test)]
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tower_service::Service;

use super::trust::Trust;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

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
pub(super) struct OutboundConnector {
    http: HttpConnector,
    https: Arc<OnceCell<HttpsConnector<HttpConnector>>>,
    trust: Arc<Trust>,
}

impl OutboundConnector {
    pub(super) fn new(trust: Trust) -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        Self { http, https: Arc::default(), trust: Arc::new(trust) }
    }

    /// The same, trusting exactly what `config` trusts.
    #[cfg(test)]
    pub(super) fn trusting(config: ClientConfig) -> Self {
        let connector = Self::new(Trust::default());
        let https = HttpsConnector::from((connector.http.clone(), config));
        Self { https: Arc::new(OnceCell::new_with(Some(https))), ..connector }
    }

    /// A connection to the host and port of `target`, if one stands `within` that time.
    pub(super) async fn connect_within(
        &self,
        target: Uri,
        within: Duration,
    ) -> Result<MaybeHttpsStream<TokioIo<TcpStream>>, BoxError> {
        tokio::time::timeout(within, self.clone().connect(target))
            .await
            .unwrap_or_else(|_| Err(ConnectTimeout(within).into()))
    }

    async fn connect(mut self, target: Uri) -> Result<MaybeHttpsStream<TokioIo<TcpStream>>, BoxError> {
        if target.scheme() != Some(&Scheme::HTTPS) {
            return Ok(MaybeHttpsStream::Http(self.http.call(target).await?));
        }
        let (http, trust) = (&self.http, Arc::clone(&self.trust));
        let https = self
            .https
            .get_or_try_init(|| async {
                let config = tokio::task::spawn_blocking(move || trust.config()).await??;
                Ok::<_, BoxError>(HttpsConnector::from((http.clone(), config)))
            })
            .await?;
        https.clone().call(target).await
    }
}

/// Whom a connection leads to.
pub(super) fn peer(stream: &MaybeHttpsStream<TokioIo<TcpStream>>) -> Option<IpAddr> {
    let mut known = http::Extensions::new();
    stream.connected().get_extras(&mut known);
    known.get::<HttpInfo>().map(|info| info.remote_addr().ip())
}
