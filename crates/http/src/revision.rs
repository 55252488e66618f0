//! Every answer says which revision of the definitions it was made from, so that clients and operators can tell a replica
//! that has not seen a change from one that has.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request};
use toolrail_core::{Revision, published_revision};

/// The header that names it.
const REVISION: HeaderName = HeaderName::from_static("toolrail-revision");

/// The revision that an answer may name.
pub(super) struct RevisionHeader {
    before: Option<Revision>,
    changes: bool,
}

impl RevisionHeader {
    /// Looks before anything is done with a request. What answers it takes this revision or a later one; a call that takes
    /// long must not claim one that came meanwhile.
    pub(super) fn before<B>(request: &Request<B>) -> Self {
        let changes = *request.method() != Method::GET && request.uri().path().starts_with("/admin");
        Self { before: published_revision(), changes }
    }

    /// Names it. What changes definitions is answered when the change is live, so it names what it has led to.
    pub(super) fn name(self, headers: &mut HeaderMap) {
        let revision = if self.changes { published_revision() } else { self.before };
        if let Some(revision) = revision {
            headers.insert(REVISION, HeaderValue::from(revision));
        }
    }
}
