//! The part of the behaviour suite that is about what is learnt from use: counts, and queries after which tools were called.

use toolrail_core::{Forget, LearntLimits, LearntQuery, Store, ToolQueries};

use super::{Subject, by, key, purge, put, uses};

const LIMITS: LearntLimits = LearntLimits::ALL;

fn learnt(tenant: Option<&str>, name: &str, query: &str) -> LearntQuery {
    LearntQuery { tool: key(tenant, name), query: query.into(), times: 1 }
}

/// Everything that is known, in the order of the numbers.
async fn all_queries(store: &dyn Store) -> Vec<ToolQueries> {
    let mut all: Vec<ToolQueries> = Vec::new();
    loop {
        let page = store.queries_after(all.last().map_or(0, |last| last.number)).await.unwrap();
        if page.tools.is_empty() {
            return all;
        }
        assert!(page.tools.len() <= LIMITS.tools_at_once as usize);
        all.extend(page.tools);
    }
}

/// Whose, name, and the queries with how often.
type Told<'t> = (Option<&'t str>, &'t str, Vec<(&'t str, u32)>);

fn told(tools: &[ToolQueries]) -> Vec<Told<'_>> {
    tools
        .iter()
        .map(|tool| {
            let queries = tool.queries.iter().map(|past| (past.query.as_str(), past.times)).collect();
            (tool.tool.tenant.as_deref(), tool.tool.name.as_str(), queries)
        })
        .collect()
}

/// R75: whoever goes on from the last number reads only what is new.
pub(crate) async fn only_counts_that_changed_are_read(subject: &dyn Subject) {
    let (one, other) = (subject.open().await, subject.open().await);
    assert_eq!(one.learnt_number().await.unwrap(), 0);
    one.record_uses(&[uses("a", 1), uses("b", 2), uses("c", 3)]).await.unwrap();
    let seen = other.learnt_number().await.unwrap();
    assert_eq!(other.usage_after(0).await.unwrap().len(), 3);
    assert_eq!(other.usage_after(seen).await.unwrap(), []);
    other.record_uses(&[uses("b", 5)]).await.unwrap();
    let changed = one.usage_after(seen).await.unwrap();
    assert_eq!(changed.len(), 1);
    assert_eq!((changed[0].tool.name.as_str(), changed[0].count), ("b", 7));
    assert_eq!(changed[0].number, one.learnt_number().await.unwrap());
}

pub(crate) async fn many_counts_come_in_pages_and_each_once(subject: &dyn Subject) {
    const TOOLS: usize = 2_500;
    let store = subject.open().await;
    let many: Vec<_> = (0..TOOLS).map(|number| uses(&format!("t{number}"), 1)).collect();
    store.record_uses(&many).await.unwrap();
    let first = store.usage_after(0).await.unwrap();
    assert_eq!(first.len(), LIMITS.counts_at_once as usize);
    let rest = store.usage_after(first[first.len() - 1].number).await.unwrap();
    assert_eq!(first.len() + rest.len(), TOOLS);
    assert_eq!(store.usage().await.unwrap().len(), TOOLS);
}

/// However many count at once, no call is lost and whoever goes on from the last number he got misses nothing.
pub(crate) async fn counts_and_queries_of_replicas_at_once_add_up(subject: &dyn Subject) {
    const REPLICAS: u32 = 4;
    const ROUNDS: u32 = 20;
    let mut replicas = tokio::task::JoinSet::new();
    for replica in 0..REPLICAS {
        let store = subject.open().await;
        replicas.spawn(async move {
            for round in 0..ROUNDS {
                let own = format!("own{replica}");
                store.record_uses(&[uses("shared", 1), uses(&own, 2)]).await.unwrap();
                let query = format!("query {}", round % 3);
                let queries = [learnt(None, "shared", &query), learnt(None, &own, "mine")];
                store.record_queries(&queries).await.unwrap();
            }
        });
    }
    let reader = subject.open().await;
    let expected = REPLICAS * ROUNDS;
    let following = async {
        let (mut number, mut counted, mut learnt) = (0, 0, 0);
        while counted < i64::from(expected) || learnt < expected {
            let newest = reader.learnt_number().await.unwrap();
            for usage in reader.usage_after(number).await.unwrap() {
                counted = if usage.tool.name == "shared" { usage.count } else { counted };
            }
            for tool in reader.queries_after(number).await.unwrap().tools {
                let times = tool.queries.iter().map(|past| past.times).sum();
                learnt = if tool.tool.name == "shared" { times } else { learnt };
            }
            number = newest;
        }
        (counted, learnt)
    };
    let deadline = std::time::Duration::from_secs(30);
    let seen = tokio::time::timeout(deadline, following).await.expect("something was missed");
    replicas.join_all().await;
    assert_eq!(seen, (i64::from(expected), expected));
    let usage = reader.usage().await.unwrap();
    assert_eq!(usage.iter().map(|tool| tool.count).sum::<i64>(), i64::from(expected * 3));
    let queries = all_queries(&*reader).await;
    assert_eq!(queries.len(), 1 + REPLICAS as usize);
    let times = queries.iter().flat_map(|tool| &tool.queries).map(|past| past.times).sum::<u32>();
    assert_eq!(times, expected * 2);
}

