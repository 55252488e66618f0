//! The real binary, `serve`d on a free port with a data folder of its own.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Child;

use crate::child::{self, Tail};
use crate::http_client::{HttpClient, Reply};
use crate::wait::{SAID_WITHIN, wait_until};

const START_WITHIN: Duration = Duration::from_secs(30);

/// How a gateway is to be started.
#[derive(Debug)]
pub struct GatewayBuilder {
    binary: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    data: Option<PathBuf>,
}

/// A running gateway; killed when dropped.
#[derive(Debug)]
pub struct Gateway {
    launch: GatewayBuilder,
    data: PathBuf,
    running: Running,
    client: HttpClient,
    next_id: AtomicU64,
    // Held so that the folder lives as long as the gateway.
    _temporary: Option<TempDir>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    url: String,
    stdout: Tail,
    stderr: Tail,
}

impl GatewayBuilder {
    /// Adds an argument after `serve --listen … --data …`.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable. Variables of the test itself that begin with `TOOLRAIL_` are not passed on.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Has the discovery tools, as a gateway has unless a test starts it.
    #[must_use]
    pub fn discovery(self) -> Self {
        self.env("TOOLRAIL_DISCOVERY", "on")
    }

    /// Uses this data folder instead of a temporary one.
    #[must_use]
    pub fn data(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data = Some(folder.into());
        self
    }

    /// Uses the store with this URL instead of the one in the data folder.
    #[must_use]
    pub fn store(self, url: impl AsRef<OsStr>) -> Self {
        self.arg("--store").arg(url)
    }

    /// Starts it and waits until it listens.
    pub async fn start(self) -> Result<Gateway> {
        let temporary = if self.data.is_none() { Some(tempfile::tempdir()?) } else { None };
        let data = match (&self.data, &temporary) {
            (Some(data), _) => data.clone(),
            (None, Some(folder)) => folder.path().to_owned(),
            (None, None) => bail!("no data folder"),
        };
        let running = self.launch(&data).await?;
        let client = HttpClient::new();
        Ok(Gateway { launch: self, data, running, client, next_id: AtomicU64::new(1), _temporary: temporary })
    }

    async fn launch(&self, data: &Path) -> Result<Running> {
        let announcement = data.join("server.json");
        // Left behind by a process that was killed, it would name an address that is gone.
        if let Err(error) = std::fs::remove_file(&announcement)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(error).with_context(|| format!("cannot remove {}", announcement.display()));
        }
        let mut child = child::command(&self.binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .spawn()
            .with_context(|| format!("cannot start {}", self.binary.display()))?;
        let mut stdout = Tail::follow(child.stdout.take());
        let mut stderr = Tail::follow(child.stderr.take());
        match announced_url(&mut child, &announcement).await {
            Ok(url) => Ok(Running { child, url, stdout, stderr }),
            Err(error) => {
                // Ended first, for its streams to end too.
                child.kill().await?;
                let (stdout, stderr) = (stdout.last_text().await, stderr.last_text().await);
                Err(error.context(format!("the gateway did not start\nstdout: {stdout}\nstderr: {stderr}")))
            }
        }
    }
}

impl Gateway {
    /// Prepares to start `binary`, usually `env!("CARGO_BIN_EXE_toolrail")`.
    pub fn builder(binary: impl Into<PathBuf>) -> GatewayBuilder {
        GatewayBuilder { binary: binary.into(), arguments: Vec::new(), environment: Vec::new(), data: None }
    }

    /// Where it listens: `http://127.0.0.1:PORT`. Another port after a restart.
    pub fn url(&self) -> &str {
        &self.running.url
    }

    /// Its data folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Its process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.running.child.id()
    }

    /// The end of what it has written to stdout.
    ///
    /// A gateway announces itself before it prints: see [`Gateway::banner`].
    pub fn stdout(&self) -> String {
        self.running.stdout.text()
    }

    /// What it prints at its start, waited for.
    pub async fn banner(&self) -> Result<String> {
        let printed = async || Some(self.stdout()).filter(|text| text.contains("Try:"));
        wait_until("the banner", Duration::from_secs(10), printed).await
    }

    /// Waits until it has written these words to stderr, which comes by another way than its answers; gives everything that
    /// stands there.
    pub async fn said(&self, words: &str) -> Result<String> {
        let told = async || Some(self.stderr()).filter(|text| text.contains(words));
        wait_until(&format!("{words:?} on stderr"), SAID_WITHIN, told).await.with_context(|| self.stderr())
    }

    /// The end of what it has written to stderr.
    pub fn stderr(&self) -> String {
        self.running.stderr.text()
    }

    /// `GET path`.
    pub async fn get(&self, path: &str) -> Result<Reply> {
        self.json(Method::GET, path, None).await
    }

    /// `POST path` with a JSON body.
    pub async fn post_json(&self, path: &str, body: &Value) -> Result<Reply> {
        self.json(Method::POST, path, Some(body)).await
    }

    /// `PUT path` with a JSON body.
    pub async fn put_json(&self, path: &str, body: &Value) -> Result<Reply> {
        self.json(Method::PUT, path, Some(body)).await
    }

    /// `DELETE path`.
    pub async fn delete(&self, path: &str) -> Result<Reply> {
        self.json(Method::DELETE, path, None).await
    }

    /// Any request; its URI is a path, to which the gateway's address is put.
    pub async fn request(&self, mut request: Request<Full<Bytes>>) -> Result<Reply> {
        *request.uri_mut() = format!("{}{}", self.url(), request.uri()).parse()?;
        self.client.send(request).await.with_context(|| self.last_words())
    }

    /// One JSON-RPC request to `/mcp`, without the headers or metadata of any MCP revision.
    pub async fn mcp(&self, method: &str, params: Value) -> Result<Reply> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.post_json("/mcp", &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await
    }

    /// The same, as a client of standard MCP sends it that has not asked for a session.
    pub async fn standard_mcp(&self, method: &str, params: Value) -> Result<Reply> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let request = Request::post("/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25");
        self.request(request.body(Full::new(Bytes::from(body.to_string())))?).await
    }

    /// Ends it without warning (SIGKILL), as a power cut would.
    pub async fn kill(&mut self) -> Result<()> {
        Ok(self.running.child.kill().await?)
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    pub async fn stop(&mut self) -> Result<ExitStatus> {
        child::terminate(&mut self.running.child).await.with_context(|| self.last_words())
    }

    /// Starts it again on the same data, ending it first (SIGKILL) if it still runs.
    pub async fn restart(&mut self) -> Result<()> {
        if self.running.child.try_wait()?.is_none() {
            self.kill().await?;
        }
        self.running = self.launch.launch(&self.data).await?;
        Ok(())
    }

    async fn json(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply> {
        let url = format!("{}{path}", self.url());
        self.client.send_json(method, &url, body).await.with_context(|| self.last_words())
    }

    fn last_words(&self) -> String {
        format!("the gateway's stderr: {}", self.stderr())
    }
}

/// Waits for the file in which `serve` says where it listens; the process id tells it from an older one.
async fn announced_url(child: &mut Child, announcement: &Path) -> Result<String> {
    let pid = child.id();
    wait_until("the gateway to listen", START_WITHIN, async || {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(Err(anyhow::anyhow!("it ended at once with {status}")));
        }
        let text = std::fs::read(announcement).ok()?;
        let said: Value = serde_json::from_slice(&text).ok()?;
        if said["pid"].as_u64() != pid.map(u64::from) {
            return None;
        }
        Some(Ok(said["url"].as_str()?.trim_end_matches('/').to_owned()))
    })
    .await?
}
