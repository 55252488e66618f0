//! `toolrail stdio`: MCP on standard input and output, from the local registry or bridged to a server. Nothing but
//! protocol goes to standard output.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use http::{HeaderMap, Method};
use toolrail_executors::outbound::StreamedAnswer;
use toolrail_mcp::{BridgeError, Incoming, RemoteReply};
use toolrail_registry::Endpoint;

use super::gateway::{self, GatewayArgs};
use super::remote::Remote;
use super::target::client_key::KeyArgs;
use super::target::trust_args::TrustArgs;
use super::{Hinted, shell_word, told};
use crate::assemble;
use crate::config::{ConfigFile, Settings};
use crate::{demo, identity, print};

#[derive(Args)]
pub(super) struct StdioArgs {
    /// Bridge to this server, such as http://127.0.0.1:8080/mcp, instead of serving local tools
    #[arg(long, conflicts_with = "demo")]
    url: Option<String>,
    /// Serve only the tools of this group of the configuration; with --url, of that server
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    #[command(flatten)]
    gateway: GatewayArgs,
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    trust: TrustArgs,
}

/// What a bridge goes by; all else is about a gateway of one's own.
const OF_BRIDGES: [&str; 7] = ["url", "group", "tenant", "key_file", "ca_file", "client_cert", "client_key"];

/// The complaint about options that would have no effect beside `--url`. The environment may name them: it is there for
/// every command.
pub(super) fn strays(matches: &ArgMatches) -> Option<anyhow::Error> {
    let (_, given) = matches.subcommand().filter(|(command, _)| *command == "stdio")?;
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    if !is_given("url") {
        return None;
    }
    let command = StdioArgs::augment_args(clap::Command::new("stdio"));
    let strays = command.get_arguments().filter(|option| !OF_BRIDGES.contains(&option.get_id().as_str()));
    let strays = strays.filter(|option| is_given(option.get_id().as_str()));
    let strays: Vec<String> = strays.filter_map(|stray| Some(format!("--{}", stray.get_long()?))).collect();
    let (last, others) = strays.split_last()?;
    let verb = if others.is_empty() { "does" } else { "do" };
    let joined = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
    Some(Hinted::usage(
        format!("{joined} {verb} not go with --url: the server there has its own settings"),
        "leave out --url to serve local tools, or give the server these when it starts",
    ))
}

pub(super) async fn run(args: StdioArgs) -> anyhow::Result<()> {
    match &args.url {
        Some(url) => bridge(url, &args).await,
        None => serve(args.group.as_deref(), &args.gateway).await,
    }
}

async fn serve(group: Option<&str>, args: &GatewayArgs) -> anyhow::Result<()> {
    let settings = args.config(ConfigFile::default())?.settle()?;
    let endpoint = endpoint_of(&settings, group)?;
    gateway::look_at(&settings)?;
    let demo = if args.demo { Some(demo::start().await?) } else { None };
    let (demo, built_in) = demo.unzip();
    let assembly = assemble::assemble(&settings, built_in).await?;
    print::note(format!(
        "{} {} speaks MCP on standard input and output",
        identity::title(),
        identity::version()
    ));
    let note = demo.as_ref().and_then(|demo| demo.note.clone());
    for line in gateway::summary_at(&assembly.registry, &endpoint, &look_at_problems(&settings))
        .into_iter()
        .chain(note)
    {
        print::note(format!("  {line}"));
    }
    let server = assemble::mcp_server(&assembly).await?;
    server.look_at_lists();
    let following = (gateway::follow(&assembly), gateway::relay(&server));
    let principal = settings.tenant.clone();
    toolrail_mcp::serve_stream((server, endpoint), principal, tokio::io::stdin(), tokio::io::stdout())
        .await?;
    drop((following, demo));
    assembly.close().await;
    Ok(())
}

