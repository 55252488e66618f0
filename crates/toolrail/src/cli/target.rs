//! What the `tools` commands work on: a running server, or a data folder that no server is using. Both are spoken to
//! in the same words, those of the REST face.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use clap::Args;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

use super::Hinted;
use super::remote::Remote;
use crate::assemble::{self, Assembly};
use crate::config::ConfigFile;
use crate::print;
use crate::server_file::ServerFile;

/// Where a server listens unless told otherwise.
pub(super) const DEFAULT_URL: &str = "http://127.0.0.1:8080";
const DEFAULT_DATA: &str = "data";
/// The database file by which a data folder is known.
const DATABASE: &str = "toolrail.db";

#[derive(Args)]
pub(super) struct TargetArgs {
    /// Server to talk to, such as http://127.0.0.1:8080; goes before --data
    #[arg(long, global = true)]
    url: Option<String>,
    /// Data folder: the server that works on it, or the folder itself when none does [default: ./data]
    #[arg(long, global = true, env = "TOOLRAIL_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Say on standard error which server or folder was used
    #[arg(long, short, global = true)]
    verbose: bool,
}

/// A server or a folder.
pub(super) enum Target {
    Server(Remote),
    Folder { folder: PathBuf, routes: Router, assembly: Assembly },
}

/// Whether a command may start a data folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Create,
    Refuse,
}

/// An answer of the REST face.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl Target {
    /// Finds what the flags mean.
    pub(super) async fn find(args: &TargetArgs, missing: Missing) -> anyhow::Result<Self> {
        let target = match (&args.url, &args.data) {
            (Some(url), _) => Self::Server(Remote::new(url)?),
            (None, Some(folder)) => Self::of_folder(folder, missing).await?,
            (None, None) => Self::nearby().await?,
        };
        if args.verbose || (args.url.is_none() && args.data.is_none() && print::person_reads_notes()) {
            print::aside(format!("({target})"));
        }
        Ok(target)
    }

    async fn of_folder(folder: &Path, missing: Missing) -> anyhow::Result<Self> {
        if let Some(server) = Self::live_server(folder).await {
            return Ok(server);
        }
        if missing == Missing::Refuse && !folder.join(DATABASE).exists() {
            return Err(Hinted::error(
                format!("{} is not a data folder: it has no {DATABASE}", folder.display()),
                "name the folder that `toolrail serve --data` uses, or start with `toolrail tools add`",
            ));
        }
        Self::open(folder).await
    }

    async fn nearby() -> anyhow::Result<Self> {
        let folder = Path::new(DEFAULT_DATA);
        if let Some(server) = Self::live_server(folder).await {
            return Ok(server);
        }
        if folder.join(DATABASE).exists() {
            return Self::open(folder).await;
        }
        let server = Self::Server(Remote::new(DEFAULT_URL)?);
        if server.lives().await {
            return Ok(server);
        }
        Err(Hinted::error(
            format!("there is no data folder ./{DEFAULT_DATA} here and no server at {DEFAULT_URL}"),
            "start one with `toolrail serve --demo`, or say which one with --url or --data",
        ))
    }

    async fn live_server(folder: &Path) -> Option<Self> {
        let file = ServerFile::read(folder)?;
        let server = Self::Server(Remote::new(&file.url).ok()?);
        server.lives().await.then_some(server)
    }

    async fn lives(&self) -> bool {
        let asked = self.request(Method::GET, "/healthz", None);
        matches!(tokio::time::timeout(Duration::from_secs(2), asked).await, Ok(Ok(reply)) if reply.status.is_success())
    }

    async fn open(folder: &Path) -> anyhow::Result<Self> {
        let config = ConfigFile { data: Some(folder.to_owned()), ..ConfigFile::default() };
        let assembly = assemble::assemble(&config.settle()?, None).await?;
        let routes = assemble::rest_routes(&assembly.registry, "cli");
        Ok(Self::Folder { folder: folder.to_owned(), routes, assembly })
    }

    /// Leaves the folder tidy.
    pub(super) async fn close(self) {
        match self {
            Self::Server(_) => {}
            Self::Folder { assembly, .. } => assembly.close().await,
        }
    }

    /// Sends a request and reads the answer, whatever its status.
    pub(super) async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Reply> {
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let (status, bytes) = match self {
            Self::Server(remote) => {
                let json = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
                remote.send(method, path, HeaderMap::from_iter([json]), body).await?
            }
            Self::Folder { routes, .. } => ask_folder(routes, method, path, body).await?,
        };
        let body = serde_json::from_slice(&bytes).with_context(|| {
            format!("{self} answered {status} with something that is not JSON; is it a Toolrail server?")
        })?;
        Ok(Reply { status, body })
    }

    /// Sends a request that must succeed.
    pub(super) async fn expect(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        self.request(method, path, body).await?.accepted()
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Server(remote) => write!(formatter, "server {}", remote.base),
            Self::Folder { folder, .. } => write!(formatter, "data folder {}", folder.display()),
        }
    }
}

impl Reply {
    /// The body, unless it says no.
    pub(super) fn accepted(self) -> anyhow::Result<Value> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let text = |field: &str| self.body["error"][field].as_str().unwrap_or_default().to_owned();
        let (code, message) = (text("code"), text("message"));
        if code.is_empty() {
            bail!("the server answered {}: {}", self.status, self.body);
        }
        if code == "NOT_FOUND" {
            return Err(Hinted::error(
                format!("{message} ({code})"),
                "`toolrail tools list` shows what there is",
            ));
        }
        bail!("{message} ({code})")
    }
}

async fn ask_folder(
    routes: &Router,
    method: Method,
    path: &str,
    body: Bytes,
) -> anyhow::Result<(StatusCode, Bytes)> {
    let request = http::Request::builder().method(method).uri(path).body(Body::from(body))?;
    let answer = routes.clone().oneshot(request).await?;
    let status = answer.status();
    Ok((status, answer.into_body().collect().await?.to_bytes()))
}

/// A name as one step of a path.
pub(super) fn path_step(name: &str) -> String {
    let mut url = url::Url::parse("http://toolrail/").ok();
    if let Some(mut steps) = url.as_mut().and_then(|url| url.path_segments_mut().ok()) {
        steps.pop_if_empty().push(name);
    }
    url.map(|url| url.path().trim_start_matches('/').to_owned()).unwrap_or_default()
}
