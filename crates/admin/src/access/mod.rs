//! Who may use which route, the keys by which that is known, the rules in the store, why somebody may what, what a person has yet
//! to approve of, who has signed in, and what is open.

pub(crate) mod approvals;
pub(crate) mod connections;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod keys;
pub(crate) mod permissions;
pub(crate) mod permit;
pub(crate) mod sessions;
