//! The categories of tools: in any case one category, written as the first tool that has it writes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::tools::Tool;

/// Tools by the category they are in, each by its place among the tools of the snapshot.
pub(crate) struct Categories(BTreeMap<Box<str>, Vec<u32>>);

/// A category and the tools in it.
pub struct Category<'s> {
    /// As it is written.
    pub name: &'s str,
    /// How many tools are in it.
    pub count: usize,
    /// The first of them, in order of their names.
    pub tools: Vec<&'s Arc<Tool>>,
}

impl Categories {
    pub(crate) fn of(tools: &[Arc<Tool>]) -> Self {
        let mut by_category: BTreeMap<Box<str>, Vec<u32>> = BTreeMap::new();
        for (place, tool) in (0..).zip(tools) {
            let Some(category) = category_of(tool) else {
                continue;
            };
            by_category.entry(folded(category)).or_default().push(place);
        }
        Self(by_category)
    }

    /// How they are written, sorted without regard to case. `tools` are those they were made of, here and below.
    pub(crate) fn names<'s>(&self, tools: &'s [Arc<Tool>]) -> Vec<&'s str> {
        let first = |places: &Vec<u32>| places.first().and_then(|place| tool_at(tools, *place));
        self.0.values().filter_map(first).filter_map(|tool| category_of(tool)).collect()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The category of that name, in any case, with at most so many of its tools.
    pub(crate) fn find<'s>(&self, name: &str, most: usize, tools: &'s [Arc<Tool>]) -> Option<Category<'s>> {
        let places = self.0.get(&folded(name.trim()))?;
        let tools: Vec<_> =
            places.iter().take(most.max(1)).filter_map(|place| tool_at(tools, *place)).collect();
        let name = tools.first().and_then(|tool| category_of(tool))?;
        Some(Category { name, count: places.len(), tools: tools.into_iter().take(most).collect() })
    }
}

fn tool_at(tools: &[Arc<Tool>], place: u32) -> Option<&Arc<Tool>> {
    tools.get(usize::try_from(place).ok()?)
}

fn category_of(tool: &Tool) -> Option<&str> {
    tool.category.as_deref().map(str::trim).filter(|category| !category.is_empty())
}

fn folded(category: &str) -> Box<str> {
    category.to_lowercase().into()
}
