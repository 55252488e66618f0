//! `toolrail serve`: the gateway over HTTP.

mod banner;
mod entrance;
mod spoken_tls;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use futures_util::future::join_all;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use toolrail_executors::outbound::Trust;
use toolrail_http::{
    Addresses, Credentials, Doorkeeper, Guard, Guarded, Listener, Plane, Served, SignIn, Socket, Tenants,
    Until,
};

use self::banner::Banner;
use self::entrance::Entrance;
pub(super) use self::spoken_tls::SpokenTls;
use super::Hinted;
use super::gateway::{self, GatewayArgs};
use super::reload::{Fixed, Running};
use super::remote::Remote;
use super::start_import;
use crate::assemble::{self, Assembly};
use crate::config::{ConfigFile, Settings, TlsFile, bounds};
use crate::server_file::{self, Announced, ServerFile};
use crate::telemetry::Metrics;
use crate::{demo, exposure, identity, program_pages};

#[derive(Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    gateway: GatewayArgs,
    /// Address to listen on, or just a port of 127.0.0.1; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, env = "TOOLRAIL_LISTEN", value_name = "HOST:PORT", value_parser = bounds::address)]
    listen: Option<String>,
    /// Port of 127.0.0.1 to listen on, in place of --listen
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// Another address, or port of 127.0.0.1, at which alone the gateway is administered (`/admin`, `/metrics`, commands)
    #[arg(long, env = "TOOLRAIL_ADMIN_LISTEN", value_name = "HOST:PORT", value_parser = bounds::address)]
    admin_listen: Option<String>,
    #[command(flatten)]
    tls: TlsArgs,
    /// Unix socket to listen on as well, for clients on this machine; only this user may connect
    #[arg(long, env = "TOOLRAIL_UNIX_SOCKET", value_name = "PATH")]
    unix_socket: Option<PathBuf>,
    /// Listen on an address that others can reach although nothing asks them for a key
    #[arg(long)]
    insecure_no_auth: bool,
    /// Ask for keys on this machine too; on an address that others can reach they always are [config: secure]
    #[arg(long, env = "TOOLRAIL_SECURE", conflicts_with = "insecure_no_auth")]
    secure: bool,
    /// Host name under which clients reach this server; may be repeated
    #[arg(long, env = "TOOLRAIL_ALLOW_HOSTS", value_name = "NAME", value_delimiter = ',', value_parser = bounds::host)]
    allow_host: Vec<String>,
    /// Origin of web pages that may use this server, such as https://console.example.com; may be repeated
    #[arg(long, env = "TOOLRAIL_ALLOW_ORIGINS", value_name = "ORIGIN", value_delimiter = ',', value_parser = bounds::origin)]
    allow_origin: Vec<String>,
    /// Folder or file of definitions to put into the store at the start, over what is there; may be repeated
    #[arg(long, env = "TOOLRAIL_IMPORT", value_name = "DIR")]
    import: Vec<String>,
}

#[derive(Args)]
struct TlsArgs {
    /// Certificate to speak TLS with (PEM), and those between it and its authority; a new one is taken up when it is there
    #[arg(long, env = "TOOLRAIL_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Private key of that certificate (PEM)
    #[arg(long, env = "TOOLRAIL_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Certificate of the address of --admin-listen [default: that of --tls-cert]
    #[arg(long, env = "TOOLRAIL_ADMIN_TLS_CERT", value_name = "FILE")]
    admin_tls_cert: Option<PathBuf>,
    /// Private key of that certificate
    #[arg(long, env = "TOOLRAIL_ADMIN_TLS_KEY", value_name = "FILE")]
    admin_tls_key: Option<PathBuf>,
}

impl ServeArgs {
    /// The configuration as it is now: flags, environment and file.
    pub(super) fn config(&self) -> anyhow::Result<ConfigFile> {
        let given = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        let flags = ConfigFile {
            listen: self.port.map(|port| port.to_string()).or_else(|| self.listen.clone()),
            admin_listen: self.admin_listen.clone(),
            tls: TlsFile::of_flags(self.tls.tls_cert.as_ref(), self.tls.tls_key.as_ref()),
            admin_tls: TlsFile::of_flags(self.tls.admin_tls_cert.as_ref(), self.tls.admin_tls_key.as_ref()),
            unix_socket: self.unix_socket.clone(),
            secure: self.secure.then_some(true),
            allow_hosts: given(&self.allow_host),
            allow_origins: given(&self.allow_origin),
            ..ConfigFile::default()
        };
        self.gateway.config(flags)
    }
}

