//! How much at once, how often and for how long.

use std::time::Duration;

/// Limits of a registry.
#[derive(Clone, Copy, Debug)]
pub struct RegistryLimits {
    /// The most entries on one page of a list.
    pub page_tools: usize,
    /// About the most bytes on one page of a list.
    pub page_bytes: usize,
    /// How often a store that cannot ring is asked for its revision.
    pub look: Duration,
    /// How often other sources are looked at, and those that ring all the same.
    pub poll: Duration,
    /// How long a folder that rings is given to finish what it is doing.
    pub settle: Duration,
    /// The longest time from the beginning of a refresh to the next, where changes come one after another. It is ten times
    /// as long as the refresh took, if that is less.
    pub window: Duration,
    /// How often a source is asked how many definitions it has, and to compare them with what was written down of them: for
    /// changes that its revision does not tell. More rarely where that takes long.
    pub recount: Duration,
    /// How long a source is given to answer one question. Stores give up earlier by themselves.
    pub patience: Duration,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        Self {
            page_tools: 10_000,
            page_bytes: 16 * 1024 * 1024,
            look: Duration::from_millis(100),
            poll: Duration::from_secs(1),
            settle: Duration::from_millis(100),
            window: Duration::from_millis(300),
            recount: Duration::from_secs(30),
            patience: Duration::from_secs(30),
        }
    }
}
