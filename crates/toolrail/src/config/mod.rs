//! The configuration: a file, overruled by the environment, overruled by flags. Every problem of the file is told at
//! once, with its place.

pub(crate) mod bounds;
mod broker;
mod endpoints;
mod faults;
mod issuers;
mod keys;
mod layer;
mod permissions;
mod search;
mod secrets;
mod semantic;
mod services;
fn permitted(said: [(Permission, Option<bool>); 3]) -> Vec<Permission> {
    said.into_iter()
        .filter(|(_, is_allowed)| *is_allowed == Some(true))
        .map(|(permission, _)| permission)
        .collect()
}

#[cfg(test)]
mod tests;
mod tls;
mod variables;
mod wording;

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use toolrail_access::Rulebook;
use toolrail_broker::BrokerSettings;
use toolrail_core::{Permission, Principal, Retention, Variables};
use toolrail_discovery::Language;
use toolrail_executors::{Service, Services};
use toolrail_http::{Proxies, TlsSettings};
use toolrail_identity::IssuerSettings;
use toolrail_registry::{Discovery, Endpoints, FileFault, OnBroken, RegistryLimits};
use toolrail_store::StoreUrl;

use endpoints::GroupFile;
pub(crate) use endpoints::ListingFile;
pub(crate) use layer::Layer;
use layer::layered;
pub(crate) use search::{SearchFile, SearchSettings};
pub(crate) use secrets::{ListedSecret, SecretsFile};
pub(crate) use semantic::{SemanticSettings, ServerSettings};
pub(crate) use tls::TlsFile;
pub(crate) use variables::assignment;

use crate::memory::MemoryLimit;

const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

