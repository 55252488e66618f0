//! What somebody may do: the rules that concern him, chosen once, and the decisions by them.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::explain::Outcome;
use crate::facts::Subject;
use crate::rule::{Effect, Rule};
use crate::rulebook::Book;
use crate::when::{Evaluation, Fault, Scene};
use toolrail_core::ToolTraits;

/// What somebody may do. Copies share it.
#[derive(Clone)]
pub struct Rights(Arc<Standing>);

struct Standing {
    book: Arc<Book>,
    subject: Subject,
    /// Those that ask for arguments last: the others are cheaper, and hide.
    denies: Vec<Applying>,
    allows: Vec<Applying>,
    unlimited: bool,
}

/// A rule whose `who` fits.
struct Applying {
    rule: usize,
    /// Whether its condition, if it has one, was found to hold for this subject, whatever the tool and the arguments.
    holds: bool,
}

/// Whether a call may be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Allowed,
    /// It may not.
    Refused {
        /// The rule that refuses it: a deny that matches, or the allow that would match with other arguments. None if nothing
        /// but the default decides.
        rule: Option<Arc<str>>,
        /// What that rule gives as its reason.
        reason: Option<Arc<str>>,
        /// Whether the tool is not seen in lists either: then the answer is that for a tool that does not exist.
        hidden: bool,
    },
}

/// What came of a question, and which rule decided; the default if none.
pub(crate) struct Decision<'a> {
    pub(crate) outcome: Outcome,
    pub(crate) rule: Option<&'a Rule>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Yes,
    No,
    /// It depends on the arguments.
    Perhaps,
}

impl Rights {
    pub(crate) fn new(book: Arc<Book>, subject: Subject) -> Self {
        let (mut denies, mut allows) = (Vec::new(), Vec::new());
        for (at, rule) in book.rules.iter().enumerate() {
            let Some(holds) = standing(rule, &subject) else { continue };
            let applying = Applying { rule: at, holds };
            match rule.effect {
                Effect::Allow => allows.push(applying),
                Effect::Deny => denies.push(applying),
            }
        }
        let last = |applying: &Applying| book.rules.get(applying.rule).is_some_and(Rule::depends_on_args);
        denies.sort_by_key(last);
        allows.sort_by_key(last);
        let all = |applying: &Applying| {
            applying.holds && book.rules.get(applying.rule).is_some_and(|rule| rule.tools.is_any())
        };
        let unlimited = denies.is_empty() && (book.default == Effect::Allow || allows.iter().any(all));
        Self(Arc::new(Standing { book, subject, denies, allows, unlimited }))
    }

    /// Whether no rule could ever hide a tool from him or refuse him a call.
    pub fn is_unlimited(&self) -> bool {
        self.0.unlimited
    }

    /// Whose rights they are.
    pub fn subject(&self) -> &Subject {
        &self.0.subject
    }

    /// Whether he sees a tool in lists and may ask for it by name.
    pub fn sees(&self, tool: &ToolTraits<'_>) -> bool {
        self.0.unlimited || self.listing(tool).outcome == Outcome::Seen
    }

    /// Whether he may call it with these arguments.
    pub fn judge(&self, tool: &ToolTraits<'_>, args: &Map<String, Value>) -> Verdict {
        if self.0.unlimited {
            return Verdict::Allowed;
        }
        let Decision { outcome, rule } = self.calling(tool, args);
        match outcome {
            Outcome::Allowed | Outcome::Seen => Verdict::Allowed,
            Outcome::Refused | Outcome::Hidden => Verdict::Refused {
                rule: rule.map(|rule| Arc::clone(&rule.name)),
                reason: rule.and_then(|rule| rule.reason.clone()),
                hidden: outcome == Outcome::Hidden,
            },
        }
    }

