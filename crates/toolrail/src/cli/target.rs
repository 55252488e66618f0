//! What the `tools` commands work on: a running server, or a store that none here is using. Both are spoken to in the
//! same words, those of the REST face.

pub(super) mod client_key;
mod supplies;
pub(super) mod trust_args;

use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use clap::Args;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use toolrail_core::{Principal, Way};
use toolrail_executors::outbound::Trust;
use toolrail_store::StoreUrl;
use tower::ServiceExt;

use self::client_key::{ClientKey, KeyArgs};
use self::supplies::SupplyArgs;
use self::trust_args::TrustArgs;
use super::gateway::{AllowCommands, StoreArgs};
use super::remote::Remote;
use super::{Hinted, profile, shell_word, user, wording};
use crate::assemble::{self, Assembly};
use crate::config::{ConfigFile, Layer, bounds};
use crate::server_file::{self, ServerFile};
use crate::{identity, print};

/// Where a server listens unless told otherwise.
pub(super) const DEFAULT_URL: &str = "http://127.0.0.1:8080";
pub(super) const DEFAULT_DATA: &str = "data";
/// How long a server may take to answer unless a command says otherwise.
const USUAL_TIME: Duration = Duration::from_mins(5);
/// By what way changes come unless a command says otherwise.
const VIA: Way = Way::Cli;
/// The database file by which a data folder is known.
const DATABASE: &str = "toolrail.db";

#[derive(Args)]
pub(super) struct TargetArgs {
    /// Server to talk to, such as http://127.0.0.1:8080; takes precedence over --data [env: TOOLRAIL_URL, where neither
    /// --data nor --store is given]
    #[arg(long, global = true)]
    pub(super) url: Option<String>,
    /// Server to talk to by the name that profiles.yaml in your configuration folder gives it [env: TOOLRAIL_PROFILE,
    /// likewise]
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "url")]
    pub(super) profile: Option<String>,
    /// Data folder: the server that works on it, or the folder itself when none does [default: ./data]
    #[arg(long, global = true, env = "TOOLRAIL_DATA", value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    #[command(flatten)]
    pub(super) store: StoreArgs,
    /// Tenant whose definitions are meant, and seen beside the shared ones [default: the shared ones only]
    #[arg(long, global = true, env = "TOOLRAIL_TENANT", value_name = "NAME", value_parser = bounds::tenant)]
    tenant: Option<String>,
    #[command(flatten)]
    commands: AllowCommands,
    /// Say on standard error which server, folder or store was used
    #[arg(long, short, global = true)]
    verbose: bool,
    #[command(flatten)]
    supplies: SupplyArgs,
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    trust: TrustArgs,
}

/// A server or a store, on whose behalf it is used, and the flags by which the user named it.
pub(super) struct Target {
    place: TargetPlace,
    principal: Principal,
    flags: String,
}

enum TargetPlace {
    Server(Remote),
    /// `name` is what people are told.
    Store {
        name: String,
        routes: Router,
        assembly: Assembly,
    },
}

/// Whether a command may start a data folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Create,
    Refuse,
}

/// A request to the REST face.
pub(super) struct RestRequest<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) body: Option<&'a Value>,
    /// A member of every good answer to it, by which a gateway is told from any other server.
    pub(super) answer: &'static str,
    /// By what way a change is recorded to come.
    pub(super) via: Way,
    /// How long the whole of its answer may take.
    pub(super) within: Duration,
    /// The version that must be there.
    pub(super) expected: Option<i64>,
}

/// An answer of the REST face.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl Reply {
    /// Whether whoever asks has too little for it.
    pub(super) fn is_forbidden(&self) -> bool {
        self.body["error"]["code"] == "FORBIDDEN"
    }
}

impl<'a> RestRequest<'a> {
    pub(super) fn get(path: &'a str, answer: &'static str) -> Self {
        Self { method: Method::GET, path, body: None, answer, via: VIA, within: USUAL_TIME, expected: None }
    }

    pub(super) fn post(path: &'a str, body: &'a Value, answer: &'static str) -> Self {
        Self {
            method: Method::POST,
            path,
            body: Some(body),
            answer,
            via: VIA,
            within: USUAL_TIME,
            expected: None,
        }
    }

    /// The same without a body.
    pub(super) fn plain(method: Method, path: &'a str, answer: &'static str) -> Self {
        Self { method, path, body: None, answer, via: VIA, within: USUAL_TIME, expected: None }
    }

    /// The same, recorded as coming by another way.
    pub(super) fn by(self, via: Way) -> Self {
        Self { via, ..self }
    }

    /// The same where the answer may take longer.
    pub(super) fn within(self, within: Duration) -> Self {
        Self { within, ..self }
    }

