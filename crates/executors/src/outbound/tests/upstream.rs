//! An upstream on loopback that says exactly the bytes a test wants said, well-formed or not.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the upstream does with one request.
pub(super) struct Reply {
    pub(super) bytes: Vec<u8>,
    pub(super) then: Then,
}

/// What it does afterwards.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Reads the next request.
    Keep,
    /// Closes the connection.
    Close,
    /// Does nothing more, with the connection open.
    Hang,
    /// Repeats the bytes for ever.
    Repeat,
}

impl Reply {
    pub(super) fn raw(text: impl Into<Vec<u8>>, then: Then) -> Self {
        Self { bytes: text.into(), then }
    }

    /// A complete answer with these header lines and body.
    pub(super) fn whole(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut bytes =
            format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len()).into_bytes();
        bytes.extend_from_slice(body);
        Self { bytes, then: Then::Keep }
    }

    pub(super) fn redirect(status: u16, location: &str) -> Self {
        Self::whole(&format!("{status} x"), &format!("location: {location}\r\n"), "")
    }
}

/// One request as it came in.
#[derive(Clone, Debug)]
pub(super) struct Received {
    /// Request line and headers, in small letters.
    pub(super) head: String,
    pub(super) body: String,
    /// Which connection it came on, from 0.
    pub(super) connection: usize,
}

impl Received {
    pub(super) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

pub(super) struct Upstream {
    pub(super) address: SocketAddr,
    log: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Upstream {
    /// Answers every request with what `answer` makes of it.
    pub(super) async fn start(answer: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        Self::wrapped(answer, |stream| async { Some(stream) }).await
    }

    /// The same behind a handshake, such as that of TLS.
    pub(super) async fn wrapped<S, F>(
        answer: impl Fn(&Received) -> Reply + Send + Sync + 'static,
        handshake: impl Fn(TcpStream) -> F + Send + Sync + 'static,
    ) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        F: Future<Output = Option<S>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::<Mutex<Vec<Received>>>::default();
        let seen = Arc::clone(&log);
        let answer = Arc::new(answer);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            for connection in 0.. {
                let Ok((stream, _)) = listener.accept().await else { break };
                let (answer, seen, opening) = (Arc::clone(&answer), Arc::clone(&seen), handshake(stream));
                connections.spawn(async move {
                    if let Some(stream) = opening.await {
                        converse(stream, connection, &*answer, &seen).await;
                    }
                });
            }
        });
        Self { address, log, task }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.log.lock().unwrap().clone()
    }
}

async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    connection: usize,
    answer: &(dyn Fn(&Received) -> Reply + Send + Sync),
    seen: &Mutex<Vec<Received>>,
) {
    while let Some((head, body)) = read_request(&mut stream).await {
        let received = Received { head, body, connection };
        let reply = answer(&received);
        seen.lock().unwrap().push(received);
        if stream.write_all(&reply.bytes).await.is_err() {
            return;
        }
        match reply.then {
            Then::Keep => {}
            Then::Close => return,
            Then::Hang => std::future::pending().await,
            Then::Repeat => while stream.write_all(&reply.bytes).await.is_ok() {},
        }
    }
}

async fn read_request<S: AsyncRead + Unpin>(stream: &mut S) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let head_length = loop {
        if let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_length].to_vec()).unwrap().to_ascii_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    while bytes.len() < head_length + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, String::from_utf8_lossy(&bytes[head_length..]).into_owned()))
}
