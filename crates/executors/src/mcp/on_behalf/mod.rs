//! In whose name a session with a server is held, where the definition asks in the name of whoever calls. Two callers, and two
//! tokens of one caller, never have one together.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use toolrail_core::{CallError, Caller, CallerToken, Secret};

use crate::request::OnBehalf;
use crate::runtime::Runtime;

/// Who holds a session: gives the token for each of its requests.
#[derive(Clone)]
pub(super) struct Holder {
    /// What tells it from every other; the same as long as the token of the caller is.
    mark: [u8; 32],
    token: CallerToken,
    way: Arc<OnBehalf>,
}

impl Holder {
    /// Whoever calls, if he came with a token that may be passed on.
    pub(super) fn of(caller: &dyn Caller, way: &Arc<OnBehalf>, server: &str) -> Result<Self, CallError> {
        let token = OnBehalf::token_of(caller, server)?.clone();
        let mut mark = [0; 32];
        mark.copy_from_slice(digest(&SHA256, token.reveal().as_bytes()).as_ref());
        Ok(Self { mark, token, way: Arc::clone(way) })
    }

    /// The token for a request of now.
    pub(super) async fn token(&self, runtime: &Runtime) -> Result<Secret, CallError> {
        self.way.token_for(&self.token, runtime).await
    }
}

impl PartialEq for Holder {
    fn eq(&self, other: &Self) -> bool {
        self.mark == other.mark
    }
}

impl Eq for Holder {}

impl Hash for Holder {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.mark.hash(state);
    }
}

impl std::fmt::Debug for Holder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Holder")
    }
}
