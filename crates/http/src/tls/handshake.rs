//! The beginning of a connection with TLS: bounded in time and number, and refused in words to whoever speaks plain HTTP.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Certificate, Secured, Tls};

/// How the versions of HTTP are called in a handshake.
pub(super) const HTTP2: &[u8] = b"h2";
pub(super) const HTTP1: &[u8] = b"http/1.1";

/// How long a handshake may take, with the wait for its turn.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// How long somebody who speaks plain HTTP may take to read that he should not.
const REFUSED_WITHIN: Duration = Duration::from_secs(1);
/// The most that is read of a request that is refused unread.
const MOST_UNREAD: u64 = 64 * 1024;

const REFUSED: &str = "this port speaks TLS; begin the address with https://\n";

/// Which versions of HTTP a handshake offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// All of them.
    Everything,
    /// Only HTTP/1.1.
    Http1,
}

/// A connection that stands, ready for requests.
pub(crate) struct Settled<S> {
    pub(crate) stream: S,
    /// Whether the client speaks HTTP/2.
    pub(crate) is_http2: bool,
    /// What the client has shown, verified.
    pub(crate) certificate: Option<Certificate>,
}

/// Shakes hands with a client; nothing comes of one who is too slow, or has nothing to show.
pub(crate) async fn shake_hands(stream: TcpStream, tls: &Tls, offered: Offered) -> Option<Settled<Secured>> {
    let settled = tokio::time::timeout(HANDSHAKE_WITHIN, settle(stream, tls, offered)).await;
    settled.unwrap_or_else(|_| {
        tracing::debug!("TLS handshake took too long");
        None
    })
}

async fn settle(stream: TcpStream, tls: &Tls, offered: Offered) -> Option<Settled<Secured>> {
    let mut first = [0];
    // Whoever says nothing takes nobody's turn.
    let count = stream.peek(&mut first).await.ok()?;
    if count == 0 {
        return None;
    }
    // A handshake begins with 22, a request with the letters of its method.
    if first[0].is_ascii_uppercase() {
        let _ = tokio::time::timeout(REFUSED_WITHIN, refuse(stream)).await;
        return None;
    }
    let peer = stream.peer_addr().ok().map(|peer| peer.ip().to_canonical());
    let turn = tls.handshakes.acquire().await.ok()?;
    let accepted = TlsAcceptor::from(tls.config(offered)).accept(stream).await;
    drop(turn);
    match accepted {
        Ok(stream) => settled(stream),
        Err(error) => {
            if is_about_certificate(&error) {
                tls.note_refused(peer, &error);
            }
            tracing::debug!(%error, "TLS handshake failed");
            None
        }
    }
}

/// Whether the client has shown a certificate that is not taken, or none where one is needed.
fn is_about_certificate(error: &std::io::Error) -> bool {
    let error = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(error, Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented))
}

fn settled(stream: TlsStream<TcpStream>) -> Option<Settled<Secured>> {
    let (_, session) = stream.get_ref();
    let is_http2 = session.alpn_protocol() == Some(HTTP2);
    let certificate = match session.peer_certificates().and_then(<[_]>::first) {
        Some(shown) => {
            let read = Certificate::read(shown);
            if read.is_none() {
                tracing::debug!("a verified client certificate cannot be read");
            }
            Some(read?)
        }
        None => None,
    };
    let good_until = certificate.as_ref().map(|certificate| certificate.good_until);
    Some(Settled { stream: Secured::new(stream, good_until), is_http2, certificate })
}

/// Says what is wrong, and takes what was sent: else the answer could be lost with it.
async fn refuse(mut stream: TcpStream) -> std::io::Result<()> {
    let length = REFUSED.len();
    let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close";
    stream.write_all(format!("{head}\r\ncontent-length: {length}\r\n\r\n{REFUSED}").as_bytes()).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(MOST_UNREAD), &mut tokio::io::sink()).await?;
    Ok(())
}
