//! A round-robin TCP proxy, as it stands before replicas. Each connection carries one request and goes to the next
//! replica, so that two requests in a row are never answered by the same one.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

const LONGEST_HEAD: usize = 64 * 1024;
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// A running proxy; ended when dropped.
#[derive(Debug)]
pub struct Balancer {
    url: String,
    replicas: Arc<Replicas>,
    accepting: AbortHandle,
}

#[derive(Debug)]
struct Replicas {
    addresses: Mutex<Vec<String>>,
    next: AtomicUsize,
    served: Mutex<Vec<usize>>,
}

impl Balancer {
    /// Starts a proxy for the servers at these `http://` URLs.
    pub async fn start(urls: &[&str]) -> Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let replicas = Arc::new(Replicas {
            addresses: Mutex::new(urls.iter().map(|url| address_of(url)).collect()),
            next: AtomicUsize::new(0),
            served: Mutex::new(vec![0; urls.len()]),
        });
        let accepting = tokio::spawn(accept(listener, replicas.clone())).abort_handle();
        Ok(Self { url, replicas, accepting })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Tells that a replica is somewhere else now.
    pub fn moved(&self, replica: usize, url: &str) {
        let mut addresses = self.replicas.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = addresses.get_mut(replica) {
            *address = address_of(url);
        }
    }

    /// How many connections each replica got.
    pub fn served(&self) -> Vec<usize> {
        self.replicas.served.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Replicas {
    /// Connects to the next replica; one that cannot be reached is passed over, as every balancer does.
    async fn connect(&self) -> Result<TcpStream> {
        let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for _ in 0..addresses.len() {
            let replica = self.next.fetch_add(1, Ordering::Relaxed) % addresses.len();
            if let Ok(stream) = TcpStream::connect(&addresses[replica]).await {
                self.served.lock().unwrap_or_else(PoisonError::into_inner)[replica] += 1;
                return Ok(stream);
            }
        }
        Err(anyhow::anyhow!("no replica can be reached"))
    }
}

fn address_of(url: &str) -> String {
    url.trim_start_matches("http://").trim_end_matches('/').to_owned()
}

async fn accept(listener: TcpListener, replicas: Arc<Replicas>) {
    // Dropped with this task, which ends every connection.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let replicas = replicas.clone();
        connections.spawn(async move {
            // However a connection ends, its client sees it end.
            drop(carry(client, &replicas).await);
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn carry(mut client: TcpStream, replicas: &Replicas) -> Result<()> {
    client.set_nodelay(true)?;
    let request = tokio::time::timeout(HEAD_WITHIN, read_head(&mut client)).await??;
    let mut replica = replicas.connect().await?;
    replica.set_nodelay(true)?;
    replica.write_all(&request).await?;
    copy_bidirectional(&mut client, &mut replica).await?;
    Ok(())
}

/// Reads the head of a request, and what came with it, and asks the server to close afterwards.
async fn read_head(client: &mut TcpStream) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        ensure!(bytes.len() < LONGEST_HEAD, "the head is too long");
        ensure!(client.read_buf(&mut bytes).await? > 0, "the client left");
    };
    let head = std::str::from_utf8(&bytes[..end]).context("the head is not text")?;
    if head.to_ascii_lowercase().contains("\r\nupgrade:") {
        return Ok(bytes);
    }
    let lines = head.split("\r\n").filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let mut closing = lines.collect::<Vec<_>>().join("\r\n");
    closing += "\r\nconnection: close\r\n\r\n";
    let mut request = closing.into_bytes();
    request.extend_from_slice(&bytes[end + 4..]);
    Ok(request)
}
