//! The semantic tier: tools that share no word with a query are found by what it means, as soon as their vectors are made
//! in the background; and search goes on by words while there are none.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolrail_core::{EmbedError, Embedder, Embedding, Reach, async_trait};
use toolrail_registry::{Among, Only, Registry, SearchAnswer, SearchMethod, SearchRequest};

use crate::rows::{of, purge};
use crate::search::{Fixture, fixture_with, said};

/// Knows two subjects, by a few words.
#[derive(Default)]
struct Subjects {
    is_down: AtomicBool,
    is_english: AtomicBool,
    texts: Mutex<Vec<String>>,
    asked: AtomicUsize,
}

impl Subjects {
    fn vector(text: &str) -> Option<Embedding> {
        let count = |words: &[&str]| words.iter().filter(|word| text.contains(**word)).count();
        let weather = count(&["weather", "forecast", "drizzlewear", "雨伞"]);
        let money = count(&["invoice", "bill", "owes"]);
        Embedding::towards(&[weather, money].map(|count| f32::from(u8::try_from(count).unwrap())))
    }

    fn check(&self) -> Result<(), EmbedError> {
        let down = || EmbedError { message: "the subjects are away".into(), retry_after: Duration::ZERO };
        if self.is_down.load(Ordering::SeqCst) { Err(down()) } else { Ok(()) }
    }
}

#[async_trait]
impl Embedder for Subjects {
    fn model(&self) -> &'static str {
        "subjects"
    }

    fn reach(&self) -> Reach {
        if self.is_english.load(Ordering::SeqCst) { Reach::Latin } else { Reach::AnyScript }
    }

    fn batch(&self) -> usize {
        2
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Option<Embedding>>, EmbedError> {
        assert!(texts.len() <= 2);
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.check()?;
        self.texts.lock().unwrap().extend(texts.iter().cloned());
        Ok(texts.iter().map(|text| Self::vector(text)).collect())
    }

    async fn embed_query(&self, text: &str) -> Result<Option<Embedding>, EmbedError> {
        self.check()?;
        Ok(Self::vector(text))
    }
}

async fn asked(registry: &Registry, tenant: Option<&str>, query: &str) -> SearchAnswer {
    let request = SearchRequest {
        query,
        method: SearchMethod::Hybrid,
        limit: 5,
        among: Among::All,
        only: Only::default(),
        tenant,
        conversation: None,
    };
    registry.finder().search(&registry.catalogue(tenant), &request).await.unwrap()
}

fn names(answer: &SearchAnswer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.value.name.as_str()).collect()
}

fn with_subjects() -> (Fixture, Arc<Subjects>) {
    let subjects = Arc::new(Subjects::default());
    let embedder = Arc::<Subjects>::clone(&subjects);
    (fixture_with(&[], |builder| builder.with_embedder(Ok(embedder))), subjects)
}

