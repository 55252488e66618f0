//! Finding tools: the words of a query against the indexes of the spaces that somebody sees.

use std::sync::Arc;
use std::time::SystemTime;

use toolrail_search::{
    Extras, Index, Meaning, Parameters, Pattern, PatternQuery, Query, Texts, search_pattern,
};
pub use toolrail_search::{Hit, Matched, Method as SearchMethod, UnknownMethod};

use crate::registry::Registry;
use crate::snapshot::Snapshot;
use crate::temperature::Temperature;
use crate::tool::Tool;

/// The most characters of a query. A longer one is refused rather than cut: what was meant may stand at its end.
pub const MOST_QUERY_CHARACTERS: usize = 1_000;
/// The most hits of one search.
pub const MOST_HITS: usize = 100;

/// What to look for.
#[derive(Clone, Debug)]
pub struct SearchRequest<'a> {
    /// What somebody wants to do, in words; with [`SearchMethod::Regex`] a pattern. At most [`MOST_QUERY_CHARACTERS`].
    pub query: &'a str,
    /// How to look.
    pub method: SearchMethod,
    /// The most hits, 1 to [`MOST_HITS`].
    pub limit: usize,
    /// Among which tools.
    pub among: Among,
    /// Whose past queries count; those of nobody's tenant if absent.
    pub tenant: Option<&'a str>,
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
    /// That many hits cannot be asked for.
    #[error("the limit is {0}; ask for 1 to {MOST_HITS} tools")]
    Limit(usize),
}

impl SearchRequest<'_> {
    /// The query without what surrounds it, if this can be looked for.
    fn checked(&self) -> Result<&str, SearchError> {
        let query = self.query.trim();
        if query.is_empty() {
            return Err(SearchError::Query("the query is empty; say what the tool should do".to_owned()));
        }
        let characters = query.chars().count();
        if characters > MOST_QUERY_CHARACTERS {
            return Err(SearchError::Query(format!(
                "the query has {characters} characters; say in at most {MOST_QUERY_CHARACTERS} what the tool should do"
            )));
        }
        if !(1..=MOST_HITS).contains(&self.limit) {
            return Err(SearchError::Limit(self.limit));
        }
        Ok(query)
    }
}

impl Registry {
    /// Looks for tools among those of the snapshot. Whatever is hidden in it is never found.
    pub async fn search(
        &self,
        snapshot: &Snapshot,
        request: &SearchRequest<'_>,
    ) -> Result<SearchAnswer, SearchError> {
        let text = request.checked()?;
        let (meant, notes) = match request.method {
            SearchMethod::Hybrid => self.meant(text).await,
            SearchMethod::Bm25 | SearchMethod::Regex => (None, Vec::new()),
        };
        self.ready_uses().await;
        let learnt = self.learnt_of(request.tenant);
        let now = SystemTime::now();
        let is_wanted = |tool: &Arc<Tool>| match request.among {
            Among::All => true,
            Among::InUse => self.use_at(tool, now).temperature > Temperature::Cold,
        };
        let accept = |tool: &Arc<Tool>| snapshot.shows(tool) && is_wanted(tool);
        let indexes: Vec<&Index<Arc<Tool>>> = snapshot.spaces_seen().map(|space| &space.index).collect();
        if request.method == SearchMethod::Regex {
            let pattern = Pattern::new(text).map_err(|error| SearchError::Query(error.to_string()))?;
            // Every tool is looked at, which may take a while.
            let hits = tokio::task::block_in_place(|| by_pattern(&indexes, &pattern, request.limit, &accept));
            return Ok(SearchAnswer { hits, notes });
        }
        let query = Query {
            text,
            limit: request.limit,
            accept: &accept,
            prior: &|tool| self.use_at(tool, now).prior(now),
            learnt: learnt.as_ref(),
        };
        let near = meant.as_ref().map(|meant| meant.near(snapshot, &accept));
        let score = |tool: &Arc<Tool>| near.as_ref().map_or(0.0, |near| near.score(tool));
        let meaning = near.as_ref().map(|near| Meaning { score: &score, candidates: &near.candidates });
        let extras = Extras { parameters: &Parameters::default(), meaning };
        let hits = toolrail_search::search_with(&indexes, &query, &extras);
        self.note_search(request, text, &hits);
        Ok(SearchAnswer { hits, notes })
    }
}

fn by_pattern(
    indexes: &[&Index<Arc<Tool>>],
    pattern: &Pattern,
    limit: usize,
    accept: &(dyn Fn(&Arc<Tool>) -> bool + Sync),
) -> Vec<Hit<Arc<Tool>>> {
    fn texts(tool: &Tool) -> Texts<'_> {
        let description = tool.description.as_deref().unwrap_or_default();
        Texts { name: tool.name.as_str(), description, tags: tool.tags.iter().map(|tag| &**tag).collect() }
    }
    search_pattern(
        indexes,
        &PatternQuery { pattern, limit, texts: &|tool: &Arc<Tool>| accept(tool).then(|| texts(tool)) },
    )
}
