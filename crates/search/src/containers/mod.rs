//! What the index is made of: lists and tables that copies share until one of them changes, and their hash. They are by hand
//! because the persistent maps of rpds hold every entry behind a pointer of its own; here entries are a few bytes each and are read
//! in rows.

pub(crate) mod buckets;
pub(crate) mod packed;
pub(crate) mod pages;
pub(crate) mod quick;
