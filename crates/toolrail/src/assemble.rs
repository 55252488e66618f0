//! Puts the crates together: kinds, policies, store and sources become a registry. The only place that knows them all.

use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Router;
use serde_json::Value;
use serde_json::value::RawValue;
use toolrail_access::{Permissions, StoredRules};
use toolrail_admin::{Admin, Finding, Keys, MetricsPage, Rules};
use toolrail_broker::Connections;
use toolrail_core::{
    Account, Binding, CallError, Caller, DefinitionForm, ErrorCode, HostPattern, Outcome, Principal, Problem,
    Retention, Secrets, Severity, Store, ToolName, Tools, Way, async_trait,
};
use toolrail_executors::outbound::{Client, ClientLimits};
use toolrail_executors::{Runtime, Scripts, Services};
use toolrail_identity::{Directory, Keyring, RecordFollower, SignedIn};
use toolrail_mcp::{Server, ServerInfo};
use toolrail_registry::{
    Compiler, FixedSource, Learning, Registry, Resolved, Source, SourceId, StoreSource, Unresolved,
};
use toolrail_tool::Offering;

use crate::config::{self, Settings};
use crate::connecting;
use crate::identity;
use crate::issuers::Issuers;
use crate::progress::LoadingBar;
use crate::scripts;
use crate::semantic;
use crate::spare::{self, Spare};
use crate::store_choice::{self, Opened};
use crate::telemetry::Metrics;

/// How long upstream servers are waited for at the start; clients that ask at once would miss them.
const UPSTREAMS_WITHIN: Duration = Duration::from_secs(3);

/// A registry with its store.
pub(crate) struct Assembly {
    pub(crate) registry: Arc<Registry>,
    /// How much of its history is kept.
    pub(crate) history: Retention,
    store: Arc<dyn Store>,
    spare: Option<Spare>,
    /// Those who may come in, where keys are asked for.
    directory: Option<Arc<Directory>>,
    /// The issuers whose tokens are taken.
    issuers: Option<Issuers>,
    /// The rules that say what they may do, and those of the store among them.
    permissions: Arc<Permissions>,
    stored_rules: Arc<StoredRules>,
    /// The accounts at upstream servers that people have connected.
    connections: Arc<Connections>,
    /// Brings keys, rules and connections that are new in the store.
    follower: Arc<RecordFollower>,
}

impl Assembly {
    /// Asks for keys from now on.
    pub(crate) fn ask_for_keys(&mut self) -> Arc<Directory> {
        let directory = Arc::new(Directory::new(Arc::clone(&self.store)));
        self.directory = Some(Arc::clone(&directory));
        let (keys, rules) = (Arc::clone(&directory), Arc::clone(&self.stored_rules));
        let connections = Arc::clone(&self.connections);
        self.follower =
            Arc::new(RecordFollower::new(Arc::clone(&self.store), vec![rules, keys, connections]));
        directory
    }

    /// Those who may come in, where keys are asked for.
    pub(crate) fn directory(&self) -> Option<&Arc<Directory>> {
        self.directory.as_ref()
    }

    /// The issuers whose tokens are taken.
    pub(crate) fn issuers(&self) -> Option<&Issuers> {
        self.issuers.as_ref()
    }

    /// The rules that say what they may do.
    pub(crate) fn permissions(&self) -> &Arc<Permissions> {
        &self.permissions
    }

    /// Brings keys and rules that are new in the store.
    pub(crate) fn follower(&self) -> &Arc<RecordFollower> {
        &self.follower
    }

