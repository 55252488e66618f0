//! What can be listened on: a TCP address, or a Unix socket of this machine.

use std::io;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Something that clients connect to.
pub(crate) trait Listen: Send + Sync {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection, and the address it comes from where it has one.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, Option<IpAddr>)>> + Send;
}

impl Listen for TcpListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, Option<IpAddr>)> {
        let (stream, peer) = TcpListener::accept(self).await?;
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY was refused");
        }
        Ok((stream, Some(peer.ip().to_canonical())))
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
    type Stream = UnixStream;

    async fn accept(&self) -> io::Result<(UnixStream, Option<IpAddr>)> {
        self.listener.accept().await.map(|(stream, _)| (stream, None))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = std::fs::remove_file(&self.path);
    }
}
