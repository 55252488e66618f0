//! The configuration: a file, overruled by the environment, overruled by flags. Every problem of the file is told at
//! once, with its place.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use toolrail_core::{Principal, Retention, closest};
use toolrail_registry::FileFault;
use toolrail_store::StoreUrl;

const DEFAULT_LISTEN: &str = "127.0.0.1:8080";
const DEFAULT_POLL: Duration = Duration::from_secs(1);
const DEFAULT_WINDOW: Duration = Duration::from_millis(300);

/// What may stand in the configuration file. Everything has a default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ConfigFile {
    /// The address to listen on; `127.0.0.1:8080` when left out.
    #[serde(deserialize_with = "address_or_port")]
    pub(crate) listen: Option<String>,
    /// A Unix socket to listen on beside the address, relative to this file; none when left out.
    pub(crate) unix_socket: Option<PathBuf>,
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
    /// Environment variables that definitions may name as `{{secrets.NAME}}`, beside `TOOLRAIL_SECRET_*`.
    pub(crate) secrets: Option<Vec<String>>,
    /// Whether definitions in the store may start programs, as those in files may; they may not when left out.
    pub(crate) allow_commands: Option<bool>,
    /// Host names under which clients reach this server, beside loopback ones.
    pub(crate) allow_hosts: Option<Vec<String>>,
    /// Origins of web pages that may use this server, such as `https://console.example.com`.
    pub(crate) allow_origins: Option<Vec<String>>,
    /// How often the store is looked at for changes by others, in milliseconds (50 to 60000); 1000 when left out.
    pub(crate) poll_ms: Option<u64>,
    /// How far apart refreshes are at most while changes come in bursts, in milliseconds (0 to 5000); 300 when left out.
    pub(crate) refresh_window_ms: Option<u64>,
    /// How many versions of each definition are kept (1 to 1000000); all when left out.
    pub(crate) history_versions: Option<u32>,
    /// For how many days versions are kept (1 to 36500); for ever when left out.
    pub(crate) history_days: Option<u32>,
    /// The most tools on one page of `tools/list` (1 to 100000); 10000 when left out.
    pub(crate) page_size: Option<usize>,
}

/// The configuration in effect.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) unix_socket: Option<PathBuf>,
    pub(crate) data: PathBuf,
    pub(crate) store: Option<StoreUrl>,
    pub(crate) store_password_file: Option<PathBuf>,
    pub(crate) tenant: Principal,
    pub(crate) tools: Vec<PathBuf>,
    pub(crate) secrets: Vec<String>,
    pub(crate) allow_commands: bool,
    pub(crate) allow_hosts: Vec<String>,
    pub(crate) allow_origins: Vec<String>,
    pub(crate) poll: Duration,
    pub(crate) refresh_window: Duration,
    pub(crate) history: Retention,
    pub(crate) page_size: Option<usize>,
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
            Some(StoreUrl::Sqlite(database)) => Some(database),
            Some(StoreUrl::Memory | StoreUrl::Postgres(_) | StoreUrl::Mysql(_)) | None => None,
        };
        for place in single.chain(database).chain(file.tools.iter_mut().flatten()) {
            *place = folder.join(&place);
        }
        Ok(file)
    }

    fn parse(path: &Path, text: &str) -> anyhow::Result<Self> {
        let documents = toolrail_registry::read_documents(path, text)
            .map_err(|fault| anyhow::anyhow!("the configuration {}{}", path.display(), in_file(&fault)))?;
        let members = match documents.as_slice() {
            [] => Map::new(),
            [only] if only.pointer.is_empty() => only.value.as_object().cloned().unwrap_or_default(),
            // A file with nothing but `tools` reads like a list of definitions.
            many if many.iter().all(|one| one.pointer.starts_with("/tools/")) => {
                Map::from_iter([("tools".to_owned(), many.iter().map(|one| one.value.clone()).collect())])
            }
            _ => bail!("the configuration {} must be one mapping of keys to values", path.display()),
        };
        let faults = faults_of(&members);
        if !faults.is_empty() {
            bail!("the configuration {} has problems:\n  {}", path.display(), faults.join("\n  "));
        }
        Ok(serde_json::from_value(Value::Object(members))?)
    }
}

/// What is wrong with the file, behind its name.
fn in_file(fault: &FileFault) -> String {
    match fault.place {
        Some((line, column)) => format!(":{line}:{column} is {fault}"),
        None => format!(" is {fault}"),
    }
}