    /// The same, refused unless that is the version that is there.
    pub(super) fn expecting(self, expected: Option<i64>) -> Self {
        Self { expected, ..self }
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(tag) =
            self.expected.and_then(|version| HeaderValue::from_str(&format!("\"{version}\"")).ok())
        {
            headers.insert(header::IF_MATCH, tag);
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(toolrail_admin::VIA_HEADER, HeaderValue::from_static(self.via.word()));
        if let Some(author) = user::name() {
            headers.insert(toolrail_admin::AUTHOR_HEADER, author);
        }
        headers
    }
}

impl TargetArgs {
    /// Whom they believe over TLS.
    pub(super) fn trust(&self) -> anyhow::Result<Trust> {
        self.trust.trust()
    }
}

impl Target {
    /// Finds what the flags mean.
    pub(super) async fn find(args: &TargetArgs, missing: Missing) -> anyhow::Result<Self> {
        let store = args.store.url()?;
        let named = profile::server(args)?;
        let tenant = args.tenant.clone().or_else(|| named.as_ref().and_then(|named| named.tenant.clone()));
        let principal = tenant.as_deref().map(Principal::of_tenant).transpose()?.unwrap_or_default();
        let said_nothing = args.url.is_none() && args.data.is_none() && store.is_none();
        let (place, mut flags) = match (named, store, &args.data) {
            (Some(named), _, _) => {
                let server = Remote::new(&named.url)?.trusting(args.trust.trust()?);
                (TargetPlace::Server(server), named.flags)
            }
            // Not repeated: it may hold a password.
            (None, Some(store), _) => {
                (TargetPlace::of_store(store, args, missing).await?, " --store URL".to_owned())
            }
            (None, None, Some(folder)) => {
                let flags = format!(" --data {}", shell_word(&folder.to_string_lossy()));
                (TargetPlace::of_folder(folder, args, missing).await?, flags)
            }
            (None, None, None) => (TargetPlace::nearby(args, missing).await?, String::new()),
        };
        let place = match place {
            TargetPlace::Server(remote) => {
                let remote = remote.for_tenant(principal.tenant())?;
                TargetPlace::Server(remote.with_key(args.key.key()?.as_ref()))
            }
            store @ TargetPlace::Store { .. } => store,
        };
        if let Some(tenant) = principal.tenant() {
            flags = format!("{flags} --tenant {tenant}");
        }
        let target = Self { place, principal, flags };
        if args.verbose || (said_nothing && print::person_reads_notes()) {
            print::aside(format!("({target})"));
        }
        Ok(target)
    }

    /// On behalf of which tenant it is used.
    pub(super) fn tenant(&self) -> Option<&str> {
        self.principal.tenant()
    }

    /// A command to try next, on the same target.
    pub(super) fn command(&self, words: &str) -> String {
        format!("`{} {words}{}`", identity::name(), self.flags)
    }

    /// Leaves the store tidy.
    pub(super) async fn close(self) {
        match self.place {
            TargetPlace::Server(_) => {}
            TargetPlace::Store { assembly, .. } => assembly.close().await,
        }
    }

    /// Sends a request and reads the answer, good or bad.
    pub(super) async fn ask(&self, ask: &RestRequest<'_>) -> anyhow::Result<Reply> {
        let body = ask.body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let method = ask.method.clone();
        let (status, bytes) = match &self.place {
            TargetPlace::Server(remote) => {
                let answer = remote.send(method, ask.path, ask.headers(), body);
                tokio::time::timeout(ask.within, answer).await.unwrap_or_else(|_| Err(self.late(ask)))?
            }
            TargetPlace::Store { routes, .. } => {
                let request = http::Request::builder().method(method).uri(ask.path);
                let mut request = request.extension(self.principal.clone()).body(Body::from(body))?;
                *request.headers_mut() = ask.headers();
                ask_here(routes, request).await?
            }
        };
        let mut body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        // A gateway gives no hints; programs find the member in every error.
        if !status.is_success()
            && let Some(Value::Object(error)) = body.get_mut("error")
        {
            error.entry("hint").or_insert(Value::Null);
        }
        let ours = if status.is_success() {
            body.get(ask.answer).is_some()
        } else {
            body["error"]["code"].is_string()
        };
        if !ours {
            return Err(Hinted::error(
                format!(
                    "{self} does not answer like a Toolrail gateway: it answered {status} to {} {}",
                    ask.method, ask.path
                ),
                "name one with --url, such as http://127.0.0.1:8080",
            ));
        }
        Ok(Reply { status, body })
    }

    fn late(&self, ask: &RestRequest<'_>) -> anyhow::Error {
        Hinted::error(
            format!(
                "{self} did not answer {} {} in full within {} seconds",
                ask.method,
                ask.path,
                ask.within.as_secs()
            ),
            "look whether it is a Toolrail gateway and what it is busy with",
        )
    }

    /// Sends a request that must succeed.
    pub(super) async fn expect(&self, ask: &RestRequest<'_>) -> anyhow::Result<Value> {
        self.accepted(self.ask(ask).await?)
    }

