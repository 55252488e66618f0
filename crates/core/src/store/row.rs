//! Definitions as they are stored, and changes to them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;

use super::{Revision, StoreError};

/// What a definition is kept under: names are unique within a tenant, and among the shared ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolKey {
    /// Whose it is; everybody's if absent.
    pub tenant: Option<String>,
    /// The folded name.
    pub name: String,
}

/// One definition as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Whose it is; everybody's if absent.
    pub tenant: Option<String>,
    /// The name, as written.
    pub name: String,
    /// Whether it may be called.
    pub enabled: bool,
    /// The definition as JSON text; may be anything if another program wrote it.
    pub config_json: String,
    /// The revision at which this row last changed; no two rows have the same.
    pub version: Revision,
    /// When it last changed, RFC 3339 in UTC.
    pub updated_at: String,
    /// Who changed it last, if known.
    pub updated_by: Option<String>,
}

/// What must be there for a change to be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// Whatever is there.
    #[default]
    Anything,
    /// Nothing of that name.
    Absent,
    /// That version.
    Version(Revision),
}

/// A change to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Whose definition; everybody's if absent.
    pub tenant: Option<String>,
    /// The name: as written to put, in any case otherwise.
    pub name: String,
    /// What must be there; otherwise nothing of the whole write is done.
    pub expected: Expected,
    /// What to do.
    pub action: Action,
}

/// What to do with a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Create or replace.
    Put {
        /// Whether it may be called.
        enabled: bool,
        /// The definition as JSON text.
        config_json: String,
    },
    /// Switch on or off; no effect on an unknown name.
    SetEnabled(bool),
    /// Remove for good; no effect on an unknown name.
    Purge,
}

/// Who makes a change, and from where. Kept with every version and in the audit record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// Who, such as the name of a key; `anonymous` where nobody is asked.
    pub who: String,
    /// The address the request came from.
    pub address: Option<String>,
    /// By what way: `admin-api`, `cli`, `import`, `sync`, `rollback`.
    pub via: String,
}

/// The address that a request came from, as the listener saw it. Stands among the extensions of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub std::net::IpAddr);

/// Says of a request that it came by TLS. Stands among its extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverTls;

/// What changed after some revision, in the order of the changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The revision that these changes lead to.
    pub revision: Revision,
    /// Rows that were created or changed, at most [`Changes::MOST`] and [`Changes::MOST_BYTES`] of them.
    pub rows: Vec<Row>,
    /// Definitions that were removed and have not come back.
    pub removed: Vec<ToolKey>,
    /// Whether more changed after `revision`: ask again from there.
    pub more: bool,
    /// How long ago the oldest of these changes was made, by the store's own clock.
    pub age: Option<Duration>,
}

impl Changes {
    /// The most rows that are read at once.
    pub const MOST: u32 = 2_000;

    /// The most bytes of definitions that are read at once, unless a single one has more.
    pub const MOST_BYTES: usize = 16 * 1024 * 1024;
}

/// The definitions of a store: reading them, hearing of changes, and making them.
#[async_trait]
pub trait DefinitionStore: Send + Sync {
    /// Rings when the store has heard of a change or may have missed one, if it can hear.
    fn bell(&self) -> Option<Arc<Notify>> {
        None
    }

    /// The current revision.
    async fn revision(&self) -> Result<Revision, StoreError>;

    /// How many definitions there are.
    async fn count(&self) -> Result<u64, StoreError>;

    /// What changed after `since`, oldest first and at most [`Changes::MOST`] rows; with 0, everything there is, from the
    /// start. Whoever goes on from each revision he got while there is more has seen every change.
    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError>;

    /// One row of exactly that tenant, or of the shared ones, by name in any case.
    async fn find(&self, tenant: Option<&str>, name: &str) -> Result<Option<Row>, StoreError>;

    /// Makes all the changes or none, durably and in their order, and returns the revision they lead to. Each that has an
    /// effect moves the revision by one and is entered in the audit record in the same transaction.
    async fn write(&self, changes: &[Change], author: &Author) -> Result<Revision, StoreError>;

    /// Compares every definition with the newest of its versions, and enters what happened behind the store's back (rows that
    /// came, changed or went while nothing kept the books) as changes made now; makes anew what keeps the books, where that is
    /// missing. Returns how many changes were entered: like all others, they move the revision.
    async fn reconcile(&self) -> Result<u64, StoreError> {
        Ok(0)
    }
}