    /// The accounts at upstream servers that people have connected.
    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    /// The rules, for those who administer them.
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            stored: Arc::clone(&self.stored_rules),
            permissions: Arc::clone(&self.permissions),
            follower: Arc::clone(&self.follower),
            are_enforced: self.directory.is_some(),
        }
    }

    /// The keys of the store.
    pub(crate) fn keys(&self) -> Keys {
        let keyring = Arc::new(Keyring::new(Arc::clone(&self.store)));
        Keys { keyring, follower: Arc::clone(&self.follower) }
    }

    /// Those who have signed in, where people do.
    fn signed_in(&self) -> Option<Arc<dyn SignedIn>> {
        self.issuers.as_ref()?.broker.clone().map(|broker| broker as Arc<dyn SignedIn>)
    }

    /// Writes what is still to be written and leaves the data folder tidy.
    pub(crate) async fn close(&self) {
        self.registry.usage().record_uses().await;
        self.registry.intake().keep_last_good().await;
        self.store.close().await;
    }
}

/// Definitions that come with the program, and the secrets they need.
#[derive(Clone, Default)]
pub(crate) struct BuiltIn {
    pub(crate) description: String,
    pub(crate) documents: Vec<Value>,
    pub(crate) secrets: Vec<(String, String)>,
}

/// Puts a gateway together: opens the store, loads every source once and gives upstream servers a moment to connect. A store
/// on a server may be away; then what it had last is served.
pub(crate) async fn assemble(settings: &Settings, built_in: Option<BuiltIn>) -> anyhow::Result<Assembly> {
    let opened = store_choice::open_or_wait(settings).await?;
    put_together(settings, opened, built_in, None).await
}

/// The same on the store of `before`, for settings that have changed.
pub(crate) async fn assemble_again(
    settings: &Settings,
    before: &Assembly,
    built_in: Option<BuiltIn>,
) -> anyhow::Result<Assembly> {
    let (store, spare) = (Arc::clone(&before.store), before.spare.clone());
    let connections = Some(Arc::clone(&before.connections));
    let opened = Opened { store, spare, missing: None };
    let again = put_together(settings, opened, built_in, connections).await?;
    let issuers = Issuers::again(before.issuers.as_ref(), again.issuers.clone());
    // Whoever follows the store goes on.
    let stored_rules = Arc::clone(&before.stored_rules);
    let permissions = Arc::new(Permissions::new(settings.permissions.clone(), &stored_rules));
    let (directory, follower) = (before.directory.clone(), Arc::clone(&before.follower));
    Ok(Assembly { directory, issuers, permissions, stored_rules, follower, ..again })
}

/// The same for one command on a store, which must be there.
pub(crate) async fn assemble_offline(settings: &Settings) -> anyhow::Result<Assembly> {
    let store = store_choice::open(settings).await?;
    put_together(settings, Opened { store, spare: None, missing: None }, None, None).await
}

