//! A client that speaks TLS, over HTTP/1.1 or HTTP/2, a new connection for each request.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::HOST;
use hyper::{HeaderMap, Request, Response, Uri, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Authority, Issued};
use crate::Reply;

const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A client that trusts one authority.
#[derive(Clone, Debug)]
pub struct TlsClient {
    roots: Arc<RootCertStore>,
    shown: Option<Issued>,
    protocols: Vec<Vec<u8>>,
    /// Where it connects to, whatever a URL says.
    address: Option<String>,
}

/// The head of an answer, and how it came.
#[derive(Debug)]
pub struct TlsAnswer {
    /// The answer, its body unread.
    pub response: Response<Incoming>,
    /// The certificate that the server showed.
    pub certificate: Vec<u8>,
}

impl TlsClient {
    /// Trusts what the authority issued for 127.0.0.1, and shows nothing itself.
    pub fn trusting(authority: &Authority) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes())?)?;
        let protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { roots: Arc::new(roots), shown: None, protocols, address: None })
    }

    /// The same, connecting to that address whatever a URL says.
    #[must_use]
    pub fn at(self, address: &str) -> Self {
        Self { address: Some(address.to_owned()), ..self }
    }

    /// The same, showing a certificate.
    #[must_use]
    pub fn showing(self, shown: &Issued) -> Self {
        Self { shown: Some(shown.clone()), ..self }
    }

    /// The same over HTTP/2.
    #[must_use]
    pub fn http2(self) -> Self {
        Self { protocols: vec![b"h2".to_vec(), b"http/1.1".to_vec()], ..self }
    }

    /// A connection to the host and port of a URL.
    pub async fn connect(&self, url: &str) -> Result<TlsStream<TcpStream>> {
        let uri: Uri = url.parse()?;
        let named = uri.authority().context("no host")?.as_str();
        let stream = TcpStream::connect(self.address.as_deref().unwrap_or(named)).await?;
        let name = ServerName::try_from("127.0.0.1")?;
        let connecting = TlsConnector::from(Arc::new(self.config()?)).connect(name, stream);
        Ok(tokio::time::timeout(ANSWER_WITHIN, connecting).await.context("no handshake")??)
    }

    /// Sends a request to the URL that it names and gives the head of the answer.
    pub async fn open(&self, mut request: Request<Full<Bytes>>) -> Result<TlsAnswer> {
        let stream = self.connect(&request.uri().to_string()).await?;
        let (_, session) = stream.get_ref();
        let shown = session.peer_certificates().and_then(<[_]>::first);
        let certificate = shown.context("the server shows no certificate")?.to_vec();
        let is_http2 = session.alpn_protocol() == Some(b"h2");
        let stream = TokioIo::new(stream);
        // Each connection ends with its answer.
        let answering = async {
            if is_http2 {
                let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
                tokio::spawn(connection);
                return anyhow::Ok(sender.send_request(request).await?);
            }
            let host = request.uri().authority().context("no host")?.as_str().parse()?;
            request.headers_mut().entry(HOST).or_insert(host);
            let path = request.uri().path_and_query().context("no path")?.as_str().parse()?;
            *request.uri_mut() = path;
            let (mut sender, connection) = http1::handshake(stream).await?;
            tokio::spawn(connection);
            Ok(sender.send_request(request).await?)
        };
        let response = tokio::time::timeout(ANSWER_WITHIN, answering).await.context("no answer")??;
        Ok(TlsAnswer { response, certificate })
    }

    /// Sends a request and reads the whole answer; also tells its version of HTTP.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<(Reply, Version)> {
        let (head, body) = self.open(request).await?.response.into_parts();
        let body = tokio::time::timeout(ANSWER_WITHIN, body.collect()).await.context("no body")??;
        let headers: HeaderMap = head.headers;
        Ok((Reply { status: head.status.as_u16(), headers, body: body.to_bytes() }, head.version))
    }

    /// `GET url`.
    pub async fn get(&self, url: &str) -> Result<Reply> {
        Ok(self.send(Request::get(url).body(Full::default())?).await?.0)
    }

    /// `POST url` with a JSON body.
    pub async fn post_json(&self, url: &str, body: &Value) -> Result<Reply> {
        let request = Request::post(url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(Full::new(Bytes::from(body.to_string())))?;
        Ok(self.send(request).await?.0)
    }

    fn config(&self) -> Result<ClientConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let builder = builder.with_root_certificates(Arc::clone(&self.roots));
        let mut config = match &self.shown {
            Some(shown) => {
                let chain = vec![CertificateDer::from_pem_slice(shown.certificate.as_bytes())?];
                builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(shown.key.as_bytes())?)?
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols.clone_from(&self.protocols);
        Ok(config)
    }
}
