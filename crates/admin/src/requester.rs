//! Who sends a request, as whoever took it in found out: the listener, or the command line for a store of its own.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use toolrail_core::{Principal, Role};

/// Who sends a request; anonymous where nobody said.
pub(crate) struct Requester(pub(crate) Principal);

impl<S: Send + Sync> FromRequestParts<S> for Requester {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let principal: Principal = parts.extensions.get().cloned().unwrap_or_default();
        // Whoever may change definitions can read them, too.
        let administers = parts.uri.path().starts_with("/admin/") && principal.may(Role::Write);
        Ok(Self(if administers { principal.unruled() } else { principal }))
    }
}
