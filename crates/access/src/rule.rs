//! One rule: whom and what it concerns, on what condition, and what follows.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use toolrail_core::{Problems, shortened};

use crate::facts::Subject;
use crate::limits::{LONGEST_EXPRESSION, LONGEST_NAME, LONGEST_REASON};
use crate::reader::{Fields, choice};
use crate::tools::ToolChoice;
use crate::when::When;
use crate::who::Who;
use toolrail_core::ToolTraits;

/// What follows if a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The tool is seen and may be called, unless a rule denies it.
    Allow,
    /// It is not.
    Deny,
}

impl Effect {
    pub(crate) const WORDS: [(&'static str, Self); 2] = [("allow", Self::Allow), ("deny", Self::Deny)];
}

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: Arc<str>,
    pub(crate) effect: Effect,
    pub(crate) who: Who,
    pub(crate) tools: ToolChoice,
    pub(crate) when: Option<When>,
    pub(crate) reason: Option<Arc<str>>,
}

const FIELDS: [&str; 6] = ["name", "effect", "who", "tools", "when", "reason"];

impl Rule {
    /// Nothing, and at least one problem noted, if it cannot be used.
    pub(crate) fn read(value: &Value, pointer: &str, problems: &mut Problems) -> Option<Self> {
        let fields = Fields::open(value, pointer, &FIELDS, problems)?;
        let name = name(&fields, problems);
        let effect = fields
            .required("effect", problems)
            .and_then(|word| choice(word, &fields.place("effect"), &Effect::WORDS, problems));
        let who = match fields.get("who", problems) {
            Some(who) => Who::read(who, &fields.place("who"), problems),
            None => Some(Who::default()),
        };
        let tools = match fields.get("tools", problems) {
            Some(tools) => ToolChoice::read(tools, &fields.place("tools"), problems),
            None => Some(ToolChoice::default()),
        };
        let when = when(&fields, problems);
        let reason = fields.text("reason", LONGEST_REASON, problems).map(Into::into);
        let rule = Self { name: name?, effect: effect?, who: who?, tools: tools?, when, reason };
        if rule.reason.is_some() && !rule.depends_on_args() {
            let told = "this is never shown: only somebody whose arguments are refused is told a reason; let `when` ask for args, or leave it out";
            problems.warning(fields.place("reason"), told);
        }
        Some(rule)
    }

    /// Whether it may depend on the arguments.
    pub(crate) fn depends_on_args(&self) -> bool {
        self.when.as_ref().is_some_and(|when| when.about().args)
    }

    /// The first part of `who` and `tools` that does not fit.
    pub(crate) fn misfit(&self, subject: &Subject, tool: &ToolTraits<'_>) -> Option<&'static str> {
        self.who.misfit(subject).or_else(|| self.tools.misfit(tool))
    }
}

fn name(fields: &Fields<'_>, problems: &mut Problems) -> Option<Arc<str>> {
    fields.required("name", problems)?;
    let name = fields.text("name", usize::MAX, problems)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let begins_well = name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    if begins_well && name.len() <= LONGEST_NAME && name.bytes().all(plain) {
        return Some(name.into());
    }
    let told = format!(
        "{:?} is not the name of a rule; it has 1 to {LONGEST_NAME} letters, digits, dots, dashes and underscores, and begins with a letter or digit",
        shortened(name)
    );
    problems.error(fields.place("name"), told);
    None
}

fn when(fields: &Fields<'_>, problems: &mut Problems) -> Option<When> {
    let text = fields.text("when", LONGEST_EXPRESSION, problems)?;
    match When::read(text) {
        Ok(when) => Some(when),
        Err(wrong) => {
            for told in wrong {
                problems.error(fields.place("when"), told);
            }
            None
        }
    }
}