const SOON: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_found_by_its_meaning_without_a_word_in_common() {
    let (Fixture { rows, registry }, _) = with_subjects();
    rows.commit(&[
        said("forecast", "tomorrow's weather"),
        said("invoice", "who must pay"),
        said("other", "else"),
    ]);
    registry.refresh().await;
    let before = asked(&registry, None, "drizzlewear").await;
    assert!(
        before.hits.is_empty() && before.notes[0].starts_with("3 tools have no vectors yet"),
        "{:?}",
        before.notes
    );
    registry.finder().await_meanings(SOON).await;
    let after = asked(&registry, None, "drizzlewear").await;
    assert_eq!((names(&after), after.notes.is_empty()), (vec!["forecast"], true));
    assert_eq!(after.hits[0].matched[0].field, "meaning");
    assert!(after.hits[0].score > 0.0 && after.hits[0].score <= 1.0, "R63");
    rows.commit(&[purge("forecast")]);
    registry.refresh().await;
    assert!(asked(&registry, None, "drizzlewear").await.hits.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn words_and_meaning_together_are_better_than_either() {
    let (Fixture { rows, registry }, _) = with_subjects();
    rows.commit(&[
        said("one", "a report of weather"),
        said("two", "a report of bills"),
        said("three", "a report"),
    ]);
    registry.refresh().await;
    registry.finder().await_meanings(SOON).await;
    assert_eq!(names(&asked(&registry, None, "report: who owes what").await)[0], "two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_finds_its_own_over_the_shared_ones_and_nobody_elses() {
    let (Fixture { rows, registry }, _) = with_subjects();
    let own = of("green", said("forecast", "bills of customers"));
    rows.commit(&[said("forecast", "weather"), own, of("blue", said("secret", "weather"))]);
    registry.refresh().await;
    registry.finder().await_meanings(SOON).await;
    assert_eq!(names(&asked(&registry, None, "drizzlewear").await), ["forecast"]);
    let of_blue = asked(&registry, Some("blue"), "drizzlewear").await;
    let mut of_blue = names(&of_blue);
    of_blue.sort_unstable();
    assert_eq!(of_blue, ["forecast", "secret"]);
    let of_green = asked(&registry, Some("green"), "who owes").await;
    assert_eq!(names(&of_green), ["forecast"]);
    assert_eq!(of_green.hits[0].value.tenant.as_deref(), Some("green"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedder_that_fails_leaves_the_words_and_comes_back_by_itself() {
    let (Fixture { rows, registry }, subjects) = with_subjects();
    subjects.is_down.store(true, Ordering::SeqCst);
    rows.commit(&[said("forecast", "weather")]);
    registry.refresh().await;
    let registry = Arc::new(registry);
    let following = Arc::clone(&registry);
    let follower = tokio::spawn(async move { following.follow().await });
    let words = asked(&registry, None, "weather").await;
    assert_eq!(names(&words), ["forecast"]);
    assert_eq!(
        words.notes,
        ["semantic search is not available: the subjects are away; the words alone were looked for"]
    );
    let until = tokio::time::Instant::now() + SOON;
    while subjects.asked.load(Ordering::SeqCst) == 0 && tokio::time::Instant::now() < until {
        tokio::task::yield_now().await;
    }
    subjects.is_down.store(false, Ordering::SeqCst);
    while asked(&registry, None, "drizzlewear").await.hits.is_empty() {
        assert!(tokio::time::Instant::now() < until, "it was not found in time");
        tokio::task::yield_now().await;
    }
    follower.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_changed_gets_a_new_vector() {
    let (Fixture { rows, registry }, subjects) = with_subjects();
    rows.commit(&[said("a", "weather"), said("b", "bills"), said("c", "weather")]);
    registry.refresh().await;
    registry.finder().await_meanings(SOON).await;
    rows.commit(&[said("b", "a drizzlewear")]);
    registry.refresh().await;
    registry.finder().await_meanings(SOON).await;
    let texts = subjects.texts.lock().unwrap().clone();
    assert_eq!(texts, ["a. weather. n n", "b. bills. n n", "c. weather. n n", "b. a drizzlewear. n n"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_english_table_is_not_asked_about_chinese() {
    let (Fixture { rows, registry }, subjects) = with_subjects();
    subjects.is_english.store(true, Ordering::SeqCst);
    rows.commit(&[said("weather", "weather"), said("chinese", "雨伞 雨伞 雨伞")]);
    registry.refresh().await;
    registry.finder().await_meanings(SOON).await;
    assert_eq!(names(&asked(&registry, None, "drizzlewear").await), ["weather"]);
    let chinese = asked(&registry, None, "雨伞").await;
    assert_eq!((names(&chinese), chinese.notes.is_empty()), (vec!["chinese"], true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_that_cannot_be_used_is_told() {
    let broken = Err("table: it is no safetensors file".into());
    let Fixture { rows, registry } = fixture_with(&[], |builder| builder.with_embedder(broken));
    rows.commit(&[said("a", "weather")]);
    registry.refresh().await;
    let answer = asked(&registry, None, "weather").await;
    assert_eq!(names(&answer), ["a"]);
    assert!(answer.notes[0].contains("no safetensors file"), "{:?}", answer.notes);
}
