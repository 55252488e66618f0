//! What the index is made of: lists and tables that copies share until one of them changes, and their hash.

pub(crate) mod buckets;
pub(crate) mod packed;
pub(crate) mod pages;
pub(crate) mod quick;