pub(crate) async fn queries_are_learnt_for_each_tenant_and_change_no_revision(subject: &dyn Subject) {
    let (store, other) = (subject.open().await, subject.open().await);
    let before = store.write(&[put("Echo", "1")], &by("ann")).await.unwrap();
    let odd = "天气 \"quoted\" 'and' \u{0}null 😀 {{x}} %";
    let batch =
        [learnt(None, "echo", "say it"), learnt(Some("acme"), "echo", "say it"), learnt(None, "echo", odd)];
    store.record_queries(&batch).await.unwrap();
    let seen = other.learnt_number().await.unwrap();
    other.record_queries(&[learnt(Some("acme"), "echo", "say it")]).await.unwrap();
    let all = all_queries(&*store).await;
    let shared = (None, "echo", vec![(odd, 1), ("say it", 1)]);
    let acme = (Some("acme"), "echo", vec![("say it", 2)]);
    assert_eq!(told(&all), [shared, acme.clone()]);
    let page = store.queries_after(seen).await.unwrap();
    assert_eq!(told(&page.tools), [acme], "only what is new");
    assert!(all.iter().flat_map(|tool| &tool.queries).all(|past| past.last > 1_700_000_000));
    assert_eq!(store.revision().await.unwrap(), before);
    assert_eq!(told(&all_queries(&*subject.open().await).await).len(), 2, "it survives reopening");
}

pub(crate) async fn only_so_many_queries_are_kept_of_a_tool(subject: &dyn Subject) {
    let store = subject.open().await;
    let too_long = "x".repeat(LIMITS.longest + 1);
    let often = LearntQuery { times: 9, ..learnt(None, "t", "often") };
    store.record_queries(&[often, learnt(None, "t", &too_long)]).await.unwrap();
    for number in 0..30 {
        store.record_queries(&[learnt(None, "t", &format!("query {number}"))]).await.unwrap();
    }
    let all = all_queries(&*store).await;
    let told = told(&all);
    let [(_, _, queries)] = told.as_slice() else { panic!("one tool: {told:?}") };
    assert_eq!(queries.len(), LIMITS.queries);
    assert_eq!(queries[0], ("query 29", 1));
    assert!(queries.contains(&("often", 9)));
}

pub(crate) async fn many_tools_with_queries_come_in_pages(subject: &dyn Subject) {
    let store = subject.open().await;
    let many: Vec<_> = (0..450).map(|number| learnt(None, &format!("t{number}"), "q")).collect();
    store.record_queries(&many).await.unwrap();
    let mut all = all_queries(&*store).await;
    all.sort_by(|one, another| one.tool.cmp(&another.tool));
    all.dedup_by(|one, another| one.tool == another.tool);
    assert_eq!(all.len(), 450);
}

pub(crate) async fn what_was_learnt_about_a_tool_can_be_forgotten(subject: &dyn Subject) {
    let store = subject.open().await;
    store
        .record_queries(&[learnt(None, "a", "q"), learnt(None, "b", "q"), learnt(Some("acme"), "a", "q")])
        .await
        .unwrap();
    let seen = store.learnt_number().await.unwrap();
    let what = Forget::Tools(vec![key(None, "a"), key(None, "unknown")]);
    assert_eq!(store.forget_queries(&what).await.unwrap(), 1);
    let page = store.queries_after(seen).await.unwrap();
    assert_eq!((told(&page.tools), page.forgotten), (vec![(None, "a", Vec::new())], 0));
    assert_eq!(store.forget_queries(&what).await.unwrap(), 0, "nothing is there any more");
    store.record_queries(&[learnt(None, "a", "again")]).await.unwrap();
    let all = all_queries(&*store).await;
    assert_eq!(all.iter().map(|tool| tool.queries.len()).collect::<Vec<_>>(), [1, 1, 1]);
}

pub(crate) async fn all_of_a_tenant_or_everything_can_be_forgotten(subject: &dyn Subject) {
    let (store, other) = (subject.open().await, subject.open().await);
    let batch = [learnt(None, "a", "q"), learnt(Some("acme"), "a", "q"), learnt(Some("acme"), "b", "q")];
    store.record_queries(&batch).await.unwrap();
    let before = other.learnt_number().await.unwrap();
    assert_eq!(store.forget_queries(&Forget::Tenant(Some("acme".into()))).await.unwrap(), 2);
    let page = other.queries_after(before).await.unwrap();
    assert!(page.forgotten > before && page.tools.is_empty(), "others are told to begin anew: {page:?}");
    assert!(other.learnt_number().await.unwrap() >= page.forgotten);
    assert_eq!(told(&all_queries(&*other).await), [(None, "a", vec![("q", 1)])]);
    assert_eq!(store.forget_queries(&Forget::Unused { days: 1 }).await.unwrap(), 0);
    assert_eq!(store.queries_after(0).await.unwrap().forgotten, page.forgotten, "nothing was forgotten");
    assert_eq!(store.forget_queries(&Forget::Everything).await.unwrap(), 1);
    assert_eq!(all_queries(&*other).await, []);
    store.record_queries(&batch).await.unwrap();
    assert_eq!(all_queries(&*other).await.len(), 3);
}

pub(crate) async fn what_was_not_asked_for_long_is_forgotten(subject: &dyn Subject) {
    let store = subject.open().await;
    store.record_queries(&[learnt(None, "old", "q"), learnt(None, "new", "q")]).await.unwrap();
    let age = "UPDATE mcp_tool_query SET last_at = last_at - 90000 WHERE number = 2";
    subject.sql(age).await.unwrap();
    assert_eq!(store.forget_queries(&Forget::Unused { days: 1 }).await.unwrap(), 1);
    assert_eq!(told(&all_queries(&*store).await), [(None, "new", vec![("q", 1)])]);
}

pub(crate) async fn counts_of_a_tool_that_was_removed_begin_anew(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    store.record_uses(&[uses("a", 3)]).await.unwrap();
    store.write(&[purge("a"), put("a", "2")], &by("ann")).await.unwrap();
    let seen = store.learnt_number().await.unwrap();
    store.record_uses(&[uses("a", 1)]).await.unwrap();
    assert_eq!(store.usage_after(seen).await.unwrap()[0].count, 1);
}
