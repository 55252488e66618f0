//! The parts of a path that a route names. What cannot be read is told as everything else is, in JSON.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// What stands in the path, as text.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(found)) => Ok(Self(found)),
            Err(rejection) => {
                Err(Failure::bad_request(format!("the path cannot be read: {}", rejection.body_text())))
            }
        }
    }
}
