//! Finding tools by a pattern. Every tool has to be looked at, which costs more than anything else that a client may ask for:
//! only so many do it at once, only for so long, and no longer than somebody waits for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::SemaphorePermit;
use toolrail_search::{Hit, Pattern, PatternQuery, PatternSearch, Progress, Texts};

use super::Finder;
use super::search::{Search, SearchError};
use crate::catalog::Tool;

/// How many may be looked for at once.
pub(crate) const AT_ONCE: usize = 2;
/// How long one waits for its turn.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long one may take.
const LONGEST: Duration = Duration::from_millis(200);
/// How long one works before it lets others on.
const STEP: Duration = Duration::from_millis(5);

impl Finder {
    /// The right to look for a pattern.
    async fn pattern_turn(&self) -> Result<SemaphorePermit<'_>, SearchError> {
        let turn = tokio::time::timeout(PATIENCE, self.patterns.acquire()).await;
        turn.ok().and_then(Result::ok).ok_or(SearchError::Busy)
    }
}

impl Search<'_> {
    /// The hits of a pattern, and what is to be said about them. Whoever stops waiting stops the search.
    pub(crate) async fn by_pattern(&self) -> Result<(Vec<Hit<Arc<Tool>>>, Vec<String>), SearchError> {
        let _turn = self.finder.pattern_turn().await?;
        let pattern = let_others_on(|| Pattern::new(self.text));
        let pattern = pattern.map_err(|error| SearchError::Query(error.to_string()))?;
        let query = PatternQuery {
            pattern: &pattern,
            limit: self.request.limit,
            texts: &|tool: &Arc<Tool>| self.accepts(tool).then(|| texts_of(tool)),
            until: Instant::now() + LONGEST,
        };
        let indexes = self.indexes();
        let mut search = PatternSearch::new(&indexes, &query);
        let progress = loop {
            match let_others_on(|| search.step(Instant::now() + STEP)) {
                Progress::Going => tokio::task::yield_now().await,
                ended => break ended,
            }
        };
        let looked_at = search.looked_at();
        let mut notes: Vec<String> =
            (progress == Progress::GivenUp).then(|| self.given_up(looked_at)).into_iter().collect();
        let hits = search.hits();
        if hits.is_empty() && pattern.matches_nothing() {
            notes.push(
                "the pattern also matches where there is nothing, which counts for no tool; ask for one character at least, such as with + instead of *"
                    .to_owned(),
            );
        }
        Ok((hits, notes))
    }

    fn given_up(&self, looked_at: usize) -> String {
        let all = self.snapshot.tool_count();
        format!(
            "only {looked_at} of {all} tools were looked at, for the pattern takes long; use a simpler one, or search_method \"bm25\""
        )
    }
}

/// Does what may take a while; where there is one thread only, nobody else can be let on.
fn let_others_on<T>(work: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        _ => work(),
    }
}

fn texts_of(tool: &Tool) -> Texts<'_> {
    let description = tool.description.as_deref().unwrap_or_default();
    Texts { name: tool.name.as_str(), description, tags: tool.tags.iter().map(|tag| &**tag).collect() }
}

#[cfg(test)]
mod tests {
    use toolrail_core::{DefinitionForm, StoreError};

    use super::*;
    use crate::find::{Among, Only, SearchMethod, SearchRequest};
    use crate::{Compiler, LateStore, Registry, RegistryLimits};

    #[tokio::test(start_paused = true)]
    async fn only_so_many_patterns_are_looked_for_at_once() {
        let compiler = Compiler::new(DefinitionForm::new(Vec::new()), Box::new(|_, executor| executor));
        let unavailable =
            || Err(StoreError::Unavailable { store: "away".to_owned(), source: "it is away".into() });
        let away = LateStore::new("away", Box::new(move || Box::pin(async move { unavailable() })));
        let registry = Registry::new(compiler, Arc::new(away), Vec::new(), RegistryLimits::default());
        let request = SearchRequest {
            query: "a.*b",
            method: SearchMethod::Regex,
            limit: 5,
            among: Among::All,
            only: Only::default(),
            tenant: None,
            conversation: None,
        };
        let snapshot = registry.snapshot();
        let search =
            async || registry.finder().search(&snapshot, &request).await.map(|answer| answer.hits.len());
        let others = registry.finder().patterns.acquire_many(u32::try_from(AT_ONCE).unwrap()).await.unwrap();
        assert_eq!(search().await, Err(SearchError::Busy));
        drop(others);
        assert_eq!(search().await, Ok(0));
    }
}
