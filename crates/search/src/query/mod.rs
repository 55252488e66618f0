//! What a query asks for: its words with their weights and other names, and what the indexes have of them.

pub(crate) mod known;
pub(crate) mod parsed;
pub(crate) mod probe;
pub(crate) mod spelling;
