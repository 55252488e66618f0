//! Where registered definitions are kept: one folder a database, all behind `toolrail_core::Store`, all passing the
//! behaviour suite in `tests/it/behaviour.rs`. Nothing here looks into a definition.

mod sqlite;

use std::path::Path;

use toolrail_core::StoreError;

pub use sqlite::SqliteStore;

/// Opens the embedded store in `folder`, creating and migrating it as needed. Several processes may do so at once.
pub async fn open_sqlite(folder: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(folder).await
}