async fn put_together(
    settings: &Settings,
    opened: Opened,
    built_in: Option<BuiltIn>,
    connections: Option<Arc<Connections>>,
) -> anyhow::Result<Assembly> {
    Account::of_process().allow(settings.memory.0);
    let Opened { store, spare, missing } = opened;
    let mut sources: Vec<Arc<dyn Source>> = vec![Arc::new(StoreSource::new(Arc::clone(&store)))];
    let mut secrets = Vec::new();
    if let Some(built_in) = built_in {
        secrets = built_in.secrets;
        sources.push(Arc::new(FixedSource::new(SourceId::Demo, built_in.description, built_in.documents)));
    }
    let mut runtime = runtime(settings, secrets)?;
    for folder in &settings.tools {
        sources.push(Arc::new(scripts::source(folder, &runtime.scripts)));
    }
    let secrets = Arc::clone(&runtime.secrets);
    let issuers = Issuers::of(settings, &store, &secrets);
    let connections = connections.unwrap_or_else(|| {
        let broker = issuers.as_ref().and_then(|issuers| issuers.broker.clone());
        connecting::connections(settings, &store, &secrets, broker)
    });
    runtime.grants = Some(Arc::clone(&connections) as _);
    let mut compiler = compiler_on(&runtime);
    for permission in &settings.permitted {
        compiler = compiler.permitting(*permission);
    }
    let bar = LoadingBar::new();
    let mut builder = Registry::builder(compiler, Arc::clone(&store), sources, settings.limits)
        .with_endpoints(settings.endpoints.clone())
        .with_learning(if settings.search.learn { Learning::On } else { Learning::Off })
        .with_default_method(settings.search.default_method)
        .with_natives(vec![("native tools".to_owned(), toolrail_tool::native())])
        .with_on_broken(settings.on_broken)
        .with_progress(bar.listener());
    if let Some(semantic) = &settings.search.semantic {
        builder = builder.with_embedder(semantic::embedder(semantic, &settings.data, &runtime));
    }
    if let Some(spare) = &spare {
        builder = builder.with_fallback(&spare.definitions);
    }
    let registry = if settings.endpoints.any_discovery() {
        let (method, language) = (settings.search.default_method, settings.language);
        let offer = |weak: &Weak<Registry>| toolrail_discovery::offer(weak, method, language);
        Arc::new_cyclic(|weak| builder.with_built_ins(&offer(weak)).build())
    } else {
        Arc::new(builder.build())
    };
    registry.refresh().await;
    drop(bar);
    // What was kept is of another store, or cannot be read.
    if let Some(missing) = missing.filter(|_| registry.snapshot().revision == 0) {
        return Err(missing);
    }
    let own = Arc::new(OwnTools(Arc::downgrade(&registry)));
    runtime.scripts.connect(Arc::clone(&own) as _);
    Offering::global().connect(own);
    registry.intake().await_upstreams(UPSTREAMS_WITHIN).await;
    let stored_rules = Arc::new(StoredRules::new(Arc::clone(&store)));
    Ok(Assembly {
        registry,
        history: settings.history,
        spare,
        directory: None,
        issuers,
        permissions: Arc::new(Permissions::new(settings.permissions.clone(), &stored_rules)),
        follower: Arc::new(RecordFollower::new(Arc::clone(&store), vec![Arc::clone(&stored_rules) as _])),
        stored_rules,
        connections,
        store,
    })
}

/// The tools of the registry for native ones that call others. They are inside the registry, so they must not hold it.
struct OwnTools(Weak<Registry>);

#[async_trait]
impl Tools for OwnTools {
    async fn call(
        &self,
        name: &str,
        arguments: &RawValue,
        principal: &Principal,
        caller: &dyn Caller,
    ) -> Outcome {
        let unknown = || CallError::new(ErrorCode::NotFound, format!("there is no tool {name:?} to call"));
        let registry = self.0.upgrade().ok_or_else(unknown)?;
        let snapshot = registry.catalogue(principal);
        let resolved = registry.finder().resolve(&snapshot, name, Some(arguments)).await;
        let Resolved { tool, arguments, .. } = resolved.map_err(|unresolved| match unresolved {
            Unresolved::Unknown => unknown(),
            Unresolved::Failed(error) => error,
        })?;
        // Through call_tool a circle shows only now.
        if caller.chain().iter().any(|name| ToolName::fold(name) == tool.name.folded()) {
            let message =
                format!("tools call one another in a circle: {} → {}", caller.chain().join(" → "), tool.name);
            return Err(CallError::new(ErrorCode::ToolFailed, message));
        }
        drop((registry, snapshot));
        tool.call(arguments.as_deref(), principal, caller).await
    }
}

/// Compiles definitions of every kind with what the settings supply: secrets, variables and services.
pub(crate) fn compiler(settings: &Settings) -> anyhow::Result<Compiler> {
    Ok(compiler_on(&runtime(settings, Vec::new())?))
}

fn compiler_on(runtime: &Runtime) -> Compiler {
    let form = DefinitionForm::new(toolrail_executors::kinds(runtime));
    Compiler::new(form, Box::new(toolrail_policies::wrap))
}

