//! Figures about the tools that somebody sees.

use serde::Serialize;

use crate::catalog::Snapshot;
use crate::usage::Usage;

/// How many of the tools used most are told.
const MOST_USED: usize = 10;

/// Figures about the tools that somebody sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// How many tools there are, those that are only described among them.
    pub total_tools: usize,
    /// How many categories they are in.
    pub total_categories: usize,
    /// Those, sorted.
    pub categories: Vec<String>,
    /// The tools that were used most, if any were used.
    pub most_used: Vec<MostUsed>,
}

/// A tool that is used a lot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MostUsed {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// How often it was called.
    pub use_count: u64,
}

impl Statistics {
    /// Figures about the tools of a snapshot, for somebody of that tenant.
    pub fn of(snapshot: &Snapshot, tenant: Option<&str>, usage: &Usage) -> Self {
        let most_used =
            usage.most_used(snapshot, tenant, MOST_USED).into_iter().map(|(tool, used)| MostUsed {
                name: tool.name.to_string(),
                description: tool.description.as_deref().unwrap_or_default().to_owned(),
                use_count: used.count,
            });
        Self {
            total_tools: snapshot.tool_count(),
            total_categories: snapshot.category_count(),
            categories: snapshot.categories().into_iter().map(str::to_owned).collect(),
            most_used: most_used.collect(),
        }
    }
}
