//! Scripts in folders of tools, read by the workers that carry them out; and this binary as such a worker. A build without
//! scripts leaves both out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use toolrail_executors::Scripts;
#[cfg(feature = "scripts")]
use toolrail_registry::read_scripts;
use toolrail_registry::{FileSource, FoundScript};

#[cfg(feature = "scripts")]
mod folder;

/// Carries scripts out until the gateway ends, if this process was started for that.
pub(crate) fn work() -> Option<ExitCode> {
    #[cfg(feature = "scripts")]
    if std::env::args_os().nth(1).is_some_and(|word| word == toolrail_scripts::WORKER_COMMAND) {
        return Some(toolrail_scripts::run_worker());
    }
    None
}

/// What scripts are kept from on this machine, and whether they are; nothing if there are none.
pub(crate) fn walls() -> Option<Vec<(String, bool)>> {
    #[cfg(feature = "scripts")]
    {
        let walls = toolrail_scripts::walls(&std::env::current_exe().ok()?).ok()?;
        Some(walls.into_iter().map(|wall| (wall.keeps_from, wall.refused.is_some())).collect())
    }
    #[cfg(not(feature = "scripts"))]
    None
}

/// Reads scripts as the gateway would: the definition of each, or what is wrong with it.
pub(crate) fn read(folder: &Path, paths: &[PathBuf]) -> Vec<FoundScript> {
    #[cfg(feature = "scripts")]
    let found = read_scripts(&folder::FolderReader(Arc::new(Scripts::of_this_binary())), folder, paths);
    #[cfg(not(feature = "scripts"))]
    let found = {
        let _ = (folder, paths);
        Vec::new()
    };
    found
}

/// The definitions of a folder, and its scripts.
pub(crate) fn source(folder: &Path, scripts: &Arc<Scripts>) -> FileSource {
    let source = FileSource::new(folder);
    #[cfg(feature = "scripts")]
    let source = source.with_scripts(Arc::new(folder::FolderReader(Arc::clone(scripts))));
    #[cfg(not(feature = "scripts"))]
    let _ = scripts;
    source
}
