//! Which tools a rule concerns.

use serde_json::Value;
use toolrail_core::Problems;

use crate::facts::Hint;
use crate::reader::Fields;
use toolrail_core::NamePattern;
use toolrail_core::ToolTraits;

/// Which tools a rule concerns: all, as far as nothing else is said.
#[derive(Debug, Default)]
pub(crate) struct ToolChoice {
    names: Option<Vec<NamePattern>>,
    tags: Option<Vec<NamePattern>>,
    categories: Option<Vec<NamePattern>>,
    kinds: Option<Vec<NamePattern>>,
    hints: Vec<(Hint, bool)>,
}

const FIELDS: [&str; 8] =
    ["names", "tags", "categories", "kinds", "readOnly", "destructive", "idempotent", "openWorld"];

impl ToolChoice {
    pub(crate) fn read(value: &Value, pointer: &str, problems: &mut Problems) -> Option<Self> {
        let fields = Fields::open(value, pointer, &FIELDS, problems)?;
        if fields.is_empty() {
            problems.error(pointer, "this says nothing; leave `tools` out for all tools");
        }
        let mut patterns = |field: &str| {
            let texts = fields.texts(field, problems)?;
            Some(texts.into_iter().map(NamePattern::new).collect())
        };
        let (names, tags) = (patterns("names"), patterns("tags"));
        let (categories, kinds) = (patterns("categories"), patterns("kinds"));
        let said = |hint: Hint| fields.flag(hint.word(), problems).map(|wanted| (hint, wanted));
        let hints: Vec<_> = Hint::ALL.into_iter().filter_map(said).collect();
        if hints.contains(&(Hint::ReadOnly, true)) && hints.contains(&(Hint::Destructive, true)) {
            let told =
                "this never matches: a tool that is read-only is not destructive; leave one of the two out";
            problems.error(fields.place(Hint::Destructive.word()), told);
        }
        Some(Self { names, tags, categories, kinds, hints })
    }

    /// Whether every tool fits.
    pub(crate) fn is_any(&self) -> bool {
        let lists = [&self.names, &self.tags, &self.categories, &self.kinds];
        lists.iter().all(|list| list.is_none()) && self.hints.is_empty()
    }

    /// The first part that does not hold of a tool; the cheap ones are looked at first.
    pub(crate) fn misfit(&self, tool: &ToolTraits<'_>) -> Option<&'static str> {
        let one = |patterns: &Option<Vec<NamePattern>>, word: Option<&str>| {
            patterns
                .as_ref()
                .is_none_or(|patterns| word.is_some_and(|word| patterns.iter().any(|glob| glob.fits(word))))
        };
        let tagged = || {
            self.tags
                .as_ref()
                .is_none_or(|patterns| tool.tags.iter().any(|tag| patterns.iter().any(|glob| glob.fits(tag))))
        };
        if let Some((hint, _)) = self.hints.iter().find(|(hint, wanted)| hint.of(tool.hints) != *wanted) {
            return Some(part(*hint));
        }
        if !one(&self.names, Some(tool.name)) {
            return Some("tools.names");
        }
        if !one(&self.kinds, Some(tool.kind)) {
            return Some("tools.kinds");
        }
        if !one(&self.categories, tool.category) {
            return Some("tools.categories");
        }
        (!tagged()).then_some("tools.tags")
    }
}

const fn part(hint: Hint) -> &'static str {
    match hint {
        Hint::ReadOnly => "tools.readOnly",
        Hint::Destructive => "tools.destructive",
        Hint::Idempotent => "tools.idempotent",
        Hint::OpenWorld => "tools.openWorld",
    }
}
