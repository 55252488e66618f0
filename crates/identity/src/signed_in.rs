//! Those who have signed in here, for whoever administers them.

use serde::{Serialize, Serializer};
use toolrail_core::{Author, async_trait};

use crate::key_record;

/// A moment, in seconds since 1970; told as people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&key_record::told(self.0))
    }
}

/// Somebody's session, as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionView {
    /// What it is known by.
    pub id: String,
    /// Whose it is.
    pub name: String,
    /// For which application.
    pub client: String,
    /// Of which tenant; of none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// When it began.
    pub begun: Moment,
    /// When it is over at the latest.
    pub until: Moment,
}

/// Another key that signs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SigningRotation {
    /// What it is called.
    pub key: String,
    /// From when on it signs.
    pub signs_from: Moment,
    /// Until when what older ones have signed is good; nothing if it is not any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_until: Option<Moment>,
}

/// Those who have signed in.
#[async_trait]
pub trait SignedIn: Send + Sync {
    /// Those of a tenant, or all, the newest first; otherwise why that cannot be said.
    async fn sessions(&self, tenant: Option<&str>) -> Result<Vec<SessionView>, String>;

    /// Ends the session of that id, or all of the person of that name, among those of a tenant; gives how many.
    async fn end(&self, which: &str, tenant: Option<&str>, author: &Author) -> Result<usize, String>;

    /// Has another key sign; what older ones have signed stays good for so many seconds, or as long as any token may be.
    async fn rotate(&self, overlap: Option<u64>, author: &Author) -> Result<SigningRotation, String>;
}
