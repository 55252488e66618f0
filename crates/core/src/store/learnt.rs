//! What is learnt from use and kept: how often tools were called, and after which queries. One number, +1 with every row
//! that is written, lets every gateway on a store read only what is new.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{StoreError, ToolKey};

/// What a store keeps of what is learnt, and gives at once.
#[derive(Clone, Copy, Debug)]
pub struct LearntLimits {
    /// The most queries of one tool.
    pub queries: usize,
    /// The longest query, in characters; longer ones are not learnt.
    pub longest: usize,
    /// For how many days a query is kept after it last led to a call.
    pub days: u32,
    /// The most counts that are read at once.
    pub counts_at_once: u32,
    /// The most tools whose queries are read at once.
    pub tools_at_once: u32,
}

impl LearntLimits {
    /// Those of every store.
    pub const ALL: Self =
        Self { queries: 20, longest: 1_000, days: 180, counts_at_once: 2_000, tools_at_once: 200 };
}

/// Calls of one tool, to be added to its count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uses {
    /// Which tool.
    pub tool: ToolKey,
    /// How many calls.
    pub calls: u32,
}

/// How much a tool has been used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Which tool.
    pub tool: ToolKey,
    /// How many calls, ever.
    pub count: i64,
    /// When last, RFC 3339 in UTC.
    pub last_used: String,
    /// The number of the write that led to this.
    pub number: i64,
}

/// A query after which a tool was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearntQuery {
    /// Who called, and the folded name of the tool as that tenant sees it: its own or a shared one.
    pub tool: ToolKey,
    /// What was looked for.
    pub query: String,
    /// In how many conversations.
    pub times: u32,
}

/// What is known of one query after which a tool was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastQuery {
    /// What was looked for.
    pub query: String,
    /// In how many conversations.
    pub times: u32,
    /// When last, in seconds since 1970.
    pub last: i64,
}

/// The queries after which one tool was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolQueries {
    /// Who called, and which tool.
    pub tool: ToolKey,
    /// The number of the write that led to this.
    pub number: i64,
    /// The queries; none if they were forgotten.
    pub queries: Vec<PastQuery>,
}

/// The next of what was learnt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPage {
    /// The number of the last time that more than single tools was forgotten: whoever read before that begins anew.
    pub forgotten: i64,
    /// Tools with all their queries, in the order of their numbers.
    pub tools: Vec<ToolQueries>,
}

/// What to forget of the queries that were learnt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forget {
    /// All about these tools.
    Tools(Vec<ToolKey>),
    /// All that was learnt from a tenant, or from those without one.
    Tenant(Option<String>),
    /// Everything.
    Everything,
    /// All about tools of which nothing was learnt for so many days.
    Unused {
        /// How many.
        days: u32,
    },
}

/// How long a query counts in full when room is needed; from then on half for each time as long.
const HALF_LIFE: i64 = 30 * DAY;
const DAY: i64 = 86_400;

impl PastQuery {
    /// Adds queries to those that are known, and drops those of least worth if they become too many. What has just been
    /// added stays, or nothing new could ever grow beside what is old.
    pub fn add(known: &mut Vec<Self>, added: &[(&str, u32)], now: i64) {
        let kept = i64::from(LearntLimits::ALL.days) * DAY;
        known.retain(|past| now - past.last < kept);
        let mut fresh = 0;
        for (query, times) in added.iter().filter(|(query, _)| is_kept(query)) {
            let place = known.iter().position(|past| past.query == **query);
            let before = place.map(|place| {
                fresh -= usize::from(place < fresh);
                known.remove(place)
            });
            let times = before.map_or(0, |past| past.times).saturating_add(*times);
            known.insert(0, Self { query: (*query).to_owned(), times, last: now });
            fresh += 1;
        }
        let most = LearntLimits::ALL.queries;
        if known.len() > most {
            let rest = known.get_mut(fresh.min(most)..).unwrap_or_default();
            rest.sort_by_key(|past| std::cmp::Reverse(past.worth(now)));
            known.truncate(most);
        }
    }

    /// The more conversations the more, the longer ago the less.
    fn worth(&self, now: i64) -> (u32, i64) {
        let halvings = u32::try_from((now - self.last).max(0) / HALF_LIFE).unwrap_or(u32::MAX);
        (self.times.checked_shr(halvings).unwrap_or(0), self.last)
    }