layered! {
    /// What may stand in the configuration file. Everything has a default.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    pub(crate) struct ConfigFile {
        /// The address to listen on; `127.0.0.1:8080` when left out.
        #[serde(deserialize_with = "address_or_port")]
        pub(crate) listen: Option<String>,
        /// Another address, at which alone the gateway is administered; the same when left out.
        #[serde(deserialize_with = "address_or_port")]
        pub(crate) admin_listen: Option<String>,
        /// TLS of the address: `{cert, key}` and more; plain HTTP when left out.
        pub(crate) tls: Option<TlsFile>,
        /// TLS of `adminListen`; as `tls` when left out.
        pub(crate) admin_tls: Option<TlsFile>,
        /// A Unix socket to listen on beside the address, relative to this file; none when left out.
        pub(crate) unix_socket: Option<PathBuf>,
        /// Whether keys are asked for on this machine too; on addresses that others can reach they always are. Not when left out.
        pub(crate) secure: Option<bool>,
        /// The address under which clients reach this gateway, such as `https://tools.example.com`; told to clients that need a
        /// token. When left out, the one that a request is sent to.
        pub(crate) public_url: Option<String>,
        /// Issuers whose tokens are taken beside keys (OpenID Connect, OAuth 2.1); none when left out. With any, nobody comes in
        /// without a key or a token, also on this machine.
        pub(crate) issuers: Option<Vec<IssuerSettings>>,
        /// Has people sign in here with the accounts of an identity provider that knows no MCP clients; needs `publicUrl`. None when
        /// left out. With one, nobody comes in without a key or a token, also on this machine.
        pub(crate) broker: Option<Box<BrokerSettings>>,
        /// Rules that say who sees and calls what, where keys are asked for; everybody what his role lets him when left out.
        pub(crate) permissions: Option<Value>,
        /// The data folder, relative to this file; `./data` when left out. It holds the store unless `store` names another.
        pub(crate) data: Option<PathBuf>,
        /// The store, such as `postgres://user@host/database`; SQLite in the data folder when left out.
        #[serde(deserialize_with = "store_url")]
        pub(crate) store: Option<StoreUrl>,
        /// A file with the password of the store, relative to this file; used if neither the URL nor
        /// `TOOLRAIL_STORE_PASSWORD` has it.
        pub(crate) store_password_file: Option<PathBuf>,
        /// The tenant of requests that name none; nobody's when left out.
        pub(crate) tenant: Option<String>,
        /// Folders of definition files, relative to this file, watched for changes.
        pub(crate) tools: Option<Vec<PathBuf>>,
        /// Environment variables that definitions may name as `{{secrets.NAME}}`, beside `TOOLRAIL_SECRET_*`: a list, or a mapping
        /// of names to where each may go, `{hosts: [api.example.com], programs: false}`.
        #[serde(deserialize_with = "secrets::secrets")]
        pub(crate) secrets: Option<SecretsFile>,
        /// Values that definitions may name as `{{vars.NAME}}`; `TOOLRAIL_VAR_NAME` goes before.
        #[serde(deserialize_with = "variables::variables")]
        pub(crate) vars: Option<BTreeMap<String, String>>,
        /// Those of the command line, which go before both.
        #[serde(skip)]
        pub(crate) given_vars: Option<Vec<(String, String)>>,
        /// What definitions that name a `service` share: its address, headers, credential and time limits.
        pub(crate) services: Option<BTreeMap<String, Service>>,
        /// Whether definitions in the store may start programs, as those in files may; they may not when left out.
        pub(crate) allow_commands: Option<bool>,
        /// Whether definitions in the store may be scripts, as those in files may; they may not when left out.
        pub(crate) allow_scripts: Option<bool>,
        /// Whether definitions that agents registered with `register_tool` may use secrets; they may not when left out.
        pub(crate) allow_agent_secrets: Option<bool>,
        /// Host names under which clients reach this server, beside loopback ones.
        pub(crate) allow_hosts: Option<Vec<String>>,
        /// Origins of web pages that may use this server, such as `https://console.example.com`.
        pub(crate) allow_origins: Option<Vec<String>>,
        /// Addresses and networks of reverse proxies, such as `10.0.0.0/8`, which are believed for whom they ask (`X-Forwarded-For`).
        pub(crate) trusted_proxies: Option<Vec<String>>,
        /// The most bytes in flight: requests, answers and what waits for slow clients, such as `256MB`; a quarter of the memory
        /// that there is, but no more than 512 MB, when left out.
        pub(crate) memory: Option<MemoryLimit>,
        /// How often the store is looked at for changes by others, in milliseconds (50 to 60000). When left out: 100 for a store
        /// that cannot tell of changes by itself, and 1000 for one that can (PostgreSQL).
        pub(crate) poll_ms: Option<u64>,
        /// How far apart refreshes are at most while changes come in bursts, in milliseconds (0 to 5000); 300 when left out.
        pub(crate) refresh_window_ms: Option<u64>,
        /// How many versions of each definition are kept (1 to 1000000); all when left out.
        pub(crate) history_versions: Option<u32>,
        /// For how many days versions are kept (1 to 36500); for ever when left out.
        pub(crate) history_days: Option<u32>,
        /// What becomes of a definition in the store whose newest version has errors: `serve` its last good version, or `refuse`
        /// it; `serve` when left out.
        pub(crate) on_broken: Option<OnBroken>,
        /// The most tools on one page of `tools/list` (1 to 100000); 10000 when left out.
        pub(crate) page_size: Option<usize>,
        /// How `tools/list` lists tools: `full`, `search` or `auto`, or a mapping with `mode`, `threshold` and `pinned`; `full`
        /// when left out.
        #[serde(deserialize_with = "endpoints::listing")]
        pub(crate) listing: Option<ListingFile>,
        /// Whether clients have the discovery tools, such as `search_tools`: `true`, `false`, or `read-only`, without those that
        /// register and remove tools; `read-only` when left out.
        #[serde(deserialize_with = "endpoints::discovery")]
        pub(crate) discovery: Option<Discovery>,
        /// Groups of tools by name, each with an endpoint of its own at `/mcp/{name}`.
        pub(crate) groups: Option<BTreeMap<String, GroupFile>>,
        /// How tools are found.
        pub(crate) search: Option<SearchFile>,
        /// In which language discovery tools say first what went wrong: `en` or `zh`; `en` when left out.
        pub(crate) language: Option<Language>,
    }
}

