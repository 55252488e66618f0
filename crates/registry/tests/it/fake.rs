//! Kinds that make other things than tools: `note` makes prompts and resources, `far` connects to a server in this process
//! whose offer the test decides.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolrail_core::{
    ArgumentCheck, Call, CallError, Changed, Compiled, Definition, DefinitionForm, ErrorCode, Executor, Json,
    Kind, Made, Offer, Offered, OfferedTool, Outcome, Payload, Preview, Problems, TaskSupport, ToolName,
    ToolResult, Upstream, UpstreamState, async_trait,
};
use toolrail_registry::{Compiler, Registry, RegistryBuilder, RegistryLimits, Source};

use crate::support::{Echo, no_rows};

/// Answers what it was asked for.
pub(crate) struct Asked;

#[async_trait]
impl Executor for Asked {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        let raw = call.raw.map(|raw| raw.get().to_owned());
        let answer = json!({"tool": call.tool, "arguments": call.arguments, "raw": raw});
        Ok(ToolResult::good(Payload::Whole(Json::from_value(&answer))))
    }

    fn preview(&self, _: &Call<'_>) -> Result<Preview, CallError> {
        Err(CallError::new(ErrorCode::Internal, "has no preview"))
    }
}

pub(crate) struct Note;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteSettings {
    #[serde(default)]
    uri: Option<String>,
    #[serde(default)]
    template: Option<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "only whether it changed counts")]
    text: Option<String>,
}

impl Kind for Note {
    const NAME: &'static str = "note";
    type Settings = NoteSettings;

    fn compile(&self, settings: NoteSettings, definition: &Definition, _: &mut Problems) -> Option<Compiled> {
        let name = definition.name.as_str();
        let made = match (settings.uri, settings.template) {
            (Some(uri), _) => Made::Resource(resource(&uri)),
            (None, Some(template)) => Made::Template(resource(&template)),
            (None, None) => Made::Prompt(prompt(name)),
        };
        Some(Compiled { made, arguments: Vec::new(), uses_other_arguments: true, needs: Vec::new() })
    }
}

type Listener = Arc<dyn Fn(Changed) + Send + Sync>;

/// A server in this process.
#[derive(Default)]
pub(crate) struct Server {
    offer: Mutex<Arc<Offer>>,
    failure: Mutex<Option<String>>,
    is_connecting: AtomicBool,
    listener: Mutex<Option<Listener>>,
    /// How often somebody began to follow it.
    pub(crate) started: AtomicUsize,
    /// How many follow it now.
    pub(crate) connected: AtomicUsize,
}

impl Server {
    pub(crate) fn offering(offer: Offer) -> Arc<Self> {
        let server = Self::default();
        *server.offer.lock().unwrap() = Arc::new(offer);
        Arc::new(server)
    }

    /// One that has neither offered anything yet nor failed.
    pub(crate) fn connecting() -> Arc<Self> {
        Arc::new(Self { is_connecting: AtomicBool::new(true), ..Self::default() })
    }

    /// Offers something else from now on.
    pub(crate) fn offer(&self, offer: Offer) {
        *self.offer.lock().unwrap() = Arc::new(offer);
        self.is_connecting.store(false, Ordering::SeqCst);
        self.tell(Changed::Offer);
    }

    pub(crate) fn fail(&self, failure: Option<&str>) {
        *self.failure.lock().unwrap() = failure.map(str::to_owned);
        self.is_connecting.store(false, Ordering::SeqCst);
        self.tell(Changed::Offer);
    }

    pub(crate) fn tell(&self, changed: Changed) {
        let listener = self.listener.lock().unwrap().clone();
        listener.unwrap()(changed);
    }

    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.started.load(Ordering::SeqCst), self.connected.load(Ordering::SeqCst))
    }
}

pub(crate) struct Connection {
    server: Arc<Server>,
    is_started: AtomicUsize,
}

impl Connection {
    pub(crate) fn to(server: &Arc<Server>) -> Arc<Self> {
        Arc::new(Self { server: Arc::clone(server), is_started: AtomicUsize::new(0) })
    }
}

impl Upstream for Connection {
    fn start(&self, changed: Listener) {
        if self.is_started.swap(1, Ordering::SeqCst) == 0 {
            *self.server.listener.lock().unwrap() = Some(changed);
            self.server.started.fetch_add(1, Ordering::SeqCst);
            self.server.connected.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn offer(&self) -> Arc<Offer> {
        self.server.offer.lock().unwrap().clone()
    }

    fn failure(&self) -> Option<String> {
        self.server.failure.lock().unwrap().clone()
    }

    fn unlisted(&self) -> Option<Arc<dyn Executor>> {
        Some(Arc::new(Asked))
    }

    fn state(&self) -> UpstreamState {
        match self.failure() {
            _ if self.server.is_connecting.load(Ordering::SeqCst) => UpstreamState::Connecting,
            Some(_) => UpstreamState::Failing,
            None => UpstreamState::Live,
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.is_started.load(Ordering::SeqCst) == 1 {
            self.server.connected.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// The kind that reaches those servers.
pub(crate) struct Far(pub(crate) Vec<Arc<Server>>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FarSettings {
    server: usize,
}

impl Kind for Far {
    const NAME: &'static str = "far";
    type Settings = FarSettings;

    fn compile(&self, settings: FarSettings, _: &Definition, _: &mut Problems) -> Option<Compiled> {
        let made = Made::Upstream(Connection::to(&self.0[settings.server]));
        Some(Compiled { made, arguments: Vec::new(), uses_other_arguments: true, needs: Vec::new() })
    }
}

/// A registry that knows all the kinds; it looks at its sources only when told to.
pub(crate) fn registry_of(servers: &[Arc<Server>], sources: Vec<Arc<dyn Source>>) -> Registry {
    builder_of(servers, sources).build()
}

pub(crate) fn builder_of(servers: &[Arc<Server>], sources: Vec<Arc<dyn Source>>) -> RegistryBuilder {
    let form = DefinitionForm::new(vec![Arc::new(Echo), Arc::new(Note), Arc::new(Far(servers.to_vec()))]);
    let compiler = Compiler::new(form, Box::new(|_, executor| executor));
    let limits = RegistryLimits { poll: Duration::from_hours(1), page_tools: 3, ..RegistryLimits::default() };
    Registry::builder(compiler, no_rows(), sources, limits)
}

pub(crate) fn far(name: &str, server: usize) -> Value {
    json!({"name": name, "far": {"server": server}})
}

/// A tool that is offered with that entry, whose arguments the server looks at.
pub(crate) fn offered(entry: Value) -> OfferedTool {
    let name = ToolName::parse(entry["name"].as_str().unwrap()).unwrap();
    OfferedTool {
        name,
        entry: entry.into(),
        executor: Arc::new(Asked),
        arguments: ArgumentCheck::There,
        tasks: TaskSupport::Optional,
    }
}

/// A tool without anything particular.
pub(crate) fn plain(name: &str) -> OfferedTool {
    offered(json!({"name": name, "inputSchema": {"type": "object"}}))
}

pub(crate) fn tools(names: &[&str]) -> Offer {
    Offer { tools: names.iter().map(|name| plain(name)).collect(), ..Offer::default() }
}

pub(crate) fn prompt(name: &str) -> Offered {
    Offered { key: name.into(), entry: json!({"name": name}).into(), executor: Arc::new(Asked) }
}

pub(crate) fn resource(uri: &str) -> Offered {
    let entry = json!({"uri": uri, "name": uri, "mimeType": "text/plain"});
    Offered { key: uri.into(), entry: entry.into(), executor: Arc::new(Asked) }
}
