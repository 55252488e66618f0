//! Finding tools: the words of a query against the indexes of the spaces that somebody sees.

use std::sync::Arc;

pub use toolrail_search::{Hit, Matched, Method as SearchMethod, UnknownMethod};
use toolrail_search::{Index, Query};

use crate::registry::Registry;
use crate::snapshot::Snapshot;
use crate::tool::Tool;

/// What to look for.
#[derive(Clone, Debug)]
pub struct SearchRequest<'a> {
    /// What somebody wants to do, in words; with [`SearchMethod::Regex`] a pattern.
    pub query: &'a str,
    /// How to look.
    pub method: SearchMethod,
    /// The most hits, 1 to 100.
    pub limit: usize,
    /// Among which tools.
    pub among: Among,
    /// Whose conversation this is part of, so that it can be learnt what was called after it. See `Caller::conversation`.
    pub conversation: Option<&'a str>,
}

/// Among which tools to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Among {
    /// All that are seen.
    #[default]
    All,
    /// Those in frequent use: hot and warm ones.
    InUse,
}

/// What was found.
#[derive(Clone)]
pub struct SearchAnswer {
    /// The hits, the best first; never one without a score.
    pub hits: Vec<Hit<Arc<Tool>>>,
    /// What whoever asked should know, such as that a part of the search was not available.
    pub notes: Vec<String>,
}

/// Why nothing could be looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The query is empty, too long, or not a pattern.
    #[error("{0}")]
    Query(String),
}

impl Registry {
    /// Looks for tools among those of the snapshot.
    pub async fn search(
        &self,
        snapshot: &Snapshot,
        request: &SearchRequest<'_>,
    ) -> Result<SearchAnswer, SearchError> {
        if request.query.trim().is_empty() {
            return Err(SearchError::Query("the query is empty; say what the tool should do".to_owned()));
        }
        let mut index = Index::default();
        index.apply(snapshot.tools().iter().map(|tool| {
            let description = tool.description.as_deref().unwrap_or_default();
            let document =
                toolrail_search::Document { name: tool.name.as_str(), description, ..Default::default() };
            (Arc::from(tool.name.as_str()), Some((document, Arc::clone(tool))))
        }));
        let query = Query {
            text: request.query,
            limit: request.limit,
            accept: &|_| true,
            prior: &|_| 0.0,
            learnt: None,
        };
        Ok(SearchAnswer { hits: toolrail_search::search(&[&index], &query), notes: Vec::new() })
    }
}
