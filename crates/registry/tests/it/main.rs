//! Sources become snapshots: precedence, reloads, broken definitions, pages, and what upstreams offer beside them. With real
//! files and a kind that echoes.

// The attribute tells clippy that helpers here may unwrap.
#[cfg(test)]
mod bounds;
mod definitions;
#[cfg(test)]
mod endpoints;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod fallback;
#[cfg(test)]
mod files;
#[cfg(test)]
mod following;
#[cfg(test)]
mod good_versions;
#[cfg(test)]
mod incremental;
#[cfg(test)]
mod learning;
#[cfg(test)]
mod learnt_rows;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod meanings;
mod measured;
#[cfg(test)]
mod others;
#[cfg(test)]
mod paging;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod search;
#[cfg(test)]
mod statistics;
#[cfg(test)]
mod store;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tenants;
#[cfg(test)]
mod unread;
#[cfg(test)]
mod upstreams;
