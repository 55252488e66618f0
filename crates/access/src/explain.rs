//! Why a decision came out as it did, rule by rule, for people.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::rights::{Decision, Rights, counts};
use crate::rule::{Effect, Rule};
use crate::when::{Evaluation, Fault, Scene};
use toolrail_core::ToolTraits;

/// How a question was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The tool is seen in lists; some calls of it may be refused.
    Seen,
    /// The call may be carried out.
    Allowed,
    /// The tool is seen, and this call is refused.
    Refused,
    /// The tool is not seen, and every call is refused in the words for one that does not exist.
    Hidden,
}

impl Outcome {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Allowed => "allowed",
            Self::Refused => "refused",
            Self::Hidden => "hidden",
        }
    }
}

/// Why a decision came out as it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// How it came out.
    pub outcome: Outcome,
    /// The rule that decided; the default if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What that rule gives as its reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Every rule, in the order of the document.
    pub rules: Vec<RuleFinding>,
}

/// What became of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleFinding {
    /// Its name.
    pub name: String,
    /// What follows if it matches.
    pub effect: Effect,
    /// Whether it does.
    pub matched: Match,
    /// The part that did not fit: `who.roles`, `tools.names`, `when`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<&'static str>,
    /// Why its condition failed; a deny matches then, an allow does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Whether a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It depends on the arguments.
    Perhaps,
}

impl Explanation {
    pub(crate) fn new(
        rules: &[Rule],
        rights: &Rights,
        tool: &ToolTraits<'_>,
        args: Option<&Map<String, Value>>,
    ) -> Self {
        let Decision { outcome, rule } = match args {
            Some(args) => rights.calling(tool, args),
            None => rights.listing(tool),
        };
        let scene = Scene { subject: rights.subject(), tool, args };
        Self {
            outcome,
            rule: rule.map(|rule| rule.name.to_string()),
            reason: rule.and_then(|rule| rule.reason.as_ref()).map(Arc::to_string),
            rules: rules.iter().map(|rule| finding(rule, scene)).collect(),
        }
    }
}

fn finding(rule: &Rule, scene: Scene<'_>) -> RuleFinding {
    let found = |matched, part, fault| RuleFinding {
        name: rule.name.to_string(),
        effect: rule.effect,
        matched,
        part,
        fault,
    };
    if let Some(part) = rule.misfit(scene.subject, scene.tool) {
        return found(Match::No, Some(part), None);
    }
    let Some(when) = &rule.when else {
        return found(Match::Yes, None, None);
    };
    let result = Evaluation::new(scene).holds(when);
    if result == Err(Fault::Unknown) {
        return found(Match::Perhaps, None, None);
    }
    let fault = result.as_ref().err().map(Fault::to_string);
    if counts(rule.effect, &result) {
        return found(Match::Yes, None, fault);
    }
    found(Match::No, Some("when"), fault)
}