/// Tries every key on its own, so that one fault does not hide the next.
fn faults_of(members: &Map<String, Value>) -> Vec<String> {
    let mut faults = Vec::new();
    for (key, value) in members {
        if !KEYS.contains(&key.as_str()) {
            let meant = closest(key, KEYS.iter().copied());
            let meant = meant.map(|meant| format!("; did you mean {meant:?}?")).unwrap_or_default();
            faults.push(format!("/{key}: unknown key{meant}; known are {}", KEYS.join(", ")));
            continue;
        }
        let alone = Value::Object(Map::from_iter([(key.clone(), value.clone())]));
        match serde_json::from_value::<ConfigFile>(alone) {
            Err(error) => faults.push(format!("/{key}: {error}")),
            Ok(file) => faults.extend(file.out_of_range().map(|fault| format!("/{key}: {fault}"))),
        }
    }
    faults
}

const KEYS: &[&str] = &[
    "listen",
    "unixSocket",
    "data",
    "store",
    "storePasswordFile",
    "tenant",
    "tools",
    "secrets",
    "allowCommands",
    "allowHosts",
    "allowOrigins",
    "pollMs",
    "refreshWindowMs",
    "historyVersions",
    "historyDays",
    "pageSize",
];

impl ConfigFile {
    fn out_of_range(&self) -> Option<String> {
        if let Some(poll) = self.poll_ms.filter(|poll| !(50..=60_000).contains(poll)) {
            return Some(format!("{poll} is not between 50 and 60000 milliseconds"));
        }
        if let Some(size) = self.page_size.filter(|size| !(1..=100_000).contains(size)) {
            return Some(format!("{size} is not between 1 and 100000 tools"));
        }
        if let Some(window) = self.refresh_window_ms.filter(|window| *window > 5_000) {
            return Some(format!("{window} is not between 0 and 5000 milliseconds"));
        }
        if let Some(versions) = self.history_versions.filter(|count| !(1..=1_000_000).contains(count)) {
            return Some(format!("{versions} is not between 1 and 1000000 versions"));
        }
        if let Some(days) = self.history_days.filter(|days| !(1..=36_500).contains(days)) {
            return Some(format!("{days} is not between 1 and 36500 days"));
        }
        if let Some(Err(wrong)) = self.tenant.as_deref().map(Principal::of_tenant) {
            return Some(wrong.to_string());
        }
        self.listen.as_deref().and_then(|listen| address_of(listen).err()).map(|error| format!("{error:#}"))
    }