/// The configuration in effect.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) admin_listen: Option<SocketAddr>,
    pub(crate) tls: Option<TlsSettings>,
    /// Present only if it is another than that.
    pub(crate) admin_tls: Option<TlsSettings>,
    pub(crate) unix_socket: Option<PathBuf>,
    pub(crate) secure: bool,
    pub(crate) public_url: Option<String>,
    pub(crate) issuers: Vec<IssuerSettings>,
    pub(crate) broker: Option<Box<BrokerSettings>>,
    pub(crate) permissions: Option<Rulebook>,
    pub(crate) data: PathBuf,
    pub(crate) store: Option<StoreUrl>,
    pub(crate) store_password_file: Option<PathBuf>,
    pub(crate) tenant: Principal,
    pub(crate) tools: Vec<PathBuf>,
    pub(crate) secrets: Vec<ListedSecret>,
    pub(crate) variables: Variables,
    pub(crate) services: Services,
    /// What definitions may do that would not be allowed otherwise.
    pub(crate) permitted: Vec<Permission>,
    pub(crate) allow_hosts: Vec<String>,
    pub(crate) allow_origins: Vec<String>,
    pub(crate) trusted_proxies: Proxies,
    pub(crate) memory: MemoryLimit,
    pub(crate) limits: RegistryLimits,
    pub(crate) history: Retention,
    pub(crate) on_broken: OnBroken,
    pub(crate) endpoints: Endpoints,
    pub(crate) search: SearchSettings,
    pub(crate) language: Language,
}

impl ConfigFile {
    /// Reads a file, YAML or JSON.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("the configuration {} cannot be read", path.display()))?;
        let mut file = Self::parse(path, &text)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let single = file.data.iter_mut().chain(&mut file.unix_socket).chain(&mut file.store_password_file);
        let database = match &mut file.store {
            Some(StoreUrl::Sqlite(database) | StoreUrl::Json(database)) => Some(database),
            Some(StoreUrl::Memory | StoreUrl::Postgres(_) | StoreUrl::Mysql(_)) | None => None,
        };
        for place in single.chain(database).chain(file.tools.iter_mut().flatten()) {
            *place = folder.join(&place);
        }
        for tls in file.tls.iter_mut().chain(&mut file.admin_tls) {
            tls.relative_to(folder);
        }
        if let Some(semantic) = file.search.as_mut().and_then(|search| search.semantic.as_mut()) {
            semantic.relative_to(folder);
        }
        Ok(file)
    }

    fn parse(path: &Path, text: &str) -> anyhow::Result<Self> {
        let documents = toolrail_registry::read_documents(path, text)
            .map_err(|fault| anyhow::anyhow!("the configuration {}{}", path.display(), in_file(&fault)))?;
        let members = match documents.as_slice() {
            [] => Map::new(),
            [only] if only.pointer.is_empty() && (only.value.is_object() || only.value.is_null()) => {
                only.value.as_object().cloned().unwrap_or_default()
            }
            // A file with nothing but `tools` reads like a list of definitions.
            many if many.iter().all(|one| one.pointer.starts_with("/tools/")) => {
                Map::from_iter([("tools".to_owned(), many.iter().map(|one| one.value.clone()).collect())])
            }
            _ => bail!("the configuration {} must be one mapping of keys to values", path.display()),
        };
        let faults = faults::of_file(&members);
        if !faults.is_empty() {
            bail!("the configuration {} has problems:\n  {}", path.display(), faults.join("\n  "));
        }
        Ok(serde_json::from_value(Value::Object(members))?)
    }
}

/// What is wrong with the file, behind its name.
fn in_file(fault: &FileFault) -> String {
    let place = fault.place;
    let fault = fault.to_string();
    // Some say what is wrong with a verb of their own.
    let verb = if fault.starts_with("not ") { "is " } else { "" };
    match place {
        Some((line, column)) => format!(":{line}:{column} {verb}{fault}"),
        None => format!(" {verb}{fault}"),
    }
}

