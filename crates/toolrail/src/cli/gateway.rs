//! What `serve` and `stdio` have in common: where definitions come from, and what is printed about them at the start.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use clap::builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser};
use tokio_util::task::AbortOnDropHandle;
use toolrail_core::{Secrets, Severity, UpstreamState};
use toolrail_discovery::Language;
use toolrail_mcp::Server;
use toolrail_registry::{Discovery, Endpoint, ListingMode, OnBroken, Registry, Snapshot};
use toolrail_store::{StoreUrl, WrongUrl};

use super::{Hinted, served};
use crate::assemble::Assembly;
use crate::config::{
    ConfigFile, Layer, ListedSecret, ListingFile, SecretsFile, Settings, assignment, bounds,
};
use crate::memory::MemoryLimit;
use crate::{identity, print};

/// The most tool names printed at the start.
const MOST_NAMES: usize = 20;

#[derive(Args)]
pub(super) struct GatewayArgs {
    /// Data folder, created when missing; it holds the store unless --store names another [default: ./data]
    #[arg(long, env = "TOOLRAIL_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    /// Tenant of those who name none with the header Toolrail-Tenant: its tools are seen beside the shared ones
    #[arg(long, env = "TOOLRAIL_TENANT", value_name = "NAME", value_parser = bounds::tenant)]
    tenant: Option<String>,
    /// Folder of definition files (*.yaml, *.yml, *.json), watched for changes; may be repeated
    #[arg(long, env = "TOOLRAIL_TOOLS", value_name = "DIR")]
    tools: Vec<PathBuf>,
    /// Environment variable that definitions may use as {{secrets.NAME}}, beside TOOLRAIL_SECRET_*; with @HOST it is sent to
    /// that host only; may be repeated
    #[arg(
        long = "secret",
        env = "TOOLRAIL_SECRETS",
        value_name = "NAME[@HOST]",
        value_delimiter = ',',
        value_parser = ListedSecret::parse
    )]
    secrets: Vec<ListedSecret>,
    /// Value that definitions may use as {{vars.NAME}}, over TOOLRAIL_VAR_NAME; may be repeated
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = assignment)]
    vars: Vec<(String, String)>,
    #[command(flatten)]
    commands: AllowCommands,
    /// Let definitions that agents registered with register_tool use secrets; whoever can register tools can then send them
    /// to any host that they are not bound to
    #[arg(
        long,
        env = "TOOLRAIL_ALLOW_AGENT_SECRETS",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new()
    )]
    allow_agent_secrets: Option<bool>,
    /// The most bytes in flight: requests, answers and what waits for slow clients [default: a quarter of the memory, at most
    /// 512MB]
    #[arg(long, env = "TOOLRAIL_MEMORY", value_name = "SIZE")]
    memory: Option<MemoryLimit>,
    /// How often the store is looked at for changes by others, in milliseconds [default: 100, or 1000 with PostgreSQL]
    #[arg(long, env = "TOOLRAIL_POLL_MS", value_name = "MS", value_parser = |text: &str| bounds::POLL_MS.parse::<u64>(text))]
    poll_ms: Option<u64>,
    /// How far apart refreshes are at most while changes come in bursts, in milliseconds [default: 300]
    #[arg(long, env = "TOOLRAIL_REFRESH_WINDOW_MS", value_name = "MS", value_parser = |text: &str| bounds::REFRESH_WINDOW_MS.parse::<u64>(text))]
    refresh_window_ms: Option<u64>,
    /// How many versions of each definition are kept [default: all]
    #[arg(long, env = "TOOLRAIL_HISTORY_VERSIONS", value_name = "COUNT", value_parser = |text: &str| bounds::HISTORY_VERSIONS.parse::<u32>(text))]
    history_versions: Option<u32>,
    /// For how many days versions of definitions are kept [default: for ever]
    #[arg(long, env = "TOOLRAIL_HISTORY_DAYS", value_name = "DAYS", value_parser = |text: &str| bounds::HISTORY_DAYS.parse::<u32>(text))]
    history_days: Option<u32>,
    /// What becomes of a definition in the store whose newest version has errors: its last good version is served, or it is
    /// refused [default: serve]
    #[arg(long, env = "TOOLRAIL_ON_BROKEN", value_name = "serve|refuse", value_parser = on_broken)]
    on_broken: Option<OnBroken>,
    /// The most tools on one page of tools/list [default: 10000]
    #[arg(long, env = "TOOLRAIL_PAGE_SIZE", value_name = "COUNT", value_parser = |text: &str| bounds::PAGE_SIZE.parse::<usize>(text))]
    page_size: Option<usize>,
    /// How tools/list lists tools: full lists all, search those that are pinned or say deferLoading: false, auto all up to a
    /// number [default: full]
    #[arg(long, env = "TOOLRAIL_LISTING", value_name = "MODE", value_parser = listing_mode())]
    listing: Option<ListingMode>,
    /// Whether clients have tools to find tools with, such as search_tools: true, false, or read-only, without those that
    /// register and remove tools [default: read-only]
    #[arg(
        long,
        env = "TOOLRAIL_DISCOVERY",
        value_name = "WHICH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = discovery
    )]
    discovery: Option<Discovery>,
    /// In which language discovery tools say first what went wrong [default: en]
    #[arg(long, env = "TOOLRAIL_LANGUAGE", value_name = "LANGUAGE", value_parser = language())]
    language: Option<Language>,
    /// Also start a small REST service and tools against it
    #[arg(long)]
    pub(super) demo: bool,
    /// Configuration file, YAML or JSON; flags and environment variables take precedence over it
    #[arg(long, env = "TOOLRAIL_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Which store, if not the one in the data folder.
