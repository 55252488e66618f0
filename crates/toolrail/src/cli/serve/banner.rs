//! What `serve` prints when it listens: where, which tools, what to know, and what to try.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde_json::json;
use toolrail_http::Addresses;

use super::super::{gateway, shell_word, target};
use super::SpokenTls;
use crate::assemble::Assembly;
use crate::server_file::{self, ServerFile};
use crate::{identity, print};

/// Where a server listens, in the words of its banner.
pub(super) struct Banner {
    bound: SocketAddr,
    /// Where it is reached on this machine.
    url: String,
    /// Where it is administered from this machine: the same, unless that has an address of its own.
    pub(super) administration: String,
    administered_at: Option<SocketAddr>,
    /// The certificate there, if TLS is spoken.
    pub(super) fingerprint: Option<String>,
    /// How addresses begin, that of calls and that of the administration.
    schemes: [&'static str; 2],
    /// Whether keys are asked for.
    is_keyed: bool,
    /// The data folder, by which commands on this machine find a key, and know the certificate.
    data: PathBuf,
}

impl Banner {
    pub(super) fn new(addresses: Addresses, tls: &SpokenTls, (data, is_keyed): (PathBuf, bool)) -> Self {
        let Addresses { calls, administration } = addresses;
        let scheme = |is_tls| if is_tls { "https" } else { "http" };
        let fingerprint = tls.fingerprint(administration.is_some());
        let schemes = [scheme(tls.calls.is_some()), scheme(fingerprint.is_some())];
        let url = |scheme, address| format!("{scheme}://{}", reachable(address));
        Self {
            bound: calls,
            url: url(schemes[0], calls),
            administration: url(schemes[1], administration.unwrap_or(calls)),
            administered_at: administration,
            fingerprint,
            schemes,
            is_keyed,
            data,
        }
    }

    /// Prints the banner and logs the address; `other` is the server that has the data folder's `server.json`.
    pub(super) fn print(&self, assembly: &Assembly, notes: Vec<String>, other: Option<ServerFile>) {
        // Found without a word only at the usual address, and where no other server is found first.
        let found = self.administration == target::DEFAULT_URL && other.is_none();
        let by_data = self.is_keyed || self.fingerprint.is_some();
        let flags = if by_data && self.data.as_path() != Path::new(target::DEFAULT_DATA) {
            format!(" --data {}", shell_word(&self.data.to_string_lossy()))
        } else if by_data || found {
            String::new()
        } else {
            format!(" --url {}", self.administration)
        };
        let program = program();
        let look = format!("`{program} tools problems{flags}` shows them");
        print::line(format!(
            "{} {} listens on {}://{}",
            identity::title(),
            identity::version(),
            self.schemes[0],
            self.bound
        ));
        let other = other.map(|other| taken(&other));
        let lines = self.about_address().into_iter().chain(gateway::summary(&assembly.registry, &look));
        for line in lines.chain(notes).chain(other) {
            print::line(format!("  {line}"));
        }
        let mut server = json!({"type": "http", "url": format!("{}/mcp", self.url)});
        if self.is_keyed {
            server["headers"] = json!({"Authorization": "Bearer tr_…"});
        }
        let client = json!({"mcpServers": {identity::name(): server}});
        print::line(format!("\nFor an MCP client:\n  {client}\n\nTry:"));
        for command in self.commands(assembly, &program, &flags) {
            print::line(format!("  {command}"));
        }
        tracing::info!(url = self.url, address = %self.bound, "listening");
        for (address, may) in self.open() {
            tracing::warn!(%address, "no keys are asked for: everybody who can reach this address can {may} every tool");
        }
    }

    fn about_address(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.bound.ip().is_unspecified() {
            lines.push(format!("on every address of this machine; from itself at {}", self.url));
        }
        if let Some(address) = self.administered_at {
            lines.push(format!("administered on {}://{address}", self.schemes[1]));
        }
        for (address, may) in self.open() {
            lines.push(format!(
                "WARNING: no keys are asked for: everybody who can reach {address} can {may} every tool"
            ));
        }
        lines
    }

    /// The addresses that others can reach, and what they may do there.
    fn open(&self) -> impl Iterator<Item = (SocketAddr, &'static str)> {
        let calls = if self.administered_at.is_some() { "use" } else { "use and administer" };
        let administered = self.administered_at.map(|address| (address, "use and administer"));
        let all = [(self.bound, calls)].into_iter().chain(administered);
        all.filter(|(address, _)| !self.is_keyed && !address.ip().is_loopback())
    }

    fn commands(&self, assembly: &Assembly, program: &str, flags: &str) -> Vec<String> {
        let mut commands = vec![format!("{program} tools list{flags}")];
        if assembly.registry.snapshot().find("weather.current").is_some() {
            let call = format!("{program} tools call weather.current --arg city=Paris");
            commands.extend([format!("{call} --dry-run{flags}"), format!("{call}{flags}")]);
        } else {
            let key = if self.is_keyed { " -H 'Authorization: Bearer tr_…'" } else { "" };
            commands.push(format!("curl {}/mcp/tools{key}", self.url));
        }
        commands
    }
}

fn taken(other: &ServerFile) -> String {
    format!(
        "another server works on the same data folder and keeps its {}: {} (process {}); name this one with --url",
        server_file::FILE,
        other.url,
        other.pid
    )
}

/// An address that listens everywhere is reached on this machine by loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let mut reachable = address;
    if address.ip().is_unspecified() {
        reachable.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    reachable
}

/// How this program was started, so that printed commands work when pasted.
fn program() -> String {
    std::env::args().next().filter(|name| name.contains('/')).unwrap_or_else(|| identity::name().to_owned())
}
