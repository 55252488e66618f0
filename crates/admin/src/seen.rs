//! What a request sees: everything, or what a group has.

use std::sync::Arc;

use toolrail_core::{ErrorCode, Principal};
use toolrail_registry::Snapshot;

use crate::Admin;
use crate::failure::Failure;

/// What somebody sees, in that group if one is named.
pub(crate) fn seen(
    admin: &Admin,
    principal: &Principal,
    group: Option<&str>,
) -> Result<Arc<Snapshot>, Failure> {
    let Some(group) = group else { return Ok(admin.registry.catalogue(principal)) };
    let endpoints = admin.registry.endpoints();
    let Some(endpoint) = endpoints.of(Some(group)) else {
        let names: Vec<&str> = endpoints.group_names().collect();
        let known = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
        let shown: String = group.chars().take(64).collect();
        return Err(Failure::new(
            ErrorCode::NotFound,
            format!("there is no group {shown:?}; groups: {known}"),
        ));
    };
    Ok(admin.registry.catalogue_at(principal, endpoint))
}
