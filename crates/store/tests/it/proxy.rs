//! A proxy between a store and its server, which can be slow, silent or cut, and can lose a COMMIT or the answer to it.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use toolrail_core::{Store, StoreError};

use crate::behaviour::{by, put};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Open,
    /// Connections stay, and nothing goes through, as with a paused server.
    Silent,
    /// Connections are cut, new ones too.
    Cut,
    /// A connection is cut instead of passing a COMMIT on.
    LosesCommits,
    /// A connection is cut after it passed a COMMIT on.
    LosesAnswers,
    /// The same, and from then on all are.
    CutAfterCommit,
}

pub(crate) struct Proxy {
    port: u16,
    pub(crate) line: watch::Sender<Line>,
    _serving: JoinSet<()>,
}

impl Proxy {
    /// A proxy to the server with that URL.
    pub(crate) async fn to(server: &url::Url, usual_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = (server.host_str().unwrap().to_owned(), server.port().unwrap_or(usual_port));
        let (line, _) = watch::channel(Line::Open);
        let mut serving = JoinSet::new();
        let state = line.clone();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(serve(client, address.clone(), state.clone()));
            }
        });
        Self { port, line, _serving: serving }
    }

    /// The URL by way of this proxy.
    pub(crate) fn url(&self, mut url: url::Url) -> url::Url {
        url.set_port(Some(self.port)).unwrap();
        url
    }
}

async fn serve(client: TcpStream, address: (String, u16), line: watch::Sender<Line>) {
    let Ok(server) = TcpStream::connect(address).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let mut cut = line.subscribe();
    tokio::select! {
        _ = cut.wait_for(|line| *line == Line::Cut) => {}
        () = copy(from_client, to_server, &line, true) => {}
        () = copy(from_server, to_client, &line, false) => {}
    }
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, line: &watch::Sender<Line>, is_client: bool) {
    let mut buffer = vec![0; 64 * 1024];
    let mut state = line.subscribe();
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let Ok(now) = state.wait_for(|line| *line != Line::Silent).await.map(|line| *line) else { return };
        // At the end: a transaction that is READ COMMITTED begins with that word too.
        let said = buffer[..length].strip_suffix(b"\0").unwrap_or(&buffer[..length]);
        let commits = is_client && said.ends_with(b"COMMIT");
        if commits && now == Line::LosesCommits {
            return;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
        if commits && now == Line::CutAfterCommit {
            line.send_replace(Line::Cut);
        }
        if commits && matches!(now, Line::LosesAnswers | Line::CutAfterCommit) {
            return;
        }
    }
}

/// Whether a write was made is asked of the server; only if that is gone too, it is not known.
pub(crate) async fn writes_are_told_as_they_ended(store: &dyn Store, proxy: &Proxy) {
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    proxy.line.send_replace(Line::LosesAnswers);
    assert_eq!(store.write(&[put("a", "2")], &by("ann")).await.unwrap(), 2);
    proxy.line.send_replace(Line::LosesCommits);
    let error = store.write(&[put("a", "3")], &by("ann")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    proxy.line.send_replace(Line::Open);
    assert_eq!(store.find(None, "a").await.unwrap().unwrap().config_json, "2", "and it was not made");
    proxy.line.send_replace(Line::CutAfterCommit);
    let error = store.write(&[put("a", "4")], &by("ann")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unknown { .. }), "{error}");
    assert!(error.to_string().contains("is not known") && error.to_string().contains("read back"), "{error}");
    proxy.line.send_replace(Line::Open);
}
