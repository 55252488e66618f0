//! A site that speaks TLS and answers everything with one page.

use std::sync::Arc;

use anyhow::Result;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::Authority;

/// A running site, at `https://localhost:PORT`; ended when dropped.
#[derive(Debug)]
pub struct TlsSite {
    url: String,
    serving: AbortHandle,
}

impl TlsSite {
    /// Starts one with a certificate of that authority; `page` is told its address.
    pub async fn start(authority: &Authority, page: impl FnOnce(&str) -> String) -> Result<Self> {
        let issued = authority.for_server("localhost")?;
        let chain =
            CertificateDer::pem_slice_iter(issued.certificate.as_bytes()).collect::<Result<_, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let config = config.with_no_client_auth().with_single_cert(chain, key)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://localhost:{}", listener.local_addr()?.port());
        let serving = serve(listener, TlsAcceptor::from(Arc::new(config)), page(&url).into());
        Ok(Self { url, serving: tokio::spawn(serving).abort_handle() })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TlsSite {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, page: Arc<str>) {
    let mut answers = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, page) = (acceptor.clone(), Arc::clone(&page));
        answers.spawn(async move {
            let mut stream = acceptor.accept(stream).await.ok()?;
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await.ok()?;
            let length = page.len();
            let answer =
                format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{page}");
            stream.write_all(answer.as_bytes()).await.ok()?;
            stream.shutdown().await.ok()
        });
    }
}
