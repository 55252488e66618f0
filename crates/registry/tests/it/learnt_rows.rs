//! What the store in memory keeps of what is learnt from use.

use std::collections::BTreeMap;

use toolrail_core::{
    Forget, LearntLimits, LearntQuery, PastQuery, QueryPage, ToolKey, ToolQueries, Usage, Uses,
};

#[derive(Default)]
pub(crate) struct LearntRows {
    pub(crate) number: i64,
    counts: BTreeMap<ToolKey, Usage>,
    queries: BTreeMap<ToolKey, ToolQueries>,
    forgotten: i64,
}

impl LearntRows {
    pub(crate) fn count(&mut self, uses: &[Uses]) {
        for Uses { tool, calls } in uses {
            self.number += 1;
            let count = self.counts.get(tool).map_or(0, |usage| usage.count) + i64::from(*calls);
            let last_used = "2026-01-01T00:00:00.000Z".into();
            let usage = Usage { tool: tool.clone(), count, last_used, number: self.number };
            self.counts.insert(tool.clone(), usage);
        }
    }

    pub(crate) fn usage_after(&self, number: i64) -> Vec<Usage> {
        let mut usage: Vec<Usage> =
            self.counts.values().filter(|usage| usage.number > number).cloned().collect();
        usage.sort_by_key(|usage| usage.number);
        usage.truncate(LearntLimits::ALL.counts_at_once as usize);
        usage
    }

    pub(crate) fn learn(&mut self, learnt: &[LearntQuery]) {
        for LearntQuery { tool, query, times } in learnt {
            self.number += 1;
            let nothing = || ToolQueries { tool: tool.clone(), number: 0, queries: Vec::new() };
            let known = self.queries.entry(tool.clone()).or_insert_with(nothing);
            known.number = self.number;
            PastQuery::add(&mut known.queries, &[(query, *times)], 1_800_000_000);
        }
    }

    pub(crate) fn queries_after(&self, number: i64) -> QueryPage {
        let mut tools: Vec<ToolQueries> =
            self.queries.values().filter(|tool| tool.number > number).cloned().collect();
        tools.sort_by_key(|tool| tool.number);
        tools.truncate(LearntLimits::ALL.tools_at_once as usize);
        QueryPage { forgotten: self.forgotten, tools }
    }

    pub(crate) fn forget(&mut self, what: &Forget) -> u64 {
        self.number += 1;
        let before = self.queries.len();
        match what {
            Forget::Tools(tools) => {
                for tool in self.queries.values_mut().filter(|known| tools.contains(&known.tool)) {
                    tool.queries.clear();
                    tool.number = self.number;
                }
                return tools.len() as u64;
            }
            Forget::Tenant(tenant) => self.queries.retain(|key, _| key.tenant != *tenant),
            Forget::Everything => self.queries.clear(),
            Forget::Unused { .. } => {}
        }
        let gone = before - self.queries.len();
        if gone > 0 {
            self.forgotten = self.number;
        }
        gone as u64
    }

    pub(crate) fn all(&self) -> Vec<(Option<String>, String, String, u32)> {
        let told = |tool: &ToolQueries| {
            let key = tool.tool.clone();
            let told = move |past: &PastQuery| {
                (key.tenant.clone(), key.name.clone(), past.query.clone(), past.times)
            };
            tool.queries.iter().map(told).collect::<Vec<_>>()
        };
        self.queries.values().flat_map(told).collect()
    }
}