#[derive(Args)]
pub(super) struct StoreArgs {
    /// Store: postgres://user@host/database, mysql://user@host/database, sqlite:FILE, json:FILE or memory: [default: SQLite in the
    /// data folder]. A password is better kept in TOOLRAIL_STORE_PASSWORD or a file (storePasswordFile) than written here
    #[arg(long, global = true, env = "TOOLRAIL_STORE", value_name = "URL", hide_env_values = true)]
    pub(super) store: Option<String>,
}

impl StoreArgs {
    /// The store, read here rather than by the parser of the command line, which would repeat a password in its errors.
    pub(super) fn url(&self) -> anyhow::Result<Option<StoreUrl>> {
        let wrong = |error: WrongUrl| Hinted::wrong_value("--store", &error.to_string());
        self.store.as_deref().map(|text| text.parse().map_err(wrong)).transpose()
    }
}

/// Whether definitions in the store may start programs; the configuration says so if this does not.
#[derive(Args)]
pub(super) struct AllowCommands {
    /// Let definitions in the store start programs (mcp.command), as those in files may; whoever can register definitions
    /// can then run anything. A server that runs already goes by its own flag
    #[arg(
        long,
        global = true,
        env = "TOOLRAIL_ALLOW_COMMANDS",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new()
    )]
    pub(super) allow_commands: Option<bool>,
    /// Let definitions in the store be scripts, as files in a folder of --tools may. A server that runs already goes by its
    /// own flag
    #[arg(
        long,
        global = true,
        env = "TOOLRAIL_ALLOW_SCRIPTS",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new()
    )]
    pub(super) allow_scripts: Option<bool>,
}

impl GatewayArgs {
    /// The configuration: `more` and these flags first, then the file.
    pub(super) fn config(&self, more: ConfigFile) -> anyhow::Result<ConfigFile> {
        let flags = ConfigFile {
            data: self.data.clone(),
            store: self.store.url()?,
            tenant: self.tenant.clone(),
            tools: (!self.tools.is_empty()).then(|| self.tools.clone()),
            secrets: (!self.secrets.is_empty()).then(|| SecretsFile(self.secrets.clone())),
            given_vars: Some(self.vars.clone()),
            allow_commands: self.commands.allow_commands,
            allow_scripts: self.commands.allow_scripts,
            allow_agent_secrets: self.allow_agent_secrets,
            memory: self.memory,
            poll_ms: self.poll_ms,
            refresh_window_ms: self.refresh_window_ms,
            history_versions: self.history_versions,
            history_days: self.history_days,
            on_broken: self.on_broken,
            page_size: self.page_size,
            listing: self.listing.map(|mode| ListingFile { mode: Some(mode), ..ListingFile::default() }),
            discovery: self.discovery,
            language: self.language,
            ..more
        };
        let file = self.config.as_deref().map(ConfigFile::read).transpose()?.unwrap_or_default();
        Ok(flags.over(file))
    }
}