    /// What is given here goes before what `other` says.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            listen: self.listen.or(other.listen),
            unix_socket: self.unix_socket.or(other.unix_socket),
            data: self.data.or(other.data),
            store: self.store.or(other.store),
            store_password_file: self.store_password_file.or(other.store_password_file),
            tenant: self.tenant.or(other.tenant),
            tools: self.tools.or(other.tools),
            secrets: self.secrets.or(other.secrets),
            allow_commands: self.allow_commands.or(other.allow_commands),
            allow_hosts: self.allow_hosts.or(other.allow_hosts),
            allow_origins: self.allow_origins.or(other.allow_origins),
            poll_ms: self.poll_ms.or(other.poll_ms),
            refresh_window_ms: self.refresh_window_ms.or(other.refresh_window_ms),
            history_versions: self.history_versions.or(other.history_versions),
            history_days: self.history_days.or(other.history_days),
            page_size: self.page_size.or(other.page_size),
        }
    }

    /// Fills in the defaults.
    pub(crate) fn settle(self) -> anyhow::Result<Settings> {
        if let Some(fault) = self.out_of_range() {
            bail!("{fault}");
        }
        Ok(Settings {
            listen: address_of(self.listen.as_deref().unwrap_or(DEFAULT_LISTEN))?,
            unix_socket: self.unix_socket,
            data: self.data.unwrap_or_else(|| "data".into()),
            store: self.store,
            store_password_file: self.store_password_file,
            tenant: self.tenant.as_deref().map(Principal::of_tenant).transpose()?.unwrap_or_default(),
            tools: self.tools.unwrap_or_default(),
            secrets: self.secrets.unwrap_or_default(),
            allow_commands: self.allow_commands.unwrap_or_default(),
            allow_hosts: self.allow_hosts.unwrap_or_default(),
            allow_origins: self.allow_origins.unwrap_or_default(),
            poll: self.poll_ms.map_or(DEFAULT_POLL, Duration::from_millis),
            refresh_window: self.refresh_window_ms.map_or(DEFAULT_WINDOW, Duration::from_millis),
            history: Retention { versions: self.history_versions, days: self.history_days },
            page_size: self.page_size,
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_file_is_taken() {
        let text = "listen: 127.0.0.1:9000\ndata: d\ntools: [t]\nsecrets: [TOKEN]\nallowHosts: [gw]\n\
                    allowOrigins: ['https://a.b']\npollMs: 100\npageSize: 50\nunixSocket: s\nallowCommands: true\n\
                    store: 'mysql://u:hidden@h/t'\nstorePasswordFile: p\ntenant: acme\nrefreshWindowMs: 0\n\
                    historyVersions: 9\nhistoryDays: 30\n";
        let settings = ConfigFile::parse(Path::new("c.yaml"), text).unwrap().settle().unwrap();
        assert_eq!(settings.listen.to_string(), "127.0.0.1:9000");
        assert_eq!((settings.data, settings.tools), ("d".into(), vec![PathBuf::from("t")]));
        assert_eq!((settings.secrets, settings.allow_hosts), (vec!["TOKEN".into()], vec!["gw".into()]));
        assert_eq!((settings.unix_socket, settings.allow_commands), (Some("s".into()), true));
        assert_eq!(settings.allow_origins, ["https://a.b"]);
        assert_eq!((settings.poll, settings.page_size), (Duration::from_millis(100), Some(50)));
        assert_eq!((settings.refresh_window, settings.tenant.tenant()), (Duration::ZERO, Some("acme")));
        assert_eq!(settings.history, Retention { versions: Some(9), days: Some(30) });
        assert_eq!(settings.store_password_file, Some("p".into()));
        assert_eq!(format!("{:?}", settings.store), "Some(mysql://h/t)");
    }

    #[test]
    fn a_port_alone_may_be_a_number() {
        let listen =
            |text: &str| ConfigFile::parse(Path::new("c.yaml"), text).unwrap().settle().unwrap().listen;
        assert_eq!(listen("listen: 18091\n").to_string(), "127.0.0.1:18091");
        assert_eq!(listen("listen:\n").to_string(), DEFAULT_LISTEN);
        for wrong in ["listen: 70000\n", "listen: [1]\n", "listen: 1.5\n"] {
            let error = ConfigFile::parse(Path::new("c.yaml"), wrong).unwrap_err().to_string();
            assert!(error.contains("/listen: "), "{error}");
        }
    }

    #[test]
    fn every_problem_of_the_file_is_told_with_its_place() {
        let text = "listenn: 1\npollMs: 5\ntools: yes\nlisten: nowhere\nstore: 'oracle://u:hidden@h'\n\
                    tenant: a b\nrefreshWindowMs: 5001\nhistoryDays: 0\nhistoryVersions: 0\n";
        let error = ConfigFile::parse(Path::new("c.yaml"), text).unwrap_err().to_string();
        for part in [
            "/listenn: unknown key; did you mean \"listen\"?",
            "/pollMs: 5 is not",
            "/tools: ",
            "/listen: \"nowhere\"",
            "/store: there is no kind of store \"oracle\"",
            "/tenant: \"a b\" is not the name",
            "/refreshWindowMs: 5001 is not",
            "/historyDays: 0 is not",
            "/historyVersions: 0 is not",
        ] {
            assert!(error.contains(part), "{part} is not in: {error}");
        }
        assert!(!error.contains("hidden"), "{error}");
    }

    #[test]
    fn a_file_with_nothing_but_tools_is_a_configuration_too() {
        let file = ConfigFile::parse(Path::new("c.yaml"), "tools: [a, b]\n").unwrap();
        assert_eq!(file.tools, Some(vec!["a".into(), "b".into()]));
        assert_eq!(ConfigFile::parse(Path::new("c.yaml"), "").unwrap(), ConfigFile::default());
    }

    #[test]
    fn flags_go_before_the_file() {
        let flags =
            ConfigFile { listen: Some("9001".into()), allow_commands: Some(false), ..ConfigFile::default() };
        let file = ConfigFile {
            listen: Some("9000".into()),
            poll_ms: Some(100),
            allow_commands: Some(true),
            ..ConfigFile::default()
        };
        let settings = flags.or(file).settle().unwrap();
        assert_eq!((settings.listen.to_string(), settings.allow_commands), ("127.0.0.1:9001".into(), false));
        assert_eq!(settings.poll, Duration::from_millis(100));
    }
}
