//! Finding tools: the words of a query against the indexes of the spaces that somebody sees.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use toolrail_core::{LearntLimits, ToolName};
use toolrail_search::{Extras, Meaning, Parameters, Query};
pub use toolrail_search::{Hit, Matched, Method as SearchMethod, UnknownMethod};

use super::Finder;
use super::meaning::Meant;
use crate::catalog::{LazyIndex, Snapshot, Tool, ToolIndex};
use crate::gauges;
use crate::usage::Temperature;

/// The most characters of a query: agents paste whole tasks.
pub const MOST_QUERY_CHARACTERS: usize = 32_000;
/// The most characters of a pattern.
pub const MOST_PATTERN_CHARACTERS: usize = 1_000;
/// The most characters that are read at the beginning and at the end of a query. What is wanted stands in one of them;
/// between them stands what it is wanted for.
const READ_OF_QUERY: (usize, usize) = (2_000, 1_000);
/// The most hits of one search.
pub const MOST_HITS: usize = 100;

/// What to look for.
#[derive(Clone, Debug)]
pub struct SearchRequest<'a> {
    /// What somebody wants to do, in words; with [`SearchMethod::Regex`] a pattern. At most [`MOST_QUERY_CHARACTERS`]
    /// or [`MOST_PATTERN_CHARACTERS`].
    pub query: &'a str,
    /// How to look.
    pub method: SearchMethod,
    /// The most hits, 1 to [`MOST_HITS`].
    pub limit: usize,
    /// Among which tools.
    pub among: Among,
    /// Only tools that are like this.
    pub only: Only<'a>,
    /// Whose past queries count; those of nobody's tenant if absent.
    pub tenant: Option<&'a str>,
    /// Whose conversation this is part of, so that it can be learnt what was called after it. See `Caller::conversation`.
    pub conversation: Option<&'a str>,
}

/// What tools must have to be looked at, in any case of letters; anything will do where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Only<'a> {
    /// Of that category.
    pub category: Option<&'a str>,
    /// With that tag.
    pub tag: Option<&'a str>,
}

/// [`Only`] with what is compared folded once.
struct Wanted {
    category: Option<String>,
    tag: Option<String>,
}

impl Wanted {
    fn new(only: &Only<'_>) -> Self {
        let folded = |word: Option<&str>| word.map(|word| word.trim().to_lowercase());
        Self { category: folded(only.category), tag: folded(only.tag) }
    }

    fn fits(&self, tool: &Tool) -> bool {
        let is = |wanted: &str, found: &str| found.trim().to_lowercase() == wanted;
        let of_category = |wanted: &str| tool.category.as_deref().is_some_and(|found| is(wanted, found));
        let with_tag = |wanted: &str| tool.tags.iter().any(|found| is(wanted, found));
        self.category.as_deref().is_none_or(of_category) && self.tag.as_deref().is_none_or(with_tag)
    }
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
    /// Too many patterns are being looked for.
    #[error("too many searches by pattern are running; try again in a moment, or use search_method \"bm25\"")]
    Busy,
}

impl SearchRequest<'_> {
    /// The query without what surrounds it, if this can be looked for.
    fn checked(&self) -> Result<&str, SearchError> {
        let query = self.query.trim();
        if query.is_empty() {
            return Err(SearchError::Query("the query is empty; say what the tool should do".to_owned()));
        }
        let characters = query.chars().count();
        let (what, most) = match self.method {
            SearchMethod::Regex => ("pattern", MOST_PATTERN_CHARACTERS),
            SearchMethod::Bm25 | SearchMethod::Hybrid => ("query", MOST_QUERY_CHARACTERS),
        };
        if characters > most {
            return Err(SearchError::Query(format!(
                "the {what} has {characters} characters; say in at most {most} what the tool should do"
            )));
        }
        if !(1..=MOST_HITS).contains(&self.limit) {
            return Err(SearchError::Limit(self.limit));
        }
        Ok(query)
    }
}

impl Finder {
    /// Looks for tools among those of the snapshot. Whatever is hidden in it is never found.
    pub async fn search(
        &self,
        snapshot: &Snapshot,
        request: &SearchRequest<'_>,
    ) -> Result<SearchAnswer, SearchError> {
        let began = Instant::now();
        let answer = self.look_for(snapshot, request).await?;
        gauges::searched(request.method, began);
        Ok(answer)
    }

