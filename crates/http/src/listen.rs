//! What can be listened on: a TCP address, with TLS or without, or a Unix socket of this machine.

use std::future::ready;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::TlsGuest;
use super::tls::{CertifiedGuest, Offered, Secured, Settled, Tls, shake_hands};

/// Something that clients connect to.
pub(crate) trait Listen: Send + Sync + 'static {
    /// A connection as it comes.
    type Accepted: Send + 'static;
    /// A connection that carries requests.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection, and the address it comes from where it has one.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Accepted, Option<IpAddr>)>> + Send;

    /// Makes a connection carry requests, which may take a while; nothing if it will not.
    fn settle(accepted: Self::Accepted) -> impl Future<Output = Option<(Self::Stream, Manners)>> + Send;
}

/// How the client of a connection speaks.
#[derive(Default)]
pub(crate) struct Manners {
    pub(crate) is_http2: bool,
    pub(crate) tls: Option<Box<TlsGuest>>,
}

impl Listen for TcpListener {
    type Accepted = TcpStream;
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, Option<IpAddr>)> {
        let (stream, peer) = TcpListener::accept(self).await?;
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY was refused");
        }
        Ok((stream, Some(peer.ip().to_canonical())))
    }

    fn settle(stream: TcpStream) -> impl Future<Output = Option<(TcpStream, Manners)>> + Send {
        ready(Some((stream, Manners::default())))
    }
}

/// A TCP address at which TLS is spoken.
pub(crate) struct TlsListener {
    pub(crate) listener: TcpListener,
    pub(crate) tls: Arc<Tls>,
}

impl Listen for TlsListener {
    type Accepted = (TcpStream, Arc<Tls>);
    type Stream = Secured;

    async fn accept(&self) -> io::Result<(Self::Accepted, Option<IpAddr>)> {
        let (stream, peer) = Listen::accept(&self.listener).await?;
        Ok(((stream, Arc::clone(&self.tls)), peer))
    }

    async fn settle((stream, tls): Self::Accepted) -> Option<(Secured, Manners)> {
        // Boxed, since a connection that stands needs the room no more.
        let settled = Box::pin(shake_hands(stream, &tls, Offered::Everything)).await?;
        let Settled { stream, is_http2, certificate } = settled;
        Some((
            stream,
            Manners {
                is_http2,
                tls: Some(Box::new(TlsGuest { tls, certificate, known: CertifiedGuest::default() })),
            },
        ))
    }
}

/// A Unix socket; its file goes when it does.
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Listens on a file that only this user may connect to. One left over by a process that is gone is replaced.
    pub async fn bind(path: &Path) -> io::Result<Self> {
        if std::fs::symlink_metadata(path).is_ok_and(|found| is_socket(&found)) {
            if UnixStream::connect(path).await.is_ok() {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned() })
    }
}

fn is_socket(found: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_socket(&found.file_type())
}

impl Listen for Socket {
    type Accepted = UnixStream;
    type Stream = UnixStream;

    async fn accept(&self) -> io::Result<(UnixStream, Option<IpAddr>)> {
        self.listener.accept().await.map(|(stream, _)| (stream, None))
    }

    fn settle(stream: UnixStream) -> impl Future<Output = Option<(UnixStream, Manners)>> + Send {
        ready(Some((stream, Manners::default())))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = std::fs::remove_file(&self.path);
    }
}
