//! Which tools a group has: chosen by name, tag, category or a pattern of names, whatever the case of letters. Prepared once,
//! since it is asked for every tool.

use std::collections::BTreeSet;
use std::ops::Bound;

use toolrail_core::NamePattern;

use super::entry::Entry;
use super::shelf::Listed;
use super::tools::Tool;

/// Names of tools, in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// Whether the name is among them.
    pub fn has(&self, name: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&*Tool::folded(name))
    }

    /// Each of them once, folded, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub(crate) fn from<'n>(&'n self, start: Bound<&'n str>) -> impl Iterator<Item = &'n str> {
        self.0.range::<str, _>((start, Bound::Unbounded)).map(String::as_str)
    }
}

impl<S: AsRef<str>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        Self(names.into_iter().map(|name| Tool::folded(name.as_ref()).into_owned()).collect())
    }
}

/// Which tools a group has: those that fit any of what was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    names: Names,
    tags: BTreeSet<String>,
    categories: BTreeSet<String>,
    patterns: Vec<NamePattern>,
}

impl Choice {
    /// Also the tools of these names.
    #[must_use]
    pub fn with_names(self, names: &[String]) -> Self {
        Self { names: names.iter().collect(), ..self }
    }

    /// Also those with any of these tags.
    #[must_use]
    pub fn with_tags(self, tags: &[String]) -> Self {
        Self { tags: tags.iter().map(|tag| tag.to_lowercase()).collect(), ..self }
    }

    /// Also those of these categories.
    #[must_use]
    pub fn with_categories(self, categories: &[String]) -> Self {
        Self { categories: categories.iter().map(|category| category.to_lowercase()).collect(), ..self }
    }

    /// Also those whose names fit any of these patterns: `*` stands for any characters, `?` for one.
    #[must_use]
    pub fn with_patterns(self, patterns: &[String]) -> Self {
        Self { patterns: patterns.iter().map(|pattern| NamePattern::new(pattern)).collect(), ..self }
    }

    /// The names that were chosen.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Whether the tool belongs to the group.
    pub fn fits(&self, tool: &Tool) -> bool {
        let tags = tool.tags.iter().map(|tag| &**tag);
        self.fits_words(tool.name.as_str(), tool.category.as_deref(), tags)
    }

    /// Whether a tool of that name, category and tags belongs to the group.
    pub fn fits_words<'t>(
        &self,
        name: &str,
        category: Option<&str>,
        mut tags: impl Iterator<Item = &'t str>,
    ) -> bool {
        let is_in =
            |set: &BTreeSet<String>, word: &str| !set.is_empty() && set.contains(&word.to_lowercase());
        self.fits_name(name)
            || category.is_some_and(|category| is_in(&self.categories, category))
            || tags.any(|tag| is_in(&self.tags, tag))
    }

    /// Whether a definition is seen in the group. One that is broken has only its name to go by; one that makes no tool is
    /// seen everywhere.
    pub(crate) fn fits_entry(&self, entry: &Entry) -> bool {
        match (&entry.item, entry.tool()) {
            (_, Some(tool)) => self.fits(tool),
            (Some(_), None) => true,
            (None, None) => self.fits_name(&entry.name),
        }
    }

    fn fits_name(&self, name: &str) -> bool {
        self.names.has(name) || self.patterns.iter().any(|pattern| pattern.fits(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_whatever_their_case() {
        let names: Names = ["B.one", "a", "b.ONE"].into_iter().collect();
        assert_eq!(names.iter().collect::<Vec<_>>(), ["a", "b.one"]);
        assert!(names.has("A") && names.has("b.One") && !names.has("b"));
    }
}
