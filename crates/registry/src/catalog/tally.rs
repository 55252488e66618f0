//! How many entries there are of each sort, kept as they come and go: nobody walks through a hundred thousand of them to
//! count.

use std::sync::Arc;

use toolrail_core::Severity;

use super::entry::Entry;
use super::item::Item;
use super::tools::Tool;
use crate::source_id::SourceId;

/// The states of entries, as [`Entry::state`] names them.
pub(crate) const STATES: [&str; 3] = ["live", "disabled", "broken"];

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tools that may be called.
    pub tools: usize,
    /// Problems that keep a definition from going live.
    pub errors: usize,
    /// Problems that do not.
    pub warnings: usize,
    /// Tools whose entry for legacy clients differs.
    pub(crate) legacy: usize,
    /// Tools that are only described.
    pub(crate) described: usize,
    /// Tools that may be called and say `deferLoading: true`.
    pub(crate) deferred: usize,
    /// Tools that may be called and say `deferLoading: false`.
    pub(crate) eager: usize,
    /// Entries by source and state.
    entries: [[usize; STATES.len()]; SourceId::ALL.len()],
}

impl Tally {
    /// How many entries of that source are in that state, such as `live`.
    pub fn entries(&self, source: SourceId, state: &str) -> usize {
        let state = STATES.iter().position(|known| *known == state);
        state.map_or(0, |state| self.entries[source as usize][state])
    }

    /// How many there are of those tools, which are live.
    pub(crate) fn of_tools(tools: &[Arc<Tool>]) -> Self {
        let mut tally = Self::default();
        for tool in tools {
            tally.count_tool(tool, &|number| *number += 1);
        }
        tally
    }

    pub(crate) fn add(&mut self, entry: &Entry) {
        self.count(entry, |number| *number += 1);
    }

    /// Takes back what [`Self::add`] counted.
    pub(crate) fn remove(&mut self, entry: &Entry) {
        self.count(entry, |number| *number = number.saturating_sub(1));
    }

    fn count(&mut self, entry: &Entry, step: impl Fn(&mut usize)) {
        for problem in &entry.problems {
            match problem.severity {
                Severity::Error => step(&mut self.errors),
                Severity::Warning => step(&mut self.warnings),
            }
        }
        if let Some(Item::Tool(tool)) = entry.live() {
            self.count_tool(tool, &step);
        }
        let state = entry.state();
        let of_source = &mut self.entries[entry.source as usize];
        for (_, number) in STATES.iter().zip(of_source).filter(|(known, _)| **known == state) {
            step(number);
        }
    }

    fn count_tool(&mut self, tool: &Tool, step: &impl Fn(&mut usize)) {
        step(&mut self.tools);
        if tool.legacy_entry.is_some() {
            step(&mut self.legacy);
        }
        match (tool.is_callable(), tool.defer_loading) {
            (false, _) => step(&mut self.described),
            (true, Some(true)) => step(&mut self.deferred),
            (true, Some(false)) => step(&mut self.eager),
            (true, None) => {}
        }
    }
}