fn on_broken(word: &str) -> Result<OnBroken, String> {
    let known = OnBroken::ALL.into_iter().find(|known| known.word() == word);
    known.ok_or_else(|| format!("known are {}", OnBroken::ALL.map(OnBroken::word).join(", ")))
}

fn discovery(word: &str) -> Result<Discovery, String> {
    Discovery::parse(word).ok_or_else(|| {
        let known = Discovery::ALL.map(Discovery::word);
        format!("known are {}", known.join(", "))
    })
}

fn language() -> impl TypedValueParser<Value = Language> {
    let find = |word: &str| Language::ALL.into_iter().find(|language| language.word() == word);
    PossibleValuesParser::new(Language::ALL.map(Language::word))
        .map(move |word| find(&word).unwrap_or_default())
}

fn listing_mode() -> impl TypedValueParser<Value = ListingMode> {
    let words = ListingMode::ALL.map(ListingMode::word);
    PossibleValuesParser::new(words).map(|word| ListingMode::parse(&word).unwrap_or_default())
}

/// Follows the sources in a task of its own: compiling many definitions must not keep the caller from its connections. Also
/// forgets what need not be kept of their history.
pub(super) fn follow(assembly: &Assembly) -> AbortOnDropHandle<()> {
    let (registry, history) = (Arc::clone(&assembly.registry), assembly.history);
    let follower = assembly.directory().map(|_| Arc::clone(assembly.follower()));
    let keep_records = async move {
        match follower {
            Some(follower) => follower.follow().await,
            None => std::future::pending().await,
        }
    };
    let (mut changes, told) = (assembly.rules().stored.changes(), Arc::clone(&assembly.registry));
    let tell_rules = async move {
        while changes.changed().await.is_ok() {
            told.feed().rights_changed();
        }
        // Nothing changes them any more.
        std::future::pending::<()>().await;
    };
    let issuers = assembly.issuers().cloned();
    let keep_issuers = async move {
        match issuers {
            Some(issuers) => issuers.follow().await,
            None => std::future::pending().await,
        }
    };
    AbortOnDropHandle::new(tokio::spawn(async move {
        tokio::select! {
            () = registry.follow() => {}
            () = keep_issuers => {}
            () = registry.changes().keep_history(history) => {}
            () = keep_records => {}
            () = tell_rules => {}
        }
    }))
}

/// Answers other gateways on the same store, likewise.
pub(super) fn relay(server: &Arc<Server>) -> AbortOnDropHandle<()> {
    let server = Arc::clone(server);
    AbortOnDropHandle::new(tokio::spawn(async move { server.relay().await }))
}

/// Tells what would be noticed late otherwise: a folder that is not there, a secret without a value. Once running, a
/// folder may come and go.
pub(super) fn look_at(settings: &Settings) -> anyhow::Result<()> {
    let missing = settings.tools.iter().filter(|folder| !folder.is_dir());
    let missing: Vec<String> = missing.map(|folder| folder.display().to_string()).collect();
    if !missing.is_empty() {
        return Err(Hinted::error(
            format!("there is no folder {} to read definitions from", missing.join(" and no folder ")),
            "create it, or name another with --tools",
        ));
    }
    let sign_in = settings.broker.as_ref().and_then(|broker| broker.secret_name());
    let listed = settings.secrets.iter().map(|ListedSecret { name, .. }| name.as_str());
    for secret in listed.chain(sign_in) {
        let prefixed = format!("{}{secret}", Secrets::PREFIX);
        if [secret, prefixed.as_str()].iter().all(|name| std::env::var(name).is_err()) {
            tracing::warn!(secret, "secret is listed but has no value: the environment has no such variable");
        }
    }
    Ok(())
}