    /// The queries in the text that a store keeps; none if it is not such a text.
    pub fn read(text: &str) -> Vec<Self> {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// The text that a store keeps.
    pub fn write(queries: &[Self]) -> String {
        serde_json::to_string(queries).unwrap_or_default()
    }
}

fn is_kept(query: &str) -> bool {
    !query.is_empty() && query.chars().nth(LearntLimits::ALL.longest).is_none()
}

/// What a store keeps of how tools are used.
#[async_trait]
pub trait UseStore: Send + Sync {
    /// Adds calls made just now to the count of each tool. Changes no definition, hence no revision.
    async fn record_uses(&self, uses: &[Uses]) -> Result<(), StoreError>;

    /// The number of the newest write of use counts or of queries. Whoever has seen it has seen all writes up to it.
    async fn learnt_number(&self) -> Result<i64, StoreError>;

    /// The use counts that changed after that number, in the order of their numbers, at most so many as
    /// [`LearntLimits::ALL`] says; from 0 on, all. A tool that was never used is absent, and so is one that was removed.
    async fn usage_after(&self, number: i64) -> Result<Vec<Usage>, StoreError>;

    /// How much each tool has been used, in the order of the keys.
    async fn usage(&self) -> Result<Vec<Usage>, StoreError> {
        let newest = self.learnt_number().await?;
        let (mut all, mut number) = (BTreeMap::new(), 0);
        while number < newest {
            let page = self.usage_after(number).await?;
            let Some(last) = page.last() else {
                break;
            };
            number = last.number;
            // One that is used meanwhile comes again, with its new count.
            all.extend(page.into_iter().map(|usage| (usage.tool.clone(), usage)));
        }
        Ok(all.into_values().collect())
    }

    /// Adds queries after which tools were called, within [`LearntLimits::ALL`]. Changes no definition, hence no revision.
    async fn record_queries(&self, learnt: &[LearntQuery]) -> Result<(), StoreError>;

    /// The tools about which something was learnt or forgotten after that number, with all their queries.
    async fn queries_after(&self, number: i64) -> Result<QueryPage, StoreError>;

    /// Forgets queries, and returns about how many tools there were some.
    async fn forget_queries(&self, what: &Forget) -> Result<u64, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(known: &[PastQuery]) -> Vec<(&str, u32)> {
        known.iter().map(|past| (past.query.as_str(), past.times)).collect()
    }

    #[test]
    fn a_query_that_comes_again_is_counted() {
        let mut known = Vec::new();
        PastQuery::add(&mut known, &[("a", 1), ("b", 2)], 0);
        PastQuery::add(&mut known, &[("a", 3), ("a", 1)], DAY);
        assert_eq!(texts(&known), [("a", 5), ("b", 2)]);
        assert_eq!(known[0].last, DAY);
        assert_eq!(PastQuery::read(&PastQuery::write(&known)), known);
        assert_eq!(PastQuery::read("no list"), []);
    }

    #[test]
    fn what_is_empty_or_too_long_is_not_kept() {
        let mut known = Vec::new();
        let longest = "气".repeat(LearntLimits::ALL.longest);
        PastQuery::add(&mut known, &[("", 1), (&format!("{longest}x"), 1), (&longest, 1)], 0);
        assert_eq!(known.len(), 1);
    }

    #[test]
    fn the_least_and_oldest_go_and_the_newest_stays() {
        let mut known = Vec::new();
        let strong: Vec<String> = (0..20).map(|number| format!("strong {number}")).collect();
        let added: Vec<(&str, u32)> = strong.iter().map(|query| (query.as_str(), 5)).collect();
        PastQuery::add(&mut known, &added, 0);
        for number in 0..50 {
            PastQuery::add(&mut known, &[(&format!("weak {number}"), 1)], DAY);
        }
        let kept = texts(&known);
        assert_eq!((kept.len(), kept[0]), (20, ("weak 49", 1)));
        assert_eq!(kept.iter().filter(|(_, times)| *times == 5).count(), 19);
        // What was strong long ago is worth less than what was asked today.
        for query in ["new", "newer"] {
            PastQuery::add(&mut known, &[(query, 1)], 100 * DAY);
        }
        assert_eq!(texts(&known)[..2], [("newer", 1), ("new", 1)]);
        PastQuery::add(&mut known, &[("newest", 1)], 250 * DAY);
        assert_eq!(texts(&known), [("newest", 1), ("newer", 1), ("new", 1)], "the others are too old");
    }
}