pub(super) async fn run(args: ServeArgs) -> anyhow::Result<()> {
    let config = args.config()?;
    let settings = config.clone().settle()?;
    let mut addresses = [settings.listen].into_iter().chain(settings.admin_listen);
    let is_reachable = addresses.any(|address| !address.ip().is_loopback());
    let asks_for_keys = settings.secure || (is_reachable && !args.insecure_no_auth);
    gateway::look_at(&settings)?;
    let tls = SpokenTls::read(&settings)?;
    toolrail_http::raise_file_limit();
    let demo = if args.gateway.demo { Some(demo::start().await?) } else { None };
    let (demo, built_in) = demo.unzip();
    let listeners = Listeners::bind(&settings).await?;
    let addresses = listeners.addresses;
    let metrics = Metrics::start();
    // From here on, a signal to read the configuration again does not end the process.
    let again = signal(SignalKind::hangup())?;
    let built = Box::pin(assemble::assemble(&settings, built_in.clone()));
    let calls = (&listeners.calls, tls.calls.as_ref());
    let mut assembly = toolrail_http::answer_while(calls, identity::version(), built).await?;
    let entrance = if asks_for_keys { Some(Entrance::open(&mut assembly).await?) } else { None };
    let imported = match args.import.as_slice() {
        [] => None,
        from => Some(start_import::run(&assembly.registry, from).await?),
    };
    let banner = Banner::new(addresses, &tls, (settings.data.clone(), asks_for_keys));
    // Before anybody hears of the server, since whoever does may stop it at once.
    let signals = (Signals::new()?, Signals::new()?);
    program_pages::release_soon();
    let local_key = entrance.as_ref().map(|entrance| entrance.local.reveal().to_owned());
    let (announced, other) = announce(&settings, &banner, local_key).await?;
    let notes = demo.as_ref().and_then(|demo| demo.note.clone()).into_iter().chain(imported);
    let notes = notes.chain(entrance.iter().flat_map(Entrance::notes));
    banner.print(&assembly, notes.collect(), other);
    let guarded = guarded(&assembly, &settings, metrics.as_ref(), &addresses).await?;
    let running = Running::new(
        args,
        config,
        (assembly, guarded),
        Fixed { built_in, metrics, addresses, tls: tls.clone() },
    );
    let listeners = (listeners, tls);
    serve(listeners, announced.as_ref(), running, (signals, again)).await?;
    drop(announced);
    Ok(())
}

/// What is listened on.
struct Listeners {
    calls: TcpListener,
    administration: Option<TcpListener>,
    socket: Option<Socket>,
    addresses: Addresses,
}

