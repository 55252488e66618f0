//! Where registered definitions are kept: one folder a database, all behind `toolrail_core::Store`, all passing the
//! behaviour suite in `tests/it/behaviour.rs`. A file beside the folders is what the databases share of the same role.
//! Nothing here looks into a definition.

mod acquire;
mod audit;
mod commit;
mod effect;
mod foreign;
mod json;
mod keys;
mod learnt;
mod limits;
mod mail;
mod mysql;
mod postgres;
mod records;
mod sqlite;
mod unfilled;
mod url;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use toolrail_core::{Store, StoreError};

pub use foreign::{
    Foreign, ForeignError, ForeignForm, ForeignLimits, ForeignTool, OnRows, Reading, read_foreign,
};
pub use sqlite::SqliteStore;
pub use url::{StoreUrl, WrongUrl};

/// The file of the embedded store in a data folder.
const FILE: &str = "toolrail.db";

impl StoreUrl {
    /// The embedded store in a data folder, which is the default.
    pub fn in_folder(folder: &Path) -> Self {
        Self::Sqlite(file_in(folder))
    }
}

/// Opens a store, creating and migrating it as needed. Several processes may do so at once.
pub fn open(url: &StoreUrl) -> Opening<'_, Arc<dyn Store>> {
    Box::pin(open_one(url))
}

/// A store on its way. It hides its type, so that no crate that waits for it has to compile the drivers again.
pub type Opening<'a, S> = Pin<Box<dyn Future<Output = Result<S, StoreError>> + Send + 'a>>;

async fn open_one(url: &StoreUrl) -> Result<Arc<dyn Store>, StoreError> {
    match url {
        StoreUrl::Sqlite(file) => Ok(Arc::new(SqliteStore::open(file).await?)),
        StoreUrl::Json(file) => Ok(Arc::new(json::JsonStore::open(file).await?)),
        StoreUrl::Memory => Ok(Arc::new(SqliteStore::open_in_memory().await?)),
        StoreUrl::Postgres(url) => postgres::open(url).await,
        StoreUrl::Mysql(url) => mysql::open(url).await,
    }
}

/// Opens the embedded store in `folder`, creating and migrating it as needed. Several processes may do so at once.
pub fn open_sqlite(folder: &Path) -> Opening<'_, SqliteStore> {
    Box::pin(async { SqliteStore::open(&file_in(folder)).await })
}

fn file_in(folder: &Path) -> PathBuf {
    folder.join(FILE)
}
