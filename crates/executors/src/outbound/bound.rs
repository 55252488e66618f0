//! Where the secrets of a request may go, looked at before each hop.

use std::sync::Arc;

use http::Uri;
use toolrail_core::{Binding, CallError, ErrorCode};

use super::OutboundError;
use super::failure::{origin, port};

/// The bindings of the secrets in a request; anywhere, where there are none.
#[derive(Clone, Debug, Default)]
pub struct Bound(Option<Arc<[(String, Binding)]>>);

impl Bound {
    /// These secrets may go only where they are bound to.
    pub fn new(bindings: impl Iterator<Item = (String, Binding)>) -> Self {
        let bindings: Vec<_> = bindings.collect();
        Self((!bindings.is_empty()).then(|| bindings.into()))
    }

    /// Refuses an address that one of the secrets may not go to.
    pub(super) fn check(&self, uri: &Uri) -> Result<(), OutboundError> {
        let host = uri.host().unwrap_or_default();
        let refused = self.0.iter().flat_map(|bindings| bindings.iter());
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