    /// The same for ourselves, which nobody counts.
    pub(crate) async fn look_for(
        &self,
        snapshot: &Snapshot,
        request: &SearchRequest<'_>,
    ) -> Result<SearchAnswer, SearchError> {
        let (read, unread) = read_of(request.checked()?);
        let text = &*read;
        self.usage.ready_uses().await;
        ready_indexes(snapshot).await;
        let wanted = Wanted::new(&request.only);
        let search = Search { finder: self, snapshot, request, wanted, text, now: SystemTime::now() };
        let (hits, mut notes) = match request.method {
            SearchMethod::Bm25 => (search.by_words(None), Vec::new()),
            SearchMethod::Regex => search.by_pattern().await?,
            SearchMethod::Hybrid => {
                let (meant, notes) = self.meaning.meant(text).await;
                (search.by_words(meant.as_ref()), notes)
            }
        };
        self.note_search(request, text, &hits);
        notes.extend(unread);
        Ok(SearchAnswer { hits, notes })
    }

    /// Remembers what was found, for the calls that may follow in the same conversation. Patterns say nothing about what
    /// somebody wants.
    fn note_search(&self, request: &SearchRequest<'_>, query: &str, hits: &[Hit<Arc<Tool>>]) {
        let Some(conversation) = request.conversation.filter(|_| self.usage.learns()) else {
            return;
        };
        if request.method == SearchMethod::Regex || query.chars().nth(LearntLimits::ALL.longest).is_some() {
            return;
        }
        let names: Vec<String> = hits.iter().map(|hit| ToolName::fold(hit.value.name.as_str())).collect();
        let hits = names.iter().map(String::as_str);
        self.usage.note_search((request.tenant, conversation), query, hits);
    }
}

/// Waits until the indexes are made that this snapshot is searched by.
async fn ready_indexes(snapshot: &Snapshot) {
    let indexes = snapshot.spaces_seen().map(|space| &space.index);
    let unmade: Vec<Arc<LazyIndex>> = indexes.filter(|index| !index.is_made()).cloned().collect();
    if !unmade.is_empty() {
        let made = tokio::task::spawn_blocking(move || unmade.iter().for_each(|index| index.make()));
        // What could not be made beside is made by the search.
        let _ = made.await;
    }
}

/// As much of a query as is read, and a note if that is not all of it.
fn read_of(query: &str) -> (Cow<'_, str>, Option<String>) {
    let (first, last) = READ_OF_QUERY;
    let characters = query.chars().count();
    if characters <= first + last {
        return (Cow::Borrowed(query), None);
    }
    let begin: String = query.chars().take(first).collect();
    let end: String = query.chars().skip(characters - last).collect();
    let note = format!(
        "of the {characters} characters of the query the first {first} and the last {last} were read; a few words about one step find more"
    );
    (Cow::Owned(format!("{begin}\n{end}")), Some(note))
}

/// One search.
pub(crate) struct Search<'a> {
    pub(crate) finder: &'a Finder,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) request: &'a SearchRequest<'a>,
    wanted: Wanted,
    /// The query, checked.
    pub(crate) text: &'a str,
    now: SystemTime,
}

impl<'a> Search<'a> {
    /// By words, and by how near a tool is to what is meant, where that is known.
    fn by_words(&self, meant: Option<&Meant>) -> Vec<Hit<Arc<Tool>>> {
        let learnt = self.finder.usage.learnt_of(self.request.tenant);
        let accept = |tool: &Arc<Tool>| self.accepts(tool);
        let query = Query {
            text: self.text,
            limit: self.request.limit,
            accept: &accept,
            prior: &|tool| self.finder.usage.use_at(tool, self.now).prior(self.now),
            learnt: learnt.as_ref(),
        };
        let near = meant.map(|meant| meant.near(self.snapshot, &accept));
        let score = |tool: &Arc<Tool>| near.as_ref().map_or(0.0, |near| near.score(tool));
        let meaning = near.as_ref().map(|near| Meaning { score: &score, candidates: &near.candidates });
        let extras = Extras { parameters: &Parameters::default(), meaning };
        toolrail_search::search_with(&self.indexes(), &query, &extras)
    }

    pub(crate) fn indexes(&self) -> Vec<&'a ToolIndex> {
        self.snapshot.spaces_seen().map(|space| space.index.get()).collect()
    }

    pub(crate) fn accepts(&self, tool: &Arc<Tool>) -> bool {
        let is_wanted = || match self.request.among {
            Among::All => true,
            Among::InUse => self.finder.usage.use_at(tool, self.now).temperature > Temperature::Cold,
        };
        self.wanted.fits(tool) && self.snapshot.shows(tool) && is_wanted()
    }
}
