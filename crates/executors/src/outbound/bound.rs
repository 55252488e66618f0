//! Where the secrets of a request may go, looked at before each hop.

use std::sync::Arc;

use http::Uri;
use toolrail_core::{Binding, CallError, ErrorCode};

use super::OutboundError;
use super::failure::{origin, port};

/// The bindings of the secrets in a request; anywhere, where there are none.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    bindings: Option<Arc<[(String, Binding)]>>,
    /// Whether the request must not leave the origin it goes to.
    stays: bool,
    /// Whether it must not go to a link-local address, even if a name leads there.
    shuns_link_local: bool,
}

impl Bound {
    /// These secrets may go only where they are bound to.
    pub fn new(bindings: impl Iterator<Item = (String, Binding)>) -> Self {
        let bindings: Vec<_> = bindings.collect();
        Self {
            bindings: (!bindings.is_empty()).then(|| bindings.into()),
            stays: false,
            shuns_link_local: false,
        }
    }

    /// The same for a request that no redirect may lead to another origin, if `stays`.
    #[must_use]
    pub(crate) fn staying_if(self, stays: bool) -> Self {
        Self { stays, ..self }
    }

    /// The same for a request whose address nobody looked at beforehand.
    #[must_use]
    pub(crate) fn away_from_link_local(self) -> Self {
        Self { shuns_link_local: true, ..self }
    }

    /// Whether it must not go to a link-local address.
    pub(super) fn shuns_link_local(&self) -> bool {
        self.shuns_link_local
    }

    /// Whether a secret of the request may not go everywhere.
    pub(crate) fn is_bound(&self) -> bool {
        self.bindings.is_some()
    }

    /// Whether no redirect may lead the request to another origin.
    pub(super) fn stays(&self) -> bool {
        self.stays
    }

    /// Refuses an address that one of the secrets may not go to.
    pub(super) fn check(&self, uri: &Uri) -> Result<(), OutboundError> {
        let host = uri.host().unwrap_or_default();
        let refused = self.bindings.iter().flat_map(|bindings| bindings.iter());
        let refused =
            refused.filter(|(_, binding)| !binding.allows(host, port(uri))).map(|(key, _)| key).next();
        let Some(key) = refused else {
            return Ok(());
        };
        let message = format!(
            "the secret {key:?} must not go to {}; add the host to its `hosts` in the configuration if it may",
            origin(uri)
        );
        Err(OutboundError { error: CallError::new(ErrorCode::Forbidden, message), connected: false })
    }
}
