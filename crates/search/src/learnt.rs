//! What was learnt from use: which tools were called after which queries. Damped, so that a few calls never outweigh what a
//! definition says. A copy costs nothing.

/// Past queries by the key of the tool that was called after them.
#[derive(Clone, Debug, Default)]
pub struct Learnt {}

impl Learnt {
    /// The most queries that are kept for one tool.
    pub const MOST_QUERIES: usize = 20;

    /// Adds `times` calls of the tool of that key after that query.
    pub fn note(&mut self, _key: &str, _query: &str, _times: u32) {}

    /// Forgets what was learnt about a tool.
    pub fn forget(&mut self, _key: &str) {}
}
