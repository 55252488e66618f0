//! Who may use a route: what its line in the table says.

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use toolrail_core::{ErrorCode, Principal, Role};

use crate::Admin;
use crate::failure::Failure;

/// Who may ask for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Everybody.
    Nothing,
    /// Whoever has that role.
    Role(Role),
    /// Whoever has that role and is of no tenant: it tells of all of them.
    RoleOverAll(Role),
}

/// What is served, for those who may ask for it.
pub(crate) fn only_for(needs: Needs, served: MethodRouter<Admin>) -> MethodRouter<Admin> {
    // Whoever is let in at all may read, so the most usual requests are not held up.
    if matches!(needs, Needs::Nothing | Needs::Role(Role::Read)) {
        return served;
    }
    served.layer(from_fn(move |request: Request, next: Next| pass(needs, request, next)))
}

async fn pass(needs: Needs, request: Request, next: Next) -> Response {
    let allowed = match request.extensions().get::<Principal>() {
        // Nobody was asked who he is.
        None => Ok(()),
        Some(principal) => check(needs, principal),
    };
    match allowed {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}

fn check(needs: Needs, principal: &Principal) -> Result<(), Failure> {
    let (role, over_all) = match needs {
        Needs::Nothing => return Ok(()),
        Needs::Role(role) => (role, false),
        Needs::RoleOverAll(role) => (role, true),
    };
    principal.must(role)?;
    let is_limited = principal.tenant().is_some() || principal.reach().is_some();
    if over_all && is_limited && matches!(principal, Principal::Known(_)) {
        let message = "this tells of all tenants and tools, and the key is of some; use one that sees all";
        return Err(Failure::new(ErrorCode::Forbidden, message));
    }
    Ok(())
}
