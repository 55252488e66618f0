//! A bare TCP connection to a server: any bytes out, and the HTTP answers as they come back. For what no HTTP library
//! would send, and for thousands of connections at little cost.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// No answer of the tests is longer; a server that writes without end must not fill the memory.
const LONGEST_ANSWER: usize = 64 * 1024 * 1024;

/// An open connection.
#[derive(Debug)]
pub struct RawConnection {
    stream: TcpStream,
    host: String,
    // Read, and not yet taken.
    unread: Vec<u8>,
}

/// An HTTP answer.
#[derive(Clone, Debug)]
pub struct RawAnswer {
    /// The status code.
    pub status: u16,
    /// The status line and the headers, in lower case.
    pub head: String,
    /// The whole body, without its framing.
    pub body: Vec<u8>,
}

impl RawConnection {
    /// Connects to the host of an `http://` URL.
    pub async fn open(url: &str) -> Result<Self> {
        let host = url.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
        let stream = TcpStream::connect(&host).await.with_context(|| format!("cannot connect to {host}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, host, unread: Vec::new() })
    }

    /// Sends bytes as they are.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let sending = tokio::time::timeout(ANSWER_WITHIN, self.stream.write_all(bytes)).await;
        Ok(sending.context("the server does not read")??)
    }

    /// Sends a POST with a body of a known length.
    pub async fn post(&mut self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<()> {
        let mut head = format!("POST {path} HTTP/1.1\r\nhost: {}\r\n", self.host);
        for (name, value) in [("content-type", "application/json")].iter().chain(headers) {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.extend(["content-length: ", &body.len().to_string(), "\r\n\r\n"]);
        self.send(head.as_bytes()).await?;
        self.send(body).await
    }

    /// Says that nothing more will be sent; answers can still be read.
    pub async fn finish(&mut self) -> Result<()> {
        Ok(self.stream.shutdown().await?)
    }

    /// The name to put into a `Host` header.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Reads one whole HTTP answer.
    pub async fn answer(&mut self) -> Result<RawAnswer> {
        let head = self.head().await?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.with_context(|| format!("not an HTTP answer: {head:?}"))?;
        let body = if status == 204 || status == 304 || (100..200).contains(&status) {
            Vec::new()
        } else if head.contains("\r\ntransfer-encoding: chunked\r\n") {
            self.chunks().await?
        } else if let Some(length) = header(&head, "content-length") {
            self.take(length.parse()?).await?
        } else {
            self.rest().await?
        };
        Ok(RawAnswer { status, head, body })
    }

    /// Reads the head of an HTTP answer only; its body is for `until`.
    pub async fn head(&mut self) -> Result<String> {
        let head = self.until(b"\r\n\r\n").await?;
        Ok(String::from_utf8_lossy(&head).to_ascii_lowercase())
    }

    /// Reads up to and including `mark`.
    pub async fn until(&mut self, mark: &[u8]) -> Result<Vec<u8>> {
        loop {
            if let Some(at) = self.unread.windows(mark.len()).position(|window| window == mark) {
                return Ok(self.unread.drain(..at + mark.len()).collect());
            }
            ensure!(self.fill().await?, "the connection ended before {:?}", String::from_utf8_lossy(mark));
        }
    }

    /// Reads until the server closes; a reset is an end too.
    pub async fn rest(&mut self) -> Result<Vec<u8>> {
        while self.fill().await.or_else(|error| if is_reset(&error) { Ok(false) } else { Err(error) })? {}
        Ok(std::mem::take(&mut self.unread))
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        while self.unread.len() < length {
            ensure!(self.fill().await?, "the connection ended within a body");
        }
        Ok(self.unread.drain(..length).collect())
    }

    async fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.until(b"\r\n").await?;
            let size = String::from_utf8_lossy(&line);
            let size = usize::from_str_radix(size.trim(), 16).with_context(|| format!("chunk {size:?}"))?;
            body.extend(self.take(size).await?);
            self.until(b"\r\n").await?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    /// Reads something more; false at the end.
    async fn fill(&mut self) -> Result<bool> {
        if self.unread.len() > LONGEST_ANSWER {
            bail!("more than {LONGEST_ANSWER} bytes");
        }
        // Small, because there may be thousands of these.
        self.unread.reserve(512);
        let reading = tokio::time::timeout(ANSWER_WITHIN, self.stream.read_buf(&mut self.unread)).await;
        Ok(reading.with_context(|| format!("nothing within {ANSWER_WITHIN:?}"))?? > 0)
    }
}

fn is_reset(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(|error: &std::io::Error| {
        matches!(error.kind(), std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe)
    })
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

impl RawAnswer {
    /// A header's value, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
