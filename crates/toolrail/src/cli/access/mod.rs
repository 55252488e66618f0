//! Commands about who may do what.

pub(super) mod approvals;
pub(super) mod connections;
pub(super) mod explain;
pub(super) mod keys;
pub(super) mod permissions;
pub(super) mod sessions;
