//! Sources: where definitions come from. A source says what it has or what changed; the registry compiles and merges.

mod documents;
mod files;
mod fixed;
mod half_written;
mod places;
mod registration;
mod registry_tools;
mod scripts;
mod store;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use toolrail_core::{Problem, Revision, Spot, StoreError, ToolKey};

pub use documents::{FileFault, ReadDocument, read_documents, read_yaml};
pub use files::{DefinitionFiles, FileSource, read_at_most, read_bounded};
pub use fixed::FixedSource;
pub use places::Places;
pub use registration::Registration;
pub(crate) use registration::error_at;
pub use registry_tools::definition as registry_tools_definition;
pub use scripts::{FoundScript, ReadFile, ReadScript, ScriptFault, ScriptReader, is_script, read_scripts};
pub use store::StoreSource;
pub(crate) use store::{Tenants, draft_of};

use crate::catalog::Serving;
use crate::source_id::SourceId;

/// A definition as a source holds it, not yet looked into.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Whose it is; everybody's if absent.
    pub tenant: Option<Arc<str>>,
    /// The name the source keeps it under, if it keeps one beside the document.
    pub name: Option<String>,
    /// The document as JSON text; whether it is JSON is found out when it is compiled.
    pub text: Arc<str>,
    /// Why there is no document, if the source knows already.
    pub fault: Option<String>,
    /// The place, for people.
    pub origin: String,
    /// Whether the source has it switched on.
    pub enabled: bool,
    /// The revision at which it last changed.
    pub version: Option<Revision>,
    /// When it last changed.
    pub updated_at: Option<String>,
    /// Who changed it last.
    pub updated_by: Option<String>,
    /// What to serve if it has errors, if the source knows already.
    pub good: Option<Serving>,
}

/// What a source has.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The source's revision after this.
    pub revision: Revision,
    /// Whether `drafts` is everything, or the beginning of that, rather than what changed.
    pub complete: bool,
    /// Whether there is more: load again from `revision`. Nothing is published before all of it was read.
    pub more: bool,
    /// Definitions.
    pub drafts: Vec<Draft>,
    /// Definitions that are gone.
    pub removed: Vec<ToolKey>,
    /// What is wrong with the source itself, such as a file that cannot be read.
    pub problems: Vec<Problem>,
    /// How long ago the oldest of these changes was made, by the source's own clock.
    pub age: Option<Duration>,
}

/// Why a source could not be read. Its last good definitions stay in place.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder failed.
    #[error("the tools folder {folder} cannot be read: {source}")]
    Folder {
        /// Which folder.
        folder: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It did not answer in time.
    #[error("{source_words} did not answer within {within:?}")]
    Slow {
        /// Which source.
        source_words: String,
        /// How long it was given.
        within: Duration,
    },
    /// It can be read, but not compared with what was written down of it: changes may be missing.
    #[error("{0}; until that is mended, changes by others may go unnoticed")]
    Unreconciled(String),
    /// Definitions could not be compiled, for a reason that is not in them.
    #[error("compiling was interrupted; this is a fault of the program: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// A source of definitions.
#[async_trait]
pub trait Source: Send + Sync {
    /// Which source it is.
    fn id(&self) -> SourceId;

    /// What it is, for people.
    fn describe(&self) -> String;

    /// What changed after `since`, or nothing if nothing did; everything, if `since` is absent.
    async fn load(&self, since: Option<Revision>) -> Result<Option<Loaded>, SourceError>;

    /// Where in a file stands what that pointer names in the definition from there, if it came from a file.
    fn spot(&self, _origin: &str, _pointer: &str) -> Option<Spot> {
        None
    }

    /// Compares what it has with what was written down of that, so that the revision tells whatever happened.
    async fn reconcile(&self) -> Result<(), SourceError> {
        Ok(())
    }

    /// How many definitions it has, if it keeps count.
    async fn count(&self) -> Result<Option<u64>, SourceError> {
        Ok(None)
    }

    /// Rings whenever the source should be looked at at once, if it can tell.
    fn bell(&self) -> Option<Arc<Notify>> {
        None
    }
}