impl Listeners {
    async fn bind(settings: &Settings) -> anyhow::Result<Self> {
        let (listener, calls) = listen(settings.listen).await?;
        let (administration, admin_address) = match settings.admin_listen {
            Some(address) => listen(address).await.map(|(listener, bound)| (Some(listener), Some(bound)))?,
            None => (None, None),
        };
        let socket = match &settings.unix_socket {
            Some(path) => Some(listen_locally(path).await?),
            None => None,
        };
        let addresses = Addresses { calls, administration: admin_address };
        Ok(Self { calls: listener, administration, socket, addresses })
    }
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

async fn listen_locally(path: &Path) -> anyhow::Result<Socket> {
    Socket::bind(path).await.map_err(|error| {
        let message = format!("cannot listen on the Unix socket {}: {error}", path.display());
        match error.kind() {
            std::io::ErrorKind::AddrInUse => Hinted::error(
                message,
                "another process uses it; stop that, or name another with --unix-socket",
            ),
            _ => {
                Hinted::error(message, "name a file in a folder that exists and is yours with --unix-socket")
            }
        }
    })
}

/// Says in the data folder where the server is, unless one that lives has done so; then tells which.
async fn announce(
    settings: &Settings,
    Banner { administration: url, fingerprint, .. }: &Banner,
    key: Option<String>,
) -> anyhow::Result<(Option<Announced>, Option<ServerFile>)> {
    let data = settings.data.as_path();
    if let Some(other) = ServerFile::read(data)
        // Whoever had this address is gone.
        && other.url != *url
        && other.is_of_another_process()
        && Remote::announced(&other, Trust::default())?.lives().await
    {
        return Ok((None, Some(other)));
    }
    // Made by the store that is inside, but not by one that is elsewhere.
    std::fs::create_dir_all(data).with_context(|| {
        format!("the data folder {} cannot be made; name another with --data", data.display())
    })?;
    let file = ServerFile {
        url: url.clone(),
        pid: std::process::id(),
        version: identity::version().to_owned(),
        store: settings.store.as_ref().map(ToString::to_string),
        key,
        fingerprint: fingerprint.clone(),
    };
    let announced = file.announce(data).with_context(|| {
        format!(
            "{} cannot be written, by which commands find this server; make the folder writable or name another with --data",
            data.join(server_file::FILE).display()
        )
    })?;
    Ok((Some(announced), None))
}

/// What is served, of an assembly that is there.
pub(super) async fn guarded(
    assembly: &Assembly,
    settings: &Settings,
    metrics: Option<&Metrics>,
    addresses: &Addresses,
) -> anyhow::Result<Arc<Guarded>> {
    let mcp = assemble::mcp_server(assembly).await?;
    mcp.catch_up().await;
    mcp.look_at_lists();
    let exposure = exposure::findings(settings, addresses, assembly.directory().is_some());
    let routes = assemble::routes(&mcp, assembly, metrics, exposure);
    let broker = assembly.issuers().and_then(|issuers| issuers.broker.clone());
    let has_pages = settings.public_url.is_some() && assembly.directory().is_some();
    let guard = guard(settings, addresses, broker.is_some() || has_pages);
    let connect = toolrail_broker::connect_routes(Arc::clone(assembly.connections()));
    let sign_in = match broker {
        Some(broker) => {
            let is_here: fn(&str) -> bool =
                |path| toolrail_broker::is_open(path) || toolrail_broker::is_connect(path);
            Some(SignIn { is_here, routes: toolrail_broker::routes(broker).merge(connect) })
        }
        None => has_pages.then_some(SignIn { is_here: toolrail_broker::is_connect, routes: connect }),
    };
    let doorkeeper = match assembly.directory() {
        Some(directory) => {
            let tokens =
                assembly.issuers().map(|issuers| (Arc::clone(&issuers.tokens), issuers.resource.clone()));
            let permissions = Arc::clone(assembly.permissions());
            Doorkeeper::Asking(Credentials { keys: Arc::clone(directory), tokens, permissions })
        }
        None => Doorkeeper::Open(Tenants::new(settings.tenant.clone())),
    };
    Ok(Arc::new(Guarded { guard, doorkeeper, mcp, routes, sign_in }))
}

/// Which requests are let through. Where people sign in, those of our own page are, whatever name a proxy passes on.
fn guard(settings: &Settings, addresses: &Addresses, has_sign_in: bool) -> Guard {
    let (mut hosts, mut origins) = (settings.allow_hosts.clone(), settings.allow_origins.clone());
    let own = settings.public_url.as_deref().filter(|_| has_sign_in).and_then(|url| url.split_once("://"));
    if let Some((scheme, rest)) = own {
        let authority = rest.split('/').next().unwrap_or(rest);
        hosts.push(authority.to_owned());
        origins.push(format!("{scheme}://{authority}"));
    }
    Guard::new(addresses, &hosts, &origins).behind(settings.trusted_proxies.clone())
}

async fn serve(
    (listeners, tls): (Listeners, SpokenTls),
    announced: Option<&Announced>,
    mut running: Running,
    ((mut signals, mut twice), again): ((Signals, Signals), Signal),
) -> anyhow::Result<()> {
    let served = running.served();
    let hung_up = CancellationToken::new();
    let stop = async {
        tokio::select! {
            () = signals.next() => {}
            () = hung_up.cancelled() => {}
        }
    };
    let has_own_address = listeners.administration.is_some();
    let ended = tokio::select! {
        () = serve_all((listeners, &tls), served, (stop, twice.second())) => Ok(()),
        never = tls.watch(announced, has_own_address) => match never {},
        broken = running.supervise(again, &hung_up) => Err(broken),
    };
    tracing::info!("stopped");
    running.close().await;
    ended
}

/// Serves at all of them; they end together.
async fn serve_all(
    (Listeners { calls, administration, socket, .. }, tls): (Listeners, &SpokenTls),
    served: Arc<Served>,
    (stop, hurry): (impl Future<Output = ()> + Send, impl Future<Output = ()> + Send),
) {
    let plane = if administration.is_some() { Plane::Calls } else { Plane::Whole };
    let calls = tls.calls(calls);
    if administration.is_none() && socket.is_none() {
        return toolrail_http::serve(calls, plane, served, (Box::pin(stop), Box::pin(hurry))).await;
    }
    let (stopped, hurried) = (CancellationToken::new(), CancellationToken::new());
    let signals = async {
        tokio::join!(
            async {
                stop.await;
                stopped.cancel();
            },
            async {
                hurry.await;
                hurried.cancel();
            }
        );
    };
    let administration = administration.map(|listener| tls.administration(listener));
    let more = [administration, socket.map(Listener::Unix)].into_iter().flatten();
    let all = std::iter::once((calls, plane)).chain(more.map(|more| (more, Plane::Whole)));
    let all = join_all(all.map(|(listener, plane)| {
        let signals: (Until<'_>, Until<'_>) = (Box::pin(stopped.cancelled()), Box::pin(hurried.cancelled()));
        toolrail_http::serve(listener, plane, Arc::clone(&served), signals)
    }));
    tokio::select! {
        _ = all => {}
        () = async { signals.await; std::future::pending().await } => {}
    }
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
