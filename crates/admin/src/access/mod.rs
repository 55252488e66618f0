//! Who may use which route, the keys by which that is known, the rules in the store, and why somebody may what.

pub(crate) mod explain;
pub(crate) mod keys;
pub(crate) mod permissions;
pub(crate) mod permit;
