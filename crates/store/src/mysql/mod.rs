//! MySQL and MariaDB.

use std::sync::Arc;

use toolrail_core::{Store, StoreError};
use url::Url;

use crate::url::without_password;

/// Opens the database at `url`, migrating it as needed.
pub(crate) async fn open(url: &Url) -> Result<Arc<dyn Store>, StoreError> {
    Err(StoreError::Unavailable { store: without_password(url), source: "not built yet".into() })
}
