//! Who may use a route: what its line in the table says.

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use toolrail_core::{ErrorCode, NeededRole, Principal, Role};

use crate::Admin;
use crate::failure::Failure;

/// Who may ask for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Everybody.
    Nothing,
    /// Whoever has that role.
    Role(Role),
    /// Whoever has that role and is of no tenant, and sees all tools: it tells of all of them.
    RoleOverAll(Role),
    /// Whoever has that role and is of no tenant, whatever rules keep from him.
    RoleOfNoTenant(Role),
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
        Err((failure, needed)) => {
            let mut answer = failure.into_response();
            if let Some(role) = needed {
                answer.extensions_mut().insert(NeededRole(role));
            }
            answer
        }
    }
}

/// Whether somebody sees some tools only. Rules keep nobody from administering.
fn is_limited(principal: &Principal) -> bool {
    if principal.may(Role::Write) {
        principal.unruled().reach().is_some()
    } else {
        principal.reach().is_some()
    }
}

/// Says also which role is missing, if it is that.
fn check(needs: Needs, principal: &Principal) -> Result<(), (Failure, Option<Role>)> {
    let has_tenant = principal.tenant().is_some() && matches!(principal, Principal::Known(_));
    let (role, refusal) = match needs {
        Needs::Nothing => return Ok(()),
        Needs::Role(role) => (role, None),
        Needs::RoleOverAll(role) => {
            let message =
                "this tells of all tenants and tools, and the key is of some; use one that sees all";
            (role, (has_tenant || is_limited(principal)).then_some(message))
        }
        Needs::RoleOfNoTenant(role) => {
            let message = "this is for all tenants, and the key is of one; use one of none";
            (role, has_tenant.then_some(message))
        }
    };
    principal.must(role).map_err(|error| (Failure::from(error), Some(role)))?;
    match refusal {
        Some(message) => Err((Failure::new(ErrorCode::Forbidden, message), None)),
        None => Ok(()),
    }
}