    /// Seen or hidden.
    pub(crate) fn listing<'a>(&'a self, tool: &'a ToolTraits<'a>) -> Decision<'a> {
        let mut evaluation = self.evaluation(tool, None);
        if let Some(rule) = self.first(&self.0.denies, tool, &mut evaluation, |fit| fit == Fit::Yes) {
            return Decision { outcome: Outcome::Hidden, rule: Some(rule) };
        }
        let rule = self.first(&self.0.allows, tool, &mut evaluation, |fit| fit != Fit::No);
        let seen = rule.is_some() || self.0.book.default == Effect::Allow;
        Decision { outcome: if seen { Outcome::Seen } else { Outcome::Hidden }, rule }
    }

    /// Allowed, refused, or refused and hidden.
    pub(crate) fn calling<'a>(
        &'a self,
        tool: &'a ToolTraits<'a>,
        args: &'a Map<String, Value>,
    ) -> Decision<'a> {
        let mut evaluation = self.evaluation(tool, Some(args));
        if let Some(rule) = self.first(&self.0.denies, tool, &mut evaluation, |fit| fit == Fit::Yes) {
            let hidden = self.listing(tool).outcome == Outcome::Hidden;
            return Decision {
                outcome: if hidden { Outcome::Hidden } else { Outcome::Refused },
                rule: Some(rule),
            };
        }
        let rule = self.first(&self.0.allows, tool, &mut evaluation, |fit| fit == Fit::Yes);
        if rule.is_some() || self.0.book.default == Effect::Allow {
            return Decision { outcome: Outcome::Allowed, rule };
        }
        match self.listing(tool) {
            Decision { outcome: Outcome::Seen, rule } => Decision { outcome: Outcome::Refused, rule },
            hidden => hidden,
        }
    }

    fn evaluation<'a>(
        &'a self,
        tool: &'a ToolTraits<'a>,
        args: Option<&'a Map<String, Value>>,
    ) -> Evaluation<'a> {
        Evaluation::new(Scene { subject: &self.0.subject, tool, args })
    }

    /// The first rule that fits as wanted.
    fn first<'a>(
        &'a self,
        among: &[Applying],
        tool: &ToolTraits<'_>,
        evaluation: &mut Evaluation<'a>,
        wanted: impl Fn(Fit) -> bool,
    ) -> Option<&'a Rule> {
        among.iter().find_map(|applying| {
            let rule = self.0.book.rules.get(applying.rule)?;
            wanted(fit(rule, applying.holds, tool, evaluation)).then_some(rule)
        })
    }
}

impl fmt::Debug for Rights {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Standing { subject, denies, allows, unlimited, .. } = &*self.0;
        let mut shown = formatter.debug_struct("Rights");
        shown.field("subject", subject).field("denies", &denies.len()).field("allows", &allows.len());
        shown.field("unlimited", unlimited).finish_non_exhaustive()
    }
}

fn fit<'a>(rule: &'a Rule, holds: bool, tool: &ToolTraits<'_>, evaluation: &mut Evaluation<'a>) -> Fit {
    if rule.tools.misfit(tool).is_some() {
        return Fit::No;
    }
    match &rule.when {
        Some(when) if !holds => match evaluation.holds(when) {
            Err(Fault::Unknown) => Fit::Perhaps,
            result => {
                if counts(rule.effect, &result) {
                    Fit::Yes
                } else {
                    Fit::No
                }
            }
        },
        Some(_) | None => Fit::Yes,
    }
}

/// Whether a rule with that result of its condition matches. One that failed never gives anybody anything.
pub(crate) fn counts(effect: Effect, result: &Result<bool, Fault>) -> bool {
    result.as_ref().copied().unwrap_or(effect == Effect::Deny)
}

/// Nothing if the rule can never match for somebody; whether its condition needs no more asking otherwise.
fn standing(rule: &Rule, subject: &Subject) -> Option<bool> {
    if rule.who.misfit(subject).is_some() {
        return None;
    }
    let Some(when) = &rule.when else {
        return Some(true);
    };
    let about = when.about();
    if about.tool || about.args {
        return Some(false);
    }
    let result = Evaluation::new(Scene { subject, tool: &ToolTraits::named(""), args: None }).holds(when);
    counts(rule.effect, &result).then_some(true)
}
