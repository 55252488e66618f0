//! Who may use which route, and the keys by which that is known.

pub(crate) mod keys;
pub(crate) mod permit;