/// The tools by name and what is wrong, a line each; `look` is the command that shows what is wrong.
pub(super) fn summary(registry: &Registry, look: &str) -> Vec<String> {
    let mut lines = summary_of(&registry.snapshot(), look);
    lines.extend(served::lines(registry, MOST_NAMES));
    lines
}

/// The same where only the tools of one endpoint are served.
pub(super) fn summary_at(registry: &Registry, endpoint: &Arc<Endpoint>, look: &str) -> Vec<String> {
    if endpoint.group.is_none() {
        return summary(registry, look);
    }
    let mut lines = summary_of(&registry.catalogue_at(None, endpoint), look);
    lines.extend(served::line(registry, endpoint));
    lines
}

fn summary_of(snapshot: &Snapshot, look: &str) -> Vec<String> {
    let mut lines: Vec<String> = names(snapshot).into_iter().chain(waiting(snapshot, look)).collect();
    lines.extend(snapshot.sources.iter().map(|source| match &source.failure {
        Some(failure) => format!("{} cannot be read: {failure}", source.description),
        None => format!("{} from {}", print::counted(source.definitions, "definition"), source.description),
    }));
    let errors = snapshot.problems().filter(|problem| problem.severity == Severity::Error).count();
    if errors > 0 {
        let problems =
            if errors == 1 { "1 problem keeps".to_owned() } else { format!("{errors} problems keep") };
        lines.push(format!("{problems} definitions from going live; {look}"));
    }
    lines
}

/// The upstream servers whose tools are not there, or may be old.
fn waiting(snapshot: &Snapshot, look: &str) -> Vec<String> {
    let told = [
        (UpstreamState::Connecting, "is still connecting", "are still connecting", String::new()),
        (UpstreamState::Failing, "cannot be used", "cannot be used", format!("; {look}")),
    ];
    let line = |(state, one, many, end)| match snapshot.upstreams_that_are(state) {
        0 => None,
        1 => Some(format!("1 upstream server {one}{end}")),
        count => Some(format!("{count} upstream servers {many}{end}")),
    };
    told.into_iter().filter_map(line).collect()
}

/// The names of the tools; nothing if there are none because upstream servers are not there.
fn names(snapshot: &Snapshot) -> Option<String> {
    let tools = snapshot.tools();
    let shown: Vec<&str> = tools.iter().take(MOST_NAMES).map(|tool| tool.name.as_str()).collect();
    Some(match tools.len() {
        0 if !snapshot.upstreams.is_empty() => return None,
        0 => format!("no tools yet; register one with `{} tools add FILE`", identity::name()),
        count if count > shown.len() => {
            format!(
                "{}: {} … and {} more",
                print::counted(count, "tool"),
                shown.join(", "),
                count - shown.len()
            )
        }
        count => format!("{}: {}", print::counted(count, "tool"), shown.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use clap::Args as _;
    use toolrail_registry::RegistryLimits;

    use super::*;

    #[test]
    fn the_help_names_the_defaults_of_the_registry() {
        let command = GatewayArgs::augment_args(clap::Command::new("gateway"));
        let help = |id: &str| {
            let argument = command.get_arguments().find(|argument| argument.get_id() == id);
            argument.and_then(clap::Arg::get_help).map(ToString::to_string).unwrap_or_default()
        };
        let usual = RegistryLimits::default();
        let (look, poll) = (usual.look.as_millis(), usual.poll.as_millis());
        let cases = [
            ("page_size", format!("[default: {}]", usual.page_tools)),
            ("refresh_window_ms", format!("[default: {}]", usual.window.as_millis())),
            ("poll_ms", format!("[default: {look}, or {poll} with PostgreSQL]")),
        ];
        for (id, expected) in cases {
            assert!(help(id).ends_with(&expected), "{id}: {:?}", help(id));
        }
    }
}
