//! How definitions come in: sources are read (`source/`, `refresh.rs`), compiled (`compile/`), laid over one another
//! (`layer.rs`, `merge.rs`, `overlay.rs`) with what upstreams offer (`upstreams/`), and published (`publish.rs`).
//!
//! A source that cannot be read keeps what it gave: `last_good.rs` has that across restarts, `good_version.rs` does the same
//! for one row.

mod changes;
mod compile;
mod follow;
mod gathered;
mod good_version;
mod journal;
mod last_good;
mod layer;
mod limits;
mod merge;
mod overlay;
mod publish;
mod refresh;
mod reload;
mod source;
mod tracked;
mod upstreams;
mod withdrawn;

pub(crate) use compile::with_name;
pub use compile::{Compiler, Wrap};
pub use good_version::OnBroken;
pub(crate) use last_good::LastGood;
pub use limits::RegistryLimits;
pub use refresh::{LoadProgress, OnProgress};
pub(crate) use source::error_at;
pub use source::{
    DefinitionFiles, Draft, FileFault, FileSource, FixedSource, FoundScript, Loaded, Places, ReadDocument,
    ReadFile, ReadScript, Registration, ScriptFault, ScriptReader, Source, SourceError, StoreSource,
    is_script, read_at_most, read_bounded, read_documents, read_scripts, read_yaml,
    registry_tools_definition,
};
pub(crate) use upstreams::built_ins;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use toolrail_core::{HistoryStore, Problem, Upstream};

use self::layer::Layer;
use self::merge::MergeState;
use self::tracked::Tracked;
use self::upstreams::{Offerer, OffersBell, Upstreams};
use crate::catalog::Catalog;
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// Reads sources and upstreams, compiles what they give, and publishes it in the catalog.
pub struct Intake {
    catalog: Arc<Catalog>,
    compiler: Arc<Compiler>,
    /// Has the versions of definitions that are broken now.
    store: Arc<dyn HistoryStore>,
    /// Sorted, the winner first.
    sources: Vec<Tracked>,
    settings: IntakeSettings,
    state: Mutex<MergeState>,
    offers: Arc<OffersBell>,
}

/// Their history, and everything that definitions come from.
type Supply = (Arc<dyn HistoryStore>, Vec<Arc<dyn Source>>);

/// Hears which definitions a search would find otherwise than before.
pub(crate) type OnFound = Box<dyn Fn(Vec<EntryKey>) + Send + Sync>;

/// How an intake goes about it.
#[derive(Default)]
pub(crate) struct IntakeSettings {
    pub(crate) limits: RegistryLimits,
    pub(crate) progress: Option<OnProgress>,
    pub(crate) last_good: Option<LastGood>,
    pub(crate) on_broken: OnBroken,
    pub(crate) on_found: Option<OnFound>,
    /// What this program offers by itself, each under a name for people.
    pub(crate) natives: Vec<(String, Arc<dyn Upstream>)>,
}

impl Intake {
    /// Publishes nothing until the first [`Intake::refresh`].
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        compiler: Arc<Compiler>,
        (store, mut sources): Supply,
        mut settings: IntakeSettings,
    ) -> Self {
        sources.sort_by_key(|source| source.id());
        let layers = sources.iter().map(|source| Layer::new(source.id())).collect();
        let offers = Arc::new(OffersBell::default());
        let listener = upstreams::listener(&offers, catalog.feed());
        let mut upstreams =
            Upstreams::new(listener, Arc::clone(&compiler.uses), Arc::clone(&compiler.approvals));
        let natives = std::mem::take(&mut settings.natives);
        if !natives.is_empty() {
            let native = |(name, upstream)| native(name, upstream, &compiler);
            upstreams.natives = natives.into_iter().map(native).collect();
            offers.ring();
        }
        let sources = sources.into_iter().enumerate();
        Self {
            sources: sources.map(|(index, source)| Tracked::new(source, index)).collect(),
            state: Mutex::new(MergeState::new(layers, upstreams)),
            catalog,
            compiler,
            store,
            settings,
            offers,
        }
    }

    /// The published JSON Schema of a file of definitions.
    pub fn definition_schema(&self) -> &Value {
        self.compiler.schema()
    }

    /// Everything that would keep a document from being registered, or is poor about it.
    pub fn check(&self, document: &Value) -> Vec<Problem> {
        self.compiler.check(document, SourceId::Store)
    }

    /// What compiles definitions.
    pub(crate) fn compiler(&self) -> &Arc<Compiler> {
        &self.compiler
    }

    fn state(&self) -> MutexGuard<'_, MergeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who offers what this program has by itself: it comes after files and before the demonstration.
fn native(name: String, upstream: Arc<dyn Upstream>, compiler: &Compiler) -> Offerer {
    Offerer {
        key: EntryKey::new(None, &name),
        uses: Arc::clone(&compiler.uses),
        origin: name.clone(),
        name,
        kind: "native".into(),
        source: SourceId::Native,
        upstream,
        approval: None,
        approvals: Arc::clone(&compiler.approvals),
        document: "".into(),
    }
}
