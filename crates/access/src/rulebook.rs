//! All rules together: read and checked as a whole, and where every decision begins.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use toolrail_core::{Problem, Problems, ToolTraits};

use crate::cases::{Case, TestFailure};
use crate::explain::Explanation;
use crate::facts::Subject;
use crate::limits::{MOST_FITTINGS, MOST_RULES, MOST_TESTS};
use crate::reader::{Fields, choice};
use crate::rights::Rights;
use crate::rule::{Effect, Rule};

/// Rules to decide by; without any, everything is allowed. Copies share them.
#[derive(Clone, Debug)]
pub struct Rulebook(Arc<Book>);

#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) default: Effect,
    pub(crate) rules: Vec<Rule>,
    cases: Vec<Case>,
    /// What they were read from.
    document: Value,
}

/// What came of reading a document.
#[derive(Debug)]
pub struct Reading {
    /// The rules, unless anything keeps them from being used.
    pub rulebook: Option<Rulebook>,
    /// Everything that is wrong or poor, errors first.
    pub problems: Vec<Problem>,
}

const FIELDS: [&str; 3] = ["default", "rules", "tests"];

impl Default for Rulebook {
    fn default() -> Self {
        let (rules, cases) = (Vec::new(), Vec::new());
        Self(Arc::new(Book { default: Effect::Allow, rules, cases, document: Value::Object(Map::new()) }))
    }
}

impl Rulebook {
    /// Reads a document of rules; its fields are described at the top of this crate. Its tests are read, not run.
    pub fn read(document: &Value) -> Reading {
        let mut problems = Problems::default();
        let book = Book::read(document, &mut problems);
        let usable = !problems.any_error();
        Reading {
            rulebook: book.filter(|_| usable).map(|book| Self(Arc::new(book))),
            problems: problems.into_list(None, str::to_owned),
        }
    }

    /// Reads a document and runs its tests: the rules and what is poor about them, or everything that keeps them from being used.
    pub fn check(document: &Value) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let Reading { rulebook, mut problems } = Self::read(document);
        let Some(rulebook) = rulebook else {
            return Err(problems);
        };
        let failures = rulebook.run_tests();
        if failures.is_empty() {
            return Ok((rulebook, problems));
        }
        let mut failed = Problems::default();
        for failure in failures {
            failed.error(failure.pointer.clone(), failure.told());
        }
        let mut all = failed.into_list(None, str::to_owned);
        all.append(&mut problems);
        Err(all)
    }

    /// What they were read from.
    pub fn document(&self) -> &Value {
        &self.0.document
    }

    /// Warns of rules that concern none of these tools: a name may be wrong.
    pub fn without_tools(&self, tools: &[ToolTraits<'_>]) -> Vec<Problem> {
        let mut problems = Problems::default();
        let mut left = MOST_FITTINGS;
        for (at, rule) in self.0.rules.iter().enumerate() {
            left = left.saturating_sub(tools.len());
            if left > 0 && !tools.is_empty() && !tools.iter().any(|tool| rule.tools.misfit(tool).is_none()) {
                let told = format!(
                    "no tool that is there now is one of these, so {:?} does nothing yet; look for a slip",
                    rule.name
                );
                problems.warning(format!("/rules/{at}/tools"), told);
            }
        }
        problems.into_list(None, str::to_owned)
    }

    /// What somebody may do. Takes as long as there are rules; keep it as long as he stays who he is.
    pub fn for_subject(&self, subject: &Subject) -> Rights {
        Rights::new(Arc::clone(&self.0), subject.clone())
    }

    /// Whether it decides nothing: everybody may do everything.
    pub fn is_empty(&self) -> bool {
        self.0.default == Effect::Allow && self.0.rules.iter().all(|rule| rule.effect == Effect::Allow)
    }

    /// How many rules there are.
    pub fn rule_count(&self) -> usize {
        self.0.rules.len()
    }

    /// How many tests stand beside them.
    pub fn test_count(&self) -> usize {
        self.0.cases.len()
    }

    /// Why somebody may or may not call a tool with these arguments; whether he sees it, without arguments.
    pub fn explain(
        &self,
        subject: &Subject,
        tool: &ToolTraits<'_>,
        args: Option<&Map<String, Value>>,
    ) -> Explanation {
        Explanation::new(&self.0.rules, &self.for_subject(subject), tool, args)
    }

    /// Runs the tests that stand in the document; gives those that fail.
    pub fn run_tests(&self) -> Vec<TestFailure> {
        self.0.cases.iter().filter_map(|case| case.run(self)).collect()
    }
}

impl Book {
    fn read(document: &Value, problems: &mut Problems) -> Option<Self> {
        let fields = Fields::open(document, "", &FIELDS, problems)?;
        let default = match fields.get("default", problems) {
            Some(word) => choice(word, "/default", &Effect::WORDS, problems),
            None => Some(Effect::Allow),
        };
        let rules = list(&fields, "rules", MOST_RULES, problems);
        let rules =
            rules.iter().enumerate().map(|(at, rule)| Rule::read(rule, &format!("/rules/{at}"), problems));
        let rules: Vec<Option<Rule>> = rules.collect();
        check_names(&rules, problems);
        if let Some(default) = default {
            check_effects(default, &rules, problems);
        }
        let tests = list(&fields, "tests", MOST_TESTS, problems);
        let cases =
            tests.iter().enumerate().map(|(at, test)| Case::read(test, format!("/tests/{at}"), problems));
        let cases: Vec<Option<Case>> = cases.collect();
        Some(Self {
            default: default?,
            rules: rules.into_iter().flatten().collect(),
            cases: cases.into_iter().flatten().collect(),
            document: document.clone(),
        })
    }
}

/// No more than so many are looked at.
fn list<'a>(fields: &Fields<'a>, field: &str, most: usize, problems: &mut Problems) -> &'a [Value] {
    let Some(value) = fields.get(field, problems) else {
        return &[];
    };
    let place = fields.place(field);
    match value.as_array() {
        None => problems.error(place, format!("{field:?} is a list")),
        Some(list) if list.len() > most => {
            problems.error(place, format!("there are {} {field}, and at most {most} can be", list.len()));
        }
        Some(list) => return list,
    }
    &[]
}

fn check_names(rules: &[Option<Rule>], problems: &mut Problems) {
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (at, rule) in rules.iter().enumerate() {
        let Some(rule) = rule else { continue };
        let earlier = *first.entry(&rule.name).or_insert(at);
        if earlier != at {
            let told =
                format!("/rules/{earlier} is called {:?} too; give one of them another name", rule.name);
            problems.error(format!("/rules/{at}/name"), told);
        }
    }
}

/// Warns of what is without effect, which is hardly ever what somebody meant.
fn check_effects(default: Effect, rules: &[Option<Rule>], problems: &mut Problems) {
    let allows = |rule: &Option<Rule>| rule.as_ref().is_none_or(|rule| rule.effect == Effect::Allow);
    if default == Effect::Deny && !rules.iter().any(allows) {
        problems.warning(
            "/default",
            "no rule allows anything, so nobody sees or calls any tool; add a rule that allows",
        );
    }
    for (at, rule) in rules.iter().enumerate() {
        if default == Effect::Allow && rule.as_ref().is_some_and(|rule| rule.effect == Effect::Allow) {
            let told = "this rule changes nothing: what no rule denies is allowed anyway, and a deny wins over it; set `default: deny`, or turn it into a deny";
            problems.warning(format!("/rules/{at}"), told);
        }
    }
}
