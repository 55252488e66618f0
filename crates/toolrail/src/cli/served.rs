//! What is told at the start about the endpoints: how many tools each has and lists, and what in their configuration means
//! nothing.

use std::sync::Arc;

use toolrail_registry::{Endpoint, Names, Registry, Snapshot};

use crate::print;

/// The most names in one warning.
const MOST_NAMES: usize = 20;

/// A line for each endpoint that does not list everything, and for at most so many groups.
pub(super) fn lines(registry: &Registry, most_groups: usize) -> Vec<String> {
    let endpoints = registry.endpoints();
    let groups = endpoints.groups().map(|group| line(registry, group)).take(most_groups);
    line(registry, endpoints.main()).into_iter().chain(groups.flatten()).collect()
}

/// What is served and listed at an endpoint, where that is not everything.
pub(super) fn line(registry: &Registry, endpoint: &Arc<Endpoint>) -> Option<String> {
    let snapshot = registry.catalogue_at(None, endpoint);
    warn_of_endpoint(&registry.snapshot(), endpoint, &snapshot);
    let listing = snapshot.listing();
    let listed = match listing.hidden() {
        0 => String::new(),
        _ => format!(", {} of them listed (mode {})", listing.listed, listing.mode.word()),
    };
    let Some(group) = &endpoint.group else {
        let count = print::counted(listing.total, "tool");
        return (!listed.is_empty()).then(|| format!("{count} at {}{listed}", toolrail_mcp::ENDPOINT));
    };
    let count = print::counted(snapshot.tool_count(), "tool");
    Some(format!("group {group}: {count} at {}/{group}{listed}", toolrail_mcp::ENDPOINT))
}

/// Tells of what in the configuration of an endpoint has no effect, or not the one that was meant.
fn warn_of_endpoint(all: &Snapshot, endpoint: &Endpoint, seen: &Snapshot) {
    let group = endpoint.group.as_deref();
    if group.is_some() && seen.tool_count() == 0 {
        tracing::warn!(group, "no tool fits the group; see what it chooses in the configuration");
    }
    let chosen = endpoint.choice.as_ref().map(|choice| missing(choice.names(), all)).unwrap_or_default();
    if !chosen.is_empty() {
        tracing::warn!(group, tools = chosen.join(", "), "the group names tools that there are not");
    }
    let pinned = missing(&endpoint.pinned, all);
    if !pinned.is_empty() {
        tracing::warn!(group, tools = pinned.join(", "), "tools are pinned that there are not");
    }
    let hidden = seen.listing().hidden();
    if hidden > 0 && !endpoint.discovery.finds() {
        tracing::warn!(
            group,
            hidden,
            "tools are not listed, and without the discovery tools no client can find them; switch discovery on, or list in full"
        );
    }
}

/// The names of which nobody has a definition, as far as they are worth telling.
fn missing<'n>(names: &'n Names, all: &Snapshot) -> Vec<&'n str> {
    let is_there = |name: &str| {
        let tenants = all.tenants().map(|tenant| Some(&**tenant));
        std::iter::once(None).chain(tenants).any(|tenant| all.entry_of(tenant, name).is_some())
    };
    names.iter().filter(|name| !is_there(name)).take(MOST_NAMES).collect()
}
