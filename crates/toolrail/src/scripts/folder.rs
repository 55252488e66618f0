//! Reads the scripts of a folder.

use std::sync::Arc;

use toolrail_executors::Scripts;
use toolrail_registry::{ReadFile, ReadScript, ScriptFault, ScriptReader};

/// Reads the scripts of a folder.
pub(super) struct FolderReader(pub(super) Arc<Scripts>);

impl ScriptReader for FolderReader {
    fn read(&self, name: &str, source: String, read: ReadFile<'_>) -> Result<ReadScript, ScriptFault> {
        let read = self.0.definition(name, source, read);
        let (definition, imports) = read.map_err(|faults| {
            // They are told one at a time: the next one shows when this one is mended.
            let first = faults.into_iter().next();
            first.map_or_else(
                || ScriptFault { message: "cannot be loaded".to_owned(), file: name.to_owned(), place: None },
                |fault| ScriptFault { message: fault.message, file: fault.file, place: fault.place },
            )
        })?;
        Ok(ReadScript { definition, imports })
    }
}