impl ConfigFile {
    /// What is wrong with the values: the first fault, since the file is tried key by key, and flags are read one by one.
    fn out_of_range(&self) -> Option<String> {
        let numbers = [
            self.poll_ms.and_then(|number| bounds::POLL_MS.fault(number)),
            self.refresh_window_ms.and_then(|number| bounds::REFRESH_WINDOW_MS.fault(number)),
            self.page_size.and_then(|number| bounds::PAGE_SIZE.fault(number)),
            self.history_versions.and_then(|number| bounds::HISTORY_VERSIONS.fault(number)),
            self.history_days.and_then(|number| bounds::HISTORY_DAYS.fault(number)),
        ];
        let public_url = self.public_url.as_deref().and_then(issuers::public_url_fault);
        let tenant = self.tenant.as_deref().map(bounds::tenant);
        let hosts = self.allow_hosts.iter().flatten().map(|host| bounds::host(host));
        let origins = self.allow_origins.iter().flatten().map(|origin| bounds::origin(origin));
        let addresses = self.listen.iter().chain(&self.admin_listen).map(|address| bounds::address(address));
        let proxies = self.trusted_proxies.iter().flatten().map(|proxy| bounds::network(proxy));
        let proxies = proxies.map(|network| network.map(|_| String::new()));
        let texts = tenant.into_iter().chain(hosts).chain(origins).chain(addresses).chain(proxies);
        numbers.into_iter().flatten().chain(public_url).chain(texts.filter_map(Result::err)).next()
    }

    /// Whether it wants to know who everybody is, on this machine too: rules, issuers and certificates of clients mean
    /// nothing otherwise.
    fn asks_who(&self) -> bool {
        let has_issuers = self.broker.is_some() || self.issuers.as_ref().is_some_and(|list| !list.is_empty());
        let knows_clients = |tls: &TlsFile| tls.clients.as_ref().is_some_and(|list| !list.is_empty());
        let has_clients = [&self.tls, &self.admin_tls].into_iter().flatten().any(knows_clients);
        self.secure.unwrap_or_default() || has_issuers || has_clients || self.permissions.is_some()
    }

