//! Kind `mcp`: another MCP server, whose tools, prompts and resources are listed beside ours.
//!
//! `settings` is what the user writes. `handshake` makes a `connection` over a `wire`, which is an HTTP session (`http`,
//! `sse`, `session_stream`) or a child (`process`). The `supervisor` keeps one connection, `lists`, puts entries in order (`mend`) and makes the `offer`, and
//! hears of changes (`following`). A call runs in `run` as a `conversation`, in the `session` of its client, of which
//! `sessions` keeps a few, or on the shared connection; while its client fetches an answer it may be `parked`. A resource is
//! watched in the same session (`own_watch`). `gate` tells what a client lacks for a tool. `on_behalf` is in whose name a session is held, if not in the gateway's. What all calls share is in the `hub`.

mod connection;
mod conversation;
mod endpoint;
mod executor;
mod failure;
mod following;
mod gate;
mod handshake;
mod http;
mod http_sse;
mod hub;
mod lists;
mod mend;
mod message;
mod meta;
mod notes;
mod offer;
mod on_behalf;
mod own_watch;
mod parked;
mod pattern;
mod process;
mod run;
mod session;
mod session_stream;
mod sessions;
mod settings;
mod sse;
mod supervisor;
mod task;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use toolrail_core::{
    Auth, Changed, Compiled, Definition, Executor, Kind, Made, Need, Offer, Outcome, Permission, Problems,
    ResponseMapping, TaskRequest, Upstream, UpstreamState, async_trait,
};

use crate::runtime::Runtime;
use crate::template::Compiler;
use endpoint::ServerEndpoint;
use executor::{Remote, Thing};
use handshake::{ServerConnector, Way};
use hub::{Hub, Sharing};
use process::Command;
pub use process::end_programs;
use settings::{McpSettings, Selection};
use supervisor::{Published, Supervisor};

/// The kind `mcp`.
#[derive(Debug)]
pub(crate) struct Mcp {
    runtime: Runtime,
    /// What connections that were dropped still have to say.
    farewells: TaskTracker,
}

impl Mcp {
    /// The kind, running its calls with `runtime`.
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime, farewells: TaskTracker::new() }
    }

    fn way(
        &self,
        settings: &McpSettings,
        definition: &Definition,
        compiler: &mut Compiler<'_>,
    ) -> Option<Way> {
        if let Some(url) = &settings.url {
            let compiled = ServerEndpoint::compile(url, settings, definition, compiler)?;
            let endpoint = ServerEndpoint::new(self.runtime.clone(), compiled, settings.limits());
            return Some(Way::Http(Arc::new(endpoint)));
        }
        let program = settings.command.as_deref()?;
        Command::compile(program, settings, &self.runtime.secrets, compiler).map(Way::Stdio)
    }
}

impl Kind for Mcp {
    const NAME: &'static str = "mcp";
    type Settings = McpSettings;

    fn compile(
        &self,
        settings: McpSettings,
        definition: &Definition,
        problems: &mut Problems,
    ) -> Option<Compiled> {
        settings.check_way(problems);
        check_effect(&settings, definition, problems);
        let selection = settings.selection(&definition.name, problems);
        let mut compiler = Compiler::on(&self.runtime, problems);
        let way = self.way(&settings, definition, &mut compiler);
        for argument in std::mem::take(&mut compiler.arguments) {
            compiler.problems.error(
                argument.pointer,
                "a server is the same for every call, so there are no arguments here; use {{secrets.KEY}} or write the value",
            );
        }
        let needs = needs_of(&settings).chain(compiler.needs()).collect();
        let connector = ServerConnector {
            way: way?,
            protocol: settings.protocol.unwrap_or_default(),
            limits: settings.limits(),
            claims: settings.claims(),
            farewells: self.farewells.clone(),
            found: Mutex::default(),
        };
        let server = Server {
            hub: Arc::new(Hub::new(
                definition.name.as_str().to_owned(),
                connector,
                (settings.sharing(), settings.session_limits()),
            )),
            selection,
            published: Arc::default(),
            following: Mutex::default(),
        };
        let made = Made::Upstream(Arc::new(server));
        Some(Compiled { made, arguments: Vec::new(), uses_other_arguments: true, needs })
    }
}

/// Whoever names a program has it run by the gateway, with everything that the gateway's user may do.
fn needs_of(settings: &McpSettings) -> impl Iterator<Item = Need> {
    let start = |_| Need { permission: Permission::StartPrograms, pointer: "/mcp/command".to_owned() };
    settings.command.iter().map(start)
}

/// Notes what has no effect on a server.
fn check_effect(settings: &McpSettings, definition: &Definition, problems: &mut Problems) {
    if settings.command.is_some() && definition.wants_auth() {
        problems.error("/auth", "has no effect with mcp.command; give the program its secrets in env");
    }
    if definition.response_mapping != ResponseMapping::Passthrough {
        problems
            .error("/responseMapping", "has no effect on a server, whose answers are passed on; remove it");
    }
    for (field, is_there) in [
        ("maxSessions", settings.max_sessions.is_some()),
        ("sessionIdleMs", settings.session_idle_ms.is_some()),
    ] {
        // Whoever asks in the name of callers has a session for each of them.
        let is_on_behalf = definition.auth.as_ref().is_some_and(Auth::is_on_behalf);
        if is_there && settings.sharing() == Sharing::Everybody && !is_on_behalf {
            problems.error(format!("/mcp/{field}"), "has no effect with shared: true; remove it");
        }
    }
    if definition.policy.timeout_ms.is_some() {
        problems.error("/policy/timeoutMs", "has no effect on a server; use mcp.timeoutMs");
    }
}

/// An MCP server that is listed here.
struct Server {
    hub: Arc<Hub>,
    selection: Selection,
    published: Arc<Published>,
    following: Mutex<Option<AbortOnDropHandle<()>>>,
}

#[async_trait]
impl Upstream for Server {
    fn start(&self, changed: Arc<dyn Fn(Changed) + Send + Sync>) {
        let mut following = self.following.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            tracing::error!(server = self.hub.name, "cannot be followed outside of the runtime");
            return;
        };
        following.get_or_insert_with(|| {
            self.hub.listener.get_or_init(|| Arc::clone(&changed));
            let supervisor = Supervisor {
                hub: Arc::clone(&self.hub),
                selection: self.selection.clone(),
                published: Arc::clone(&self.published),
                changed,
            };
            AbortOnDropHandle::new(runtime.spawn(supervisor.run()))
        });
    }

    fn offer(&self) -> Arc<Offer> {
        self.published.offer()
    }

    fn failure(&self) -> Option<String> {
        self.published.failure()
    }

    fn state(&self) -> UpstreamState {
        self.published.state()
    }

    fn unlisted(&self) -> Option<Arc<dyn Executor>> {
        let remote = || Arc::new(Remote { hub: Arc::clone(&self.hub), thing: Thing::Resource });
        self.published.has_resources().then(|| remote() as Arc<dyn Executor>)
    }

    fn roots_changed(&self, conversation: &str) {
        self.hub.roots_changed(conversation);
    }

    async fn task(&self, request: &TaskRequest<'_>) -> Outcome {
        task::ask(&self.hub, request).await
    }
}
