//! `toolrail serve`: the gateway over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::gateway::{self, GatewayArgs};
use super::{Hinted, target};
use crate::assemble::{self, Assembly, VERSION};
use crate::config::{ConfigFile, Settings};
use crate::http::{self, Guard, Guarded};
use crate::server_file::ServerFile;
use crate::{demo, print};

#[derive(Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    gateway: GatewayArgs,
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, env = "TOOLRAIL_LISTEN", value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Listen on an address that others can reach although nothing asks them for a key
    #[arg(long)]
    insecure_no_auth: bool,
    /// Host name under which clients reach this server; may be repeated
    #[arg(long, env = "TOOLRAIL_ALLOW_HOSTS", value_name = "NAME", value_delimiter = ',')]
    allow_host: Vec<String>,
    /// Origin of web pages that may use this server, such as https://console.example.com; may be repeated
    #[arg(long, env = "TOOLRAIL_ALLOW_ORIGINS", value_name = "ORIGIN", value_delimiter = ',')]
    allow_origin: Vec<String>,
}

impl ServeArgs {
    fn settings(&self) -> anyhow::Result<Settings> {
        let given = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        let flags = ConfigFile {
            listen: self.listen.clone(),
            allow_hosts: given(&self.allow_host),
            allow_origins: given(&self.allow_origin),
            ..ConfigFile::default()
        };
        self.gateway.config(flags)?.settle()
    }
}

pub(super) async fn run(args: ServeArgs) -> anyhow::Result<()> {
    let settings = args.settings()?;
    if !settings.listen.ip().is_loopback() && !args.insecure_no_auth {
        return Err(Hinted::error(
            format!(
                "{} can be reached from other machines, and this version has no keys to ask them for",
                settings.listen
            ),
            "use a loopback address such as 127.0.0.1:8080, or pass --insecure-no-auth if something else keeps strangers out",
        ));
    }
    http::raise_file_limit();
    let demo = if args.gateway.demo { Some(demo::start().await?) } else { None };
    let (_demo, built_in) = demo.unzip();
    let (listener, address) = listen(settings.listen).await?;
    let assembly = assemble::assemble(&settings, built_in).await?;
    serve(&assembly, &settings, listener, address).await?;
    assembly.close().await;
    Ok(())
}

async fn listen(address: SocketAddr) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let message = format!("cannot listen on {address}: {error}");
        match error.kind() {
            std::io::ErrorKind::AddrInUse => Hinted::error(
                message,
                format!(
                    "port {} is in use; choose another with --listen {}:PORT, or 0 for any free one",
                    address.port(),
                    address.ip()
                ),
            ),
            _ => Hinted::error(message, "choose another address with --listen"),
        }
    })?;
    let bound = listener.local_addr()?;
    Ok((listener, bound))
}

async fn serve(
    assembly: &Assembly,
    settings: &Settings,
    listener: TcpListener,
    address: SocketAddr,
) -> anyhow::Result<()> {
    let mcp = assemble::mcp_server(&assembly.registry);
    let routes = assemble::routes(&mcp, &assembly.registry);
    let guard = Guard::new(address, &settings.allow_hosts, &settings.allow_origins);
    let served = Arc::new(Guarded { guard, mcp, routes });
    let mut signals = Signals::new()?;
    let url = format!("http://{}", reachable(address));
    let file = ServerFile { url: url.clone(), pid: std::process::id(), version: VERSION.to_owned() };
    let announced = file.announce(&settings.data).with_context(|| {
        format!("the address cannot be written to the data folder {}", settings.data.display())
    })?;
    banner(assembly, &url);
    let mut again = Signals::new()?;
    tracing::info!(url, "listening");
    let following = gateway::follow(&assembly.registry);
    let ended = tokio::select! {
        () = http::serve(listener, served, signals.next(), again.second()) => Ok(()),
        // It goes on for ever unless it breaks, and then no change would be seen any more.
        broken = following => Err(anyhow::anyhow!("the sources cannot be followed any more: {broken:?}")),
    };
    tracing::info!("stopped");
    drop(announced);
    ended
}

/// What asks the server to stop.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    async fn second(&mut self) {
        self.next().await;
        self.next().await;
    }
}

/// An address that listens everywhere is reached on this machine by loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let mut reachable = address;
    if address.ip().is_unspecified() {
        reachable.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    reachable
}

/// How this program was started, so that printed commands work when pasted.
fn program() -> String {
    std::env::args().next().filter(|name| name.contains('/')).unwrap_or_else(|| "toolrail".to_owned())
}

fn banner(assembly: &Assembly, url: &str) {
    print::line(format!("Toolrail {VERSION} listens on {url}"));
    for line in gateway::summary(&assembly.registry) {
        print::line(format!("  {line}"));
    }
    let client = json!({"mcpServers": {"toolrail": {"type": "http", "url": format!("{url}/mcp")}}});
    print::line(format!("\nFor an MCP client:\n  {client}"));
    print::line("\nTry:");
    // Found without a word from any folder only at its usual address.
    let target = if url == target::DEFAULT_URL { String::new() } else { format!(" --url {url}") };
    let program = program();
    let mut commands = vec![format!("{program} tools list{target}")];
    if assembly.registry.snapshot().find("weather.current").is_some() {
        let call = format!("{program} tools call weather.current --arg city=Paris");
        commands.extend([format!("{call} --dry-run{target}"), format!("{call}{target}")]);
    } else {
        commands.push(format!("curl {url}/mcp/tools"));
    }
    for command in commands {
        print::line(format!("  {command}"));
    }
}
