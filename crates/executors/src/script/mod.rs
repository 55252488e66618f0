//! Kind `script`: a tool written in TypeScript, carried out in worker processes. `settings` is what the user writes, `host` answers what a script asks, `nested` is the client as a tool sees it that a script calls, `result` makes a
//! result of what the script returned.

mod host;
mod nested;
mod result;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolrail_core::{
    Call, CallError, Compiled, Definition, ErrorCode, Executor, Kind, Made, Need, Outcome, Permission,
    Preview, Problems, ResponseMapping, async_trait,
};
use toolrail_scripts::{Adopted, Fault, Limits};

use crate::outbound::{Bound, Sensitive};
use crate::runtime::Runtime;
use host::CallHost;
use settings::ScriptSettings;

/// How long a call may take unless `policy.timeoutMs` says otherwise.
const WALL_TIME: Duration = Duration::from_secs(30);

/// The kind `script`.
#[derive(Debug)]
pub(crate) struct Script {
    runtime: Runtime,
}

impl Script {
    /// The kind, running its calls with `runtime`.
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime }
    }

    /// What went wrong is told with the place in the script, which is no place of the definition.
    fn check(&self, settings: &ScriptSettings, problems: &mut Problems) -> Option<()> {
        let program = settings.program();
        match self.runtime.scripts.inspect(&program) {
            Ok(seen) if seen.has_default => Some(()),
            Ok(_) => {
                problems.error(
                    "/script/source",
                    "exports no function to call; write `export default async function (request) { … }`",
                );
                None
            }
            Err(faults) => {
                for Fault { file, place, message } in faults {
                    let place = place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
                    problems.error("/script/source", format!("{file}{place}: {message}"));
                }
                None
            }
        }
    }

    fn check_secrets(&self, settings: &ScriptSettings, problems: &mut Problems) {
        for (index, key) in settings.secrets.iter().enumerate() {
            let pointer = format!("/script/secrets/{index}");
            match self.runtime.secrets.find(key) {
                None => problems.warning(
                    pointer,
                    format!(
                        "the secret {key:?} has no value here, so calls that ask for it fail; {}",
                        self.runtime.secrets.how_to_set(key)
                    ),
                ),
                Some(secret) if Sensitive::is_too_short(secret.reveal()) => {
                    problems.warning(
                        pointer,
                        format!("the secret {key:?} is too short to be masked and is not given to scripts"),
                    );
                }
                Some(_) => {}
            }
        }
    }
}

impl Kind for Script {
    const NAME: &'static str = "script";
    type Settings = ScriptSettings;

    fn compile(
        &self,
        settings: ScriptSettings,
        definition: &Definition,
        problems: &mut Problems,
    ) -> Option<Compiled> {
        let unused = [
            ("/auth", definition.wants_auth()),
            ("/responseMapping", definition.response_mapping != ResponseMapping::Passthrough),
        ];
        for (pointer, _) in unused.into_iter().filter(|(_, there)| *there) {
            problems
                .error(pointer, "has no effect here: a script makes its own requests and results; remove it");
        }
        let hosts = settings.hosts(problems);
        self.check_secrets(&settings, problems);
        self.check(&settings, problems)?;
        let mut needs = vec![Need { permission: Permission::RunScripts, pointer: "/script".to_owned() }];
        needs.extend((0..settings.secrets.len()).map(|index| Need {
            permission: Permission::UseSecrets,
            pointer: format!("/script/secrets/{index}"),
        }));
        let secrets = &self.runtime.secrets;
        let bindings = settings.secrets.iter();
        let bindings = bindings.filter_map(|key| Some((key.clone(), secrets.binding(key)?.clone())));
        let values = settings.secrets.iter().filter_map(|key| Some(secrets.find(key)?.reveal()));
        let sensitive = Sensitive::of(values);
        let executor = ScriptExecutor {
            adopted: self.runtime.scripts.adopt(settings.program(), last_words(definition, &sensitive)),
            limits: settings.limits.limits(),
            secrets: settings.secrets.clone(),
            hosts: hosts.ok()?,
            bound: Bound::new(bindings),
            sensitive,
            wall: definition.policy.timeout_ms.map_or(WALL_TIME, Duration::from_millis),
            runtime: self.runtime.clone(),
        };
        Some(Compiled {
            made: Made::Tool(Arc::new(executor)),
            arguments: Vec::new(),
            uses_other_arguments: true,
            needs,
        })
    }
}

/// Logs what a script prints when it says goodbye.
fn last_words(definition: &Definition, sensitive: &Sensitive) -> impl Fn(&str) + Send + Sync + 'static {
    let (tool, sensitive) = (definition.name.to_string(), sensitive.clone());
    move |text| tracing::info!(tool, "{}", sensitive.mask_text(text.to_owned()))
}

/// A script that can be called.
pub(crate) struct ScriptExecutor {
    adopted: Adopted,
    limits: Limits,
    /// The names of the secrets that it may have.
    secrets: Vec<String>,
    /// Where it may send requests; anywhere, if nothing.
    hosts: Option<Vec<toolrail_core::HostPattern>>,
    /// Where its secrets may go, and so everything that it sends.
    bound: Bound,
    sensitive: Sensitive,
    wall: Duration,
    runtime: Runtime,
}

#[async_trait]
impl Executor for ScriptExecutor {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        let arguments = match call.raw {
            Some(raw) if call.arguments.is_empty() => raw.get().to_owned(),
            _ => serde_json::to_string(call.arguments).unwrap_or_default(),
        };
        let name = serde_json::to_string(call.tool).unwrap_or_default();
        let request =
            format!(r#"{{"method":"tools/call","params":{{"name":{name},"arguments":{arguments}}}}}"#);
        let host = CallHost { script: self, call: *call };
        let is_nested = !call.caller.chain().is_empty();
        let running =
            tokio::time::timeout(self.wall, self.adopted.run(&request, self.limits, is_nested, &host)).await;
        let ended = running.map_err(|_| {
            let message = format!(
                "{} did not finish within {} ms; try again, or raise policy.timeoutMs",
                call.tool,
                self.wall.as_millis()
            );
            CallError::new(ErrorCode::Timeout, message)
        })?;
        match ended {
            Ok(text) => result::of_text(text, &self.sensitive),
            Err(failure) => Err(result::of_failure(call.tool, failure, &self.sensitive)),
        }
    }

    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        let request = json!({"script": self.adopted.program.entry, "arguments": call.arguments});
        let note = "a script is not run for a preview: what it sends is known when it runs";
        Ok(Preview { request, values: Vec::new(), notes: vec![note.to_owned()] })
    }
}
