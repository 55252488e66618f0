//! The program that a definition starts: its arguments, and an environment that holds nothing of ours but what it was
//! given.

use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::process::Child;
use toolrail_core::{ErrorCode, Secret, Secrets};

use super::groups;
use crate::mcp::failure::Failure;
use crate::mcp::settings::{McpSettings, has_arguments};
use crate::outbound::Sensitive;
use crate::template::{Compiler, NamedSecret, Place, Rendering, Template, child as member};

/// Variables of ours that a child sees: where programs and files are, and how to speak to people.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "SYSTEMROOT",
    "APPDATA",
    "LOCALAPPDATA",
    "PATHEXT",
    "TEMP",
    "TMP",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// A program to start.
pub(crate) struct Command {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(String, Template)>,
    folder: Option<String>,
    secrets: Arc<Secrets>,
    sensitive: Sensitive,
}

impl Command {
    /// Compiles `command`, `args`, `env` and `cwd`, noting every fault.
    pub(crate) fn compile(
        program: &str,
        settings: &McpSettings,
        secrets: &Arc<Secrets>,
        compiler: &mut Compiler<'_>,
    ) -> Option<Self> {
        let arguments = compile_arguments(settings.args.as_deref().unwrap_or_default(), compiler);
        let environment = compile_environment(settings.env.as_ref(), compiler)?;
        check_bindings(compiler);
        let named =
            compiler.named_secrets.iter().filter_map(|named| secrets.find(&named.key)).map(Secret::reveal);
        let sensitive = Sensitive::of(named.filter(|text| !text.is_empty()));
        Some(Self {
            program: program.to_owned(),
            arguments: arguments?,
            environment,
            folder: settings.cwd.clone(),
            secrets: Arc::clone(secrets),
            sensitive,
        })
    }

    /// The program in messages.
    pub(crate) fn name(&self) -> &str {
        &self.program
    }

    /// The whole line in previews.
    pub(crate) fn shown(&self) -> Value {
        let line = std::iter::once(&self.program).chain(&self.arguments);
        line.map(|word| Value::from(word.as_str())).collect()
    }

    /// Starts it; the texts are those that must be masked in what it says.
    pub(super) fn spawn(&self) -> Result<(Child, Sensitive), Failure> {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(&self.arguments).env_clear();
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        let nothing = Map::new();
        for (name, template) in &self.environment {
            let mut value = String::new();
            template.write(&mut Rendering::to_send(&nothing, &self.secrets), &mut value)?;
            command.env(name, value);
        }
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = groups::start(|| command.spawn()).map_err(|error| {
            let why = match error.kind() {
                std::io::ErrorKind::NotFound if has_arguments(&self.program) => {
                    "it was not found; put the arguments into args".to_owned()
                }
                std::io::ErrorKind::NotFound => {
                    "it was not found; check command, cwd and the PATH of the gateway".to_owned()
                }
                _ => error.to_string(),
            };
            Failure::Lost(toolrail_core::CallError::new(
                ErrorCode::UpstreamUnreachable,
                format!("cannot start {:?}: {why}", self.program),
            ))
        })?;
        Ok((child, self.sensitive.clone()))
    }
}

/// Notes secrets that may not be given to programs, and those that may go anywhere.
fn check_bindings(compiler: &mut Compiler<'_>) {
    for named in &compiler.named_secrets {
        let NamedSecret { key, pointer, .. } = named;
        match compiler.secrets.binding(key) {
            Some(binding) if binding.programs => {}
            Some(binding) => compiler.problems.error(
                pointer,
                format!(
                    "the secret {key:?} may go to {} only, not to a program; say `programs: true` beside its `hosts` in the configuration if it may",
                    binding.places()
                ),
            ),
            None if compiler.secrets.find(key).is_some() => compiler.problems.warning(
                pointer,
                format!(
                    "the secret {key:?} may go to any host and program; bind it with `secrets: {{{key}: {{programs: true}}}}` in the configuration"
                ),
            ),
            None => {}
        }
    }
}

/// Variables may stand in arguments, but nothing secret.
fn compile_arguments(arguments: &[String], compiler: &mut Compiler<'_>) -> Option<Vec<String>> {
    let compiled: Vec<_> = arguments
        .iter()
        .enumerate()
        .map(|(index, argument)| {
            let pointer = format!("/mcp/args/{index}");
            let is_template = ["{{", "${secrets.", "${vars."].iter().any(|start| argument.contains(start));
            if !is_template {
                return Some(argument.clone());
            }
            let refused = "only {{vars.NAME}} has an effect here, where everybody on the machine can read it; put secrets into env";
            if argument.contains("secrets.") {
                compiler.problems.error(pointer, refused);
                return None;
            }
            let template = compiler.template(argument, &pointer, Place::Text)?;
            if template.literal().is_none() {
                compiler.problems.error(pointer, refused);
            }
            template.literal().map(str::to_owned)
        })
        .collect();
    compiled.into_iter().collect()
}

fn compile_environment(
    given: Option<&Map<String, Value>>,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<(String, Template)>> {
    let mut environment = Vec::new();
    let mut whole = Some(());
    for (name, value) in given.into_iter().flatten() {
        let pointer = member("/mcp/env", name);
        if name.is_empty() || name.contains(['=', '\0']) {
            compiler.problems.error(&pointer, "is not the name of an environment variable; remove = from it");
        }
        let text = match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                compiler.problems.error(&pointer, "must be a text, a number or a boolean");
                None
            }
        };
        match text.and_then(|text| compiler.template(&text, &pointer, Place::Text)) {
            Some(template) => environment.push((name.clone(), template)),
            None => whole = None,
        }
    }
    whole.map(|()| environment)
}
