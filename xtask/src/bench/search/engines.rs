//! What is measured: our index, and the `bm25` crate over the same texts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bm25::{Document as Text, Language, SearchEngine, SearchEngineBuilder};
use toolrail_search::{
    Document, Index, Pattern, PatternQuery, PatternSearch, Progress, Query, Texts, search,
};

/// Something that finds tools by their number.
pub(super) trait Engine {
    /// Takes more tools in.
    fn add(&mut self, tools: Vec<(usize, Document<'_>)>);
    /// The best hits.
    fn find(&self, query: &str, limit: usize) -> Vec<usize>;
}

/// Our index, filled as the gateway does it: each change makes a new one, while the old one still answers.
#[derive(Default)]
pub(super) struct Ours(Index<usize>);

impl Engine for Ours {
    fn add(&mut self, tools: Vec<(usize, Document<'_>)>) {
        let mut index = self.0.clone();
        let key = |number: usize| Arc::from(number.to_string());
        let changes = tools.into_iter().map(|(number, tool)| (key(number), Some((tool, number))));
        index.apply(changes);
        self.0 = index;
    }

    fn find(&self, query: &str, limit: usize) -> Vec<usize> {
        let query = Query { text: query, limit, accept: &|_| true, prior: &|_| 0.0, learnt: None };
        search(&[&self.0], &query).iter().map(|hit| hit.value).collect()
    }
}

/// Our search by regular expressions: the first word of a query and whatever follows it. Each is read anew, as the gateway does.
#[derive(Default)]
pub(super) struct PatternEngine(Index<Arc<Texted>>);

/// What patterns are matched with.
pub(super) struct Texted {
    number: usize,
    name: String,
    description: String,
    tags: Vec<String>,
}

impl Engine for PatternEngine {
    fn add(&mut self, tools: Vec<(usize, Document<'_>)>) {
        let mut index = self.0.clone();
        let change = |(number, tool): (usize, Document<'_>)| {
            let tags = tool.tags.iter().map(|tag| (*tag).to_owned()).collect();
            let (name, description) = (tool.name.to_owned(), tool.description.to_owned());
            let texted = Arc::new(Texted { number, name, description, tags });
            (Arc::from(number.to_string()), texted)
        };
        let kept: Vec<(Arc<str>, Arc<Texted>)> = tools.iter().cloned().map(change).collect();
        let documents = tools.into_iter().map(|(_, tool)| tool);
        index.apply(kept.into_iter().zip(documents).map(|((key, kept), tool)| (key, Some((tool, kept)))));
        self.0 = index;
    }

    fn find(&self, query: &str, limit: usize) -> Vec<usize> {
        let word = query.split(|letter: char| !letter.is_alphanumeric()).find(|word| word.len() > 2);
        let Ok(pattern) = Pattern::new(&format!("{}.*", word.unwrap_or("newcomer"))) else {
            return Vec::new();
        };
        let until = Instant::now() + Duration::from_secs(1);
        let query = PatternQuery { pattern: &pattern, limit, texts: &texts_of, until };
        let indexes = [&self.0];
        let mut search = PatternSearch::new(&indexes, &query);
        while search.step(until) == Progress::Going {}
        search.hits().iter().map(|hit| hit.value.number).collect()
    }
}

fn texts_of(tool: &Arc<Texted>) -> Option<Texts<'_>> {
    let tags = tool.tags.iter().map(String::as_str).collect();
    Some(Texts { name: &tool.name, description: &tool.description, tags })
}

/// The crate as its documentation shows it, with the first tools as its measure of length.
#[derive(Default)]
pub(super) struct Crate(Option<SearchEngine<usize>>);

impl Engine for Crate {
    fn add(&mut self, tools: Vec<(usize, Document<'_>)>) {
        let texts = tools.iter().map(|(number, tool)| Text::new(*number, one_text(tool)));
        if let Some(engine) = &mut self.0 {
            texts.for_each(|text| engine.upsert(text));
        } else {
            let texts: Vec<_> = texts.collect();
            self.0 = Some(SearchEngineBuilder::with_documents(Language::English, texts).build());
        }
    }

    fn find(&self, query: &str, limit: usize) -> Vec<usize> {
        let hits = self.0.as_ref().map(|engine| engine.search(query, limit)).unwrap_or_default();
        hits.iter().map(|hit| hit.document.id).collect()
    }
}

/// All that is known of a tool.
fn one_text(tool: &Document<'_>) -> String {
    let mut words = vec![tool.name, tool.description];
    words.extend([tool.title, tool.category, tool.server, tool.server_description].into_iter().flatten());
    words.extend(&tool.tags);
    for parameter in &tool.parameters {
        words.push(parameter.name);
        words.extend(parameter.description);
    }
    words.join(" ")
}
