//! The workers of all scripts, and the gateway whose tools they may call; and scripts in files as definitions (`from_file`).

mod from_file;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use toolrail_core::Tools;
use toolrail_scripts::{Adopted, Fault, Inspection, Inspector, Pool, PoolSettings, Program};

use from_file::definition_of;

/// The workers of all scripts. None is started before a script is there.
pub struct Scripts {
    inspector: Inspector,
    pool: Arc<Pool>,
    tools: OnceLock<Arc<dyn Tools>>,
}

impl std::fmt::Debug for Scripts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Scripts").field("pool", &self.pool).finish_non_exhaustive()
    }
}

impl Scripts {
    /// Workers that are processes of that binary.
    pub fn new(binary: &Path) -> Self {
        Self {
            inspector: Inspector::new(binary),
            pool: Pool::new(PoolSettings::new(binary)),
            tools: OnceLock::new(),
        }
    }

    /// Workers that are processes of the binary that runs.
    pub fn of_this_binary() -> Self {
        Self::new(&std::env::current_exe().unwrap_or_default())
    }

    /// Lets scripts call these tools.
    pub fn connect(&self, tools: Arc<dyn Tools>) {
        let _ = self.tools.set(tools);
    }

    /// The tools that scripts may call.
    pub(crate) fn tools(&self) -> Option<&Arc<dyn Tools>> {
        self.tools.get()
    }

    /// What a program exports.
    pub(crate) fn inspect(&self, program: &Program) -> Result<Arc<Inspection>, Vec<Fault>> {
        self.inspector.inspect(program)
    }

    /// The definition that stands in a file, if it is a tool, and the files that it imports; `read` gives them.
    pub fn definition(
        &self,
        entry: &str,
        source: String,
        read: &dyn Fn(&str) -> Option<Result<String, String>>,
    ) -> Result<(Option<Value>, Vec<String>), Vec<Fault>> {
        let (program, seen) = self.inspector.gather(entry, source, read)?;
        let fault = |message| vec![Fault { file: entry.to_owned(), place: None, message }];
        let definition = definition_of(&program, &seen).map_err(fault)?;
        Ok((definition, program.files.into_keys().filter(|name| name != entry).collect()))
    }

    pub(crate) fn adopt(&self, program: Program, said: impl Fn(&str) + Send + Sync + 'static) -> Adopted {
        self.pool.adopt(program, said)
    }
}
