//! The block `script` of a definition. The doc comments are the user's documentation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toolrail_core::{HostPattern, Problems};
use toolrail_scripts::{Limits, Program};

/// The largest program, all files together.
const LARGEST: usize = 8 << 20;

/// A script in TypeScript or JavaScript: a module with `export default async function (request) { … }`, which gets
/// `request.params.arguments` and returns the result.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ScriptSettings {
    /// The text of the script. In a file of the tools folder `file` may stand instead.
    pub(super) source: String,
    /// The name of its file, relative to the definition; errors name it.
    #[serde(default)]
    pub(super) file: Option<String>,
    /// The files that it imports, by their names; filled in for scripts of the tools folder.
    #[serde(default)]
    pub(super) modules: BTreeMap<String, String>,
    /// The secrets that the script may have with `secrets.get(name)`.
    #[serde(default)]
    pub(super) secrets: Vec<String>,
    /// The hosts that `fetch` may go to, such as `api.example.com` or `*.example.com:8443`; any, if this is left out.
    #[serde(default)]
    hosts: Option<Vec<String>>,
    /// What one call may take.
    #[serde(default)]
    pub(super) limits: ScriptLimits,
}

/// What one call of a script may take. Its time is `policy.timeoutMs` (30000).
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ScriptLimits {
    /// Processor time in milliseconds; 5000 if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 60_000))]
    cpu_ms: Option<u64>,
    /// Memory of its values in megabytes; 64 if left out.
    #[serde(default)]
    #[schemars(range(min = 4, max = 512))]
    memory_mb: Option<u32>,
    /// Its stack in kilobytes; 512 if left out.
    #[serde(default)]
    #[schemars(range(min = 64, max = 4_096))]
    stack_kb: Option<u32>,
    /// Its result in kilobytes; 8192 if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 32_768))]
    result_kb: Option<u32>,
    /// How many requests it may make: `fetch`, calls of tools, secrets; 100 if left out.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10_000))]
    requests: Option<u32>,
    /// How many messages it may write to the log and to the client; 1000 if left out.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    messages: Option<u32>,
}

impl ScriptSettings {
    /// The program.
    pub(super) fn program(&self) -> Program {
        let entry = self.file.clone().unwrap_or_else(|| "script.ts".to_owned());
        let mut files = self.modules.clone();
        files.insert(entry.clone(), self.source.clone());
        Program { entry, files }
    }

    /// The hosts that it may reach; an error was noted if one of them cannot be read or the program is too large.
    pub(super) fn hosts(&self, problems: &mut Problems) -> Result<Option<Vec<HostPattern>>, Noted> {
        let size = self.source.len() + self.modules.values().map(String::len).sum::<usize>();
        if size > LARGEST {
            problems.error("/script/source", format!("is larger than {} MB with its modules", LARGEST >> 20));
            return Err(Noted);
        }
        let Some(hosts) = &self.hosts else { return Ok(None) };
        let mut patterns = Vec::new();
        for (index, host) in hosts.iter().enumerate() {
            match host.parse() {
                Ok(pattern) => patterns.push(pattern),
                Err(error) => problems.error(format!("/script/hosts/{index}"), format!("{error}")),
            }
        }
        if patterns.len() == hosts.len() { Ok(Some(patterns)) } else { Err(Noted) }
    }
}

/// What is wrong was noted.
pub(super) struct Noted;

impl ScriptLimits {
    /// With what is usual where nothing is said.
    pub(super) fn limits(self) -> Limits {
        let usual = Limits::default();
        let kilo = |value: Option<u32>, usual: usize| value.map_or(usual, |value| (value as usize) << 10);
        Limits {
            cpu_ms: self.cpu_ms.unwrap_or(usual.cpu_ms),
            memory: self.memory_mb.map_or(usual.memory, |value| (value as usize) << 20),
            stack: kilo(self.stack_kb, usual.stack),
            output: kilo(self.result_kb, usual.output),
            asks: self.requests.unwrap_or(usual.asks),
            messages: self.messages.unwrap_or(usual.messages),
        }
    }
}