    /// Takes from `before` what cannot change while the server runs, and tells what of that should have changed.
    pub(crate) fn stay_with(&mut self, before: &Self) -> Vec<&'static str> {
        fn stay<T: Clone + PartialEq>(name: &'static str, now: &mut T, before: &T) -> Option<&'static str> {
            let changed = now != before;
            now.clone_from(before);
            changed.then_some(name)
        }
        /// What is said may change, but not that something is.
        fn stay_there<T: Clone>(
            name: &'static str,
            now: &mut Option<T>,
            before: Option<&T>,
        ) -> Option<&'static str> {
            let changed = now.is_some() != before.is_some();
            if changed {
                *now = before.cloned();
            }
            changed.then_some(name)
        }
        // Whoever came in unasked would stay, so asking begins with a start.
        let [mut issuers, mut broker, mut permissions] = [None; 3];
        if !before.asks_who() && self.asks_who() {
            issuers = stay("issuers", &mut self.issuers, &before.issuers);
            broker = stay("broker", &mut self.broker, &before.broker);
            permissions = stay("permissions", &mut self.permissions, &before.permissions);
        }
        [
            issuers,
            broker,
            permissions,
            stay("listen", &mut self.listen, &before.listen),
            stay("adminListen", &mut self.admin_listen, &before.admin_listen),
            stay_there("tls", &mut self.tls, before.tls.as_ref()),
            stay_there("adminTls", &mut self.admin_tls, before.admin_tls.as_ref()),
            stay("unixSocket", &mut self.unix_socket, &before.unix_socket),
            stay("secure", &mut self.secure, &before.secure),
            stay("data", &mut self.data, &before.data),
            stay("store", &mut self.store, &before.store),
            stay("storePasswordFile", &mut self.store_password_file, &before.store_password_file),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Those of the registry, whose defaults hold for what is not said.
    fn limits(&self) -> RegistryLimits {
        let usual = RegistryLimits::default();
        RegistryLimits {
            page_tools: self.page_size.unwrap_or(usual.page_tools),
            look: self.poll_ms.map_or(usual.look, Duration::from_millis),
            poll: self.poll_ms.map_or(usual.poll, Duration::from_millis),
            window: self.refresh_window_ms.map_or(usual.window, Duration::from_millis),
            ..usual
        }
    }

    /// Fills in the defaults.
    pub(crate) fn settle(self) -> anyhow::Result<Settings> {
        if let Some(fault) = self.out_of_range() {
            bail!("{fault}");
        }
        if self.admin_tls.is_some() && self.admin_listen.is_none() {
            bail!(
                "adminTls is for the address of adminListen, and there is none; name it with --admin-listen"
            );
        }
        let (limits, secure) = (self.limits(), self.asks_who());
        let tls = self.tls.map(|tls| tls.settle("tls", ["--tls-cert", "--tls-key"])).transpose()?;
        let admin_flags = ["--admin-tls-cert", "--admin-tls-key"];
        let admin_tls = self.admin_tls.map(|tls| tls.settle("adminTls", admin_flags)).transpose()?;
        Ok(Settings {
            tls,
            admin_tls,
            listen: address_of(self.listen.as_deref().unwrap_or(DEFAULT_LISTEN))?,
            admin_listen: self.admin_listen.as_deref().map(address_of).transpose()?,
            unix_socket: self.unix_socket,
            secure,
            public_url: self.public_url,
            issuers: self.issuers.unwrap_or_default(),
            broker: self.broker,
            permissions: self.permissions.as_ref().map(permissions::settle).transpose()?,
            data: self.data.unwrap_or_else(|| "data".into()),
            store: self.store,
            store_password_file: self.store_password_file,
            tenant: self.tenant.as_deref().map(Principal::of_tenant).transpose()?.unwrap_or_default(),
            tools: self.tools.unwrap_or_default(),
            secrets: self.secrets.unwrap_or_default().0,
            variables: Variables::new(
                self.vars.unwrap_or_default(),
                environment(),
                self.given_vars.unwrap_or_default(),
            ),
            services: services::settle(self.services.unwrap_or_default())?,
            permitted: permitted([
                (Permission::StartPrograms, self.allow_commands),
                (Permission::RunScripts, self.allow_scripts),
                (Permission::UseSecrets, self.allow_agent_secrets),
            ]),
            allow_hosts: self.allow_hosts.unwrap_or_default(),
            allow_origins: self.allow_origins.unwrap_or_default(),
            trusted_proxies: bounds::proxies(self.trusted_proxies.as_deref().unwrap_or_default()),
            memory: self.memory.unwrap_or_else(MemoryLimit::usual),
            history: Retention { versions: self.history_versions, days: self.history_days },
            on_broken: self.on_broken.unwrap_or_default(),
            limits,
            endpoints: endpoints::settle(
                self.listing.unwrap_or_default(),
                self.discovery.unwrap_or_default(),
                self.groups.unwrap_or_default(),
            ),
            search: self.search.unwrap_or_default().settle(),
            language: self.language.unwrap_or_default(),
        })
    }
}

/// Whether it can stand in the header `Host`, with or without a port.
fn is_host(text: &str) -> bool {
    text.parse::<http::uri::Authority>().is_ok_and(|authority| !authority.as_str().contains('@'))
}

/// Whether a browser can name it as the origin of a page.
fn is_origin(text: &str) -> bool {
    let origin = text.split_once("://").filter(|(scheme, _)| !scheme.is_empty());
    origin.is_some_and(|(_, authority)| is_host(authority))
}

/// The environment, but for what is not Unicode: `std::env::vars` panics over that.
pub(crate) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// A port alone is a number to YAML and JSON.
fn address_or_port<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Option::<Value>::deserialize(from)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Number(port)) => Ok(Some(port.to_string())),
        Some(_) => Err(serde::de::Error::custom("must be a text such as \"127.0.0.1:8080\", or a port")),
    }
}

/// The text is read here, so that it is never shown: it may hold a password.
fn store_url<'de, D: Deserializer<'de>>(from: D) -> Result<Option<StoreUrl>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}

/// `host:port`, or a port alone on loopback.
fn address_of(text: &str) -> anyhow::Result<SocketAddr> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    let wrong = || format!("{text:?} is not an address to listen on; write it like 127.0.0.1:8080");
    let mut found = text.to_socket_addrs().with_context(wrong)?;
    found.next().with_context(wrong)
}