fn endpoint_of(settings: &Settings, group: Option<&str>) -> anyhow::Result<Arc<Endpoint>> {
    let endpoints = &settings.endpoints;
    endpoints.of(group).cloned().ok_or_else(|| {
        let names: Vec<&str> = endpoints.group_names().collect();
        let hint = match names.as_slice() {
            [] => "the configuration (--config) has no groups".to_owned(),
            names => format!("the configuration has {}", names.join(", ")),
        };
        Hinted::error(format!("there is no group {:?}", group.unwrap_or_default()), hint)
    })
}

/// No server can be asked, so the folders are looked at.
fn look_at_problems(settings: &Settings) -> String {
    let program = identity::name();
    let word = |folder: &PathBuf| shell_word(&folder.to_string_lossy());
    let stored = match settings.store {
        None => format!("`{program} tools problems --data {}`", word(&settings.data)),
        // Its URL may hold a password.
        Some(_) => format!("`{program} tools problems --store URL`"),
    };
    if settings.tools.is_empty() {
        return format!("{stored} shows them");
    }
    let folders: Vec<String> = settings.tools.iter().map(word).collect();
    format!("`{program} validate {}` and {stored} show them", folders.join(" "))
}

async fn bridge(url: &str, args: &StdioArgs) -> anyhow::Result<()> {
    let settings = args.gateway.config(ConfigFile::default())?.settle()?;
    let (url, named) = without_group(url);
    let path = match args.group.as_deref().or(named) {
        Some(group) => format!("{}/{group}", toolrail_mcp::ENDPOINT),
        None => toolrail_mcp::ENDPOINT.to_owned(),
    };
    let server = Remote::new(url)?.trusting(args.trust.trust()?);
    let server = server.for_tenant(settings.tenant.tenant())?.with_key(args.key.key()?.as_ref());
    let remote = StdioGateway { server, path };
    print::note(format!(
        "{} {} bridges standard input and output to {}{}",
        identity::title(),
        identity::version(),
        remote.server.shown(),
        remote.path
    ));
    toolrail_mcp::bridge(&remote, tokio::io::stdin(), tokio::io::stdout()).await?;
    Ok(())
}

/// A URL that ends in the path of a group, and the group.
fn without_group(url: &str) -> (&str, Option<&str>) {
    match url.trim_end_matches('/').rsplit_once("/mcp/") {
        Some((base, group)) if !group.contains('/') => (base, Some(group)),
        _ => (url, None),
    }
}

/// An MCP endpoint of a server.
struct StdioGateway {
    server: Remote,
    path: String,
}

/// The body of one of its answers.
struct Answer(StreamedAnswer);

type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, BridgeError>> + Send + 'a>>;

/// The longest message that is passed on.
const LONGEST: usize = 256 * 1024 * 1024;

impl toolrail_mcp::Remote for StdioGateway {
    fn send(&self, method: Method, headers: HeaderMap, body: Bytes) -> Pending<'_, RemoteReply> {
        Box::pin(async move {
            let sent = self.server.open(method, &self.path, headers, body).await;
            let answer = sent.map_err(|error| BridgeError(told(&error)))?;
            let text = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
            Ok(RemoteReply {
                status: answer.status.as_u16(),
                session: text("mcp-session-id").map(str::to_owned),
                media_type: text("content-type")
                    .map(|kind| kind.split(';').next().unwrap_or_default().trim().to_owned()),
                body: Box::new(Answer(answer)),
            })
        })
    }
}

impl Incoming for Answer {
    fn whole(self: Box<Self>) -> Pending<'static, Bytes> {
        Box::pin(async move {
            match self.0.rest(LONGEST).await {
                Ok((body, None)) => Ok(body),
                Ok((_, Some(_))) => {
                    Err(BridgeError("the answer of the gateway is too large to read".to_owned()))
                }
                Err(error) => Err(BridgeError(error.to_string())),
            }
        })
    }

    fn line(&mut self) -> Pending<'_, Option<Bytes>> {
        Box::pin(async { self.0.line(LONGEST).await.map_err(|error| BridgeError(error.to_string())) })
    }
}