    /// The body of an answer, unless it says no.
    pub(super) fn accepted(&self, reply: Reply) -> anyhow::Result<Value> {
        if reply.status.is_success() {
            return Ok(reply.body);
        }
        let text = |field: &str| reply.body["error"][field].as_str().unwrap_or_default();
        let (code, message) = (text("code"), text("message"));
        if code == "UNAUTHORIZED" {
            let hint = "set TOOLRAIL_KEY to a key, or name a file that has one with --key-file";
            return Err(Hinted::refusal(code, message, Some(hint.to_owned())));
        }
        if code != "NOT_FOUND" {
            return Err(Hinted::refusal(code, message, None));
        }
        let advice = wording::advice_of(&reply.body["error"]);
        let advised = advice.and_then(|advice| Some((wording::hint(&advice, self)?, advice.fault)));
        let (hint, fault) = match advised {
            Some((hint, fault)) => (Some(hint), fault),
            // It names the command that shows what there is.
            None if message.contains('`') => (None, message.to_owned()),
            None => (Some(self.way_on(message)), message.to_owned()),
        };
        Err(Hinted::refusal(code, fault, hint))
    }

    /// What to try where nothing was found. Every command needs the administration, so none of them helps where that is not.
    fn way_on(&self, message: &str) -> String {
        if message.contains("adminListen") {
            return "name that address with --url: the server told it when it started (\"administered on\"), as --admin-listen or adminListen of its configuration says".to_owned();
        }
        format!("{} shows what there is", self.command("tools list"))
    }
}

impl TargetPlace {
    async fn of_folder(folder: &Path, args: &TargetArgs, missing: Missing) -> anyhow::Result<Self> {
        if let Some((server, _)) = Self::live_server(folder, args).await? {
            return Ok(Self::Server(server));
        }
        if missing == Missing::Refuse && !folder.join(DATABASE).exists() {
            return Err(Hinted::error(
                format!("{} is not a data folder: it has no {DATABASE}", folder.display()),
                format!(
                    "name the folder that `{0} serve --data` uses, or start with `{0} tools add`",
                    identity::name()
                ),
            ));
        }
        Self::open(folder, None, args).await
    }

    /// A server of the data folder that works on that store, or the store itself.
    async fn of_store(store: StoreUrl, args: &TargetArgs, missing: Missing) -> anyhow::Result<Self> {
        let folder = args.data.as_deref().unwrap_or(Path::new(DEFAULT_DATA));
        if let Some((server, file)) = Self::live_server(folder, args).await?
            && file.store == Some(store.to_string())
        {
            return Ok(Self::Server(server));
        }
        if let (Missing::Refuse, StoreUrl::Sqlite(file) | StoreUrl::Json(file)) = (missing, &store)
            && !file.exists()
        {
            return Err(Hinted::error(
                format!("there is no {store}"),
                format!(
                    "name the store that `{0} serve --store` uses, or start with `{0} tools add`",
                    identity::name()
                ),
            ));
        }
        Self::open(folder, Some(store), args).await
    }

    async fn nearby(args: &TargetArgs, missing: Missing) -> anyhow::Result<Self> {
        let folder = Path::new(DEFAULT_DATA);
        if let Some((server, _)) = Self::live_server(folder, args).await? {
            return Ok(Self::Server(server));
        }
        if folder.join(DATABASE).exists() {
            return Self::open(folder, None, args).await;
        }
        let server = Remote::new(DEFAULT_URL)?;
        if server.lives().await {
            return Ok(Self::Server(server));
        }
        if missing == Missing::Create {
            return Self::open(folder, None, args).await;
        }
        Err(Hinted::error(
            format!("there is no data folder ./{DEFAULT_DATA} here and no server at {DEFAULT_URL}"),
            format!(
                "start one with `{} serve --demo`, or say which one with --url or --data",
                identity::name()
            ),
        ))
    }

    async fn live_server(folder: &Path, args: &TargetArgs) -> anyhow::Result<Option<(Remote, ServerFile)>> {
        let Some(file) = ServerFile::read(folder) else {
            return Ok(None);
        };
        // Whoever may read the folder administers what works on it.
        let key = file.key.as_deref().and_then(|key| ClientKey::of(key, server_file::FILE).ok());
        let server = Remote::announced(&file, args.trust.trust()?)?.with_key(key.as_ref());
        Ok(server.lives().await.then_some((server, file)))
    }

    async fn open(folder: &Path, store: Option<StoreUrl>, args: &TargetArgs) -> anyhow::Result<Self> {
        let name = match &store {
            Some(store) => format!("store {store}"),
            None => format!("data folder {}", folder.display()),
        };
        let config = ConfigFile {
            data: Some(folder.to_owned()),
            store,
            allow_commands: args.commands.allow_commands,
            allow_scripts: args.commands.allow_scripts,
            ..ConfigFile::default()
        };
        let config = config.over(args.supplies.config()?);
        let assembly = assemble::assemble_offline(&config.settle()?).await?;
        let routes = assemble::rest_routes(&assembly);
        Ok(Self::Store { name, routes, assembly })
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            TargetPlace::Server(remote) => write!(formatter, "server {}", remote.shown()),
            TargetPlace::Store { name, .. } => formatter.write_str(name),
        }
    }
}

async fn ask_here(routes: &Router, request: http::Request<Body>) -> anyhow::Result<(StatusCode, Bytes)> {
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