/// What kinds run with. `given` secrets hold unless the environment has them too.
fn runtime(settings: &Settings, given: Vec<(String, String)>) -> anyhow::Result<Runtime> {
    // What comes with the program is for a service on this machine.
    let here = || Binding { hosts: HostPattern::loopback(), programs: false };
    let of_program: Vec<(String, Binding)> = given.iter().map(|(key, _)| (key.clone(), here())).collect();
    let given = given.into_iter().map(|(key, value)| (format!("{}{key}", Secrets::PREFIX), value));
    let listed: Vec<String> = settings.secrets.iter().map(|secret| secret.name.clone()).collect();
    let bindings = settings.secrets.iter();
    let bindings = bindings.filter_map(|secret| Some((secret.name.clone(), secret.binding.clone()?)));
    let secrets = Secrets::from_environment(given.chain(config::environment()), &listed);
    let secrets = secrets.bound(of_program.into_iter().chain(sign_in_secret(settings)).chain(bindings));
    let runtime = Runtime {
        client: Arc::new(Client::of_gateway(ClientLimits::default())),
        secrets: Arc::new(secrets),
        variables: Arc::new(settings.variables.clone()),
        services: Arc::new(settings.services.clone()),
        scripts: Arc::new(Scripts::of_this_binary()),
        grants: None,
    };
    check_services(&runtime)?;
    Ok(runtime)
}

/// The secret that proves to the identity provider who we are goes nowhere with definitions, unless the configuration says where.
fn sign_in_secret(settings: &Settings) -> Option<(String, Binding)> {
    let name = settings.broker.as_ref()?.secret_name()?;
    Some((name.to_owned(), Binding { hosts: Vec::new(), programs: false }))
}

/// A service with a fault would break every definition that uses it.
fn check_services(runtime: &Runtime) -> anyhow::Result<()> {
    let mut faults = Vec::new();
    for Problem { severity, pointer, message, .. } in Services::check(runtime) {
        match severity {
            Severity::Error => faults.push(format!("{pointer}: {message}")),
            Severity::Warning => tracing::warn!(pointer, problem = message, "a service of the configuration"),
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    anyhow::bail!("the configuration has problems:\n  {}", faults.join("\n  "))
}

/// The MCP face of a gateway.
pub(crate) async fn mcp_server(assembly: &Assembly) -> anyhow::Result<Arc<Server>> {
    let info = ServerInfo {
        name: identity::name().to_owned(),
        title: Some(identity::title().to_owned()),
        version: identity::version().to_owned(),
        instructions: identity::instructions(),
    };
    let key = spare::session_key(&assembly.registry, assembly.spare.as_ref()).await?;
    Ok(Server::new(Arc::clone(&assembly.registry), info, &key))
}

/// Every route: MCP and REST; `exposure` is what an operator should know of how the gateway runs.
pub(crate) fn routes(
    mcp: &Arc<Server>,
    assembly: &Assembly,
    metrics: Option<&Metrics>,
    exposure: Vec<Finding>,
) -> Router {
    let page = metrics.map(|metrics| Arc::new(metrics.page()) as MetricsPage);
    let admin = Admin::new(Arc::clone(&assembly.registry), identity::version(), Way::AdminApi);
    let admin = admin.with_metrics(page).with_keys(assembly.keys()).with_rules(assembly.rules());
    let admin = admin.with_signed_in(assembly.signed_in()).with_exposure(exposure);
    let admin = admin.with_connections(Arc::clone(assembly.connections()) as _);
    toolrail_mcp::routes(Arc::clone(mcp)).merge(toolrail_admin::routes(admin))
}

/// The REST face of a registry for the command line.
pub(crate) fn rest_routes(assembly: &Assembly) -> Router {
    let admin = Admin::new(Arc::clone(&assembly.registry), identity::version(), Way::Cli);
    let admin = admin.with_connections(Arc::clone(assembly.connections()) as _);
    let admin = admin.with_keys(assembly.keys()).with_rules(assembly.rules());
    toolrail_admin::routes(admin.with_signed_in(assembly.signed_in()))
}
