//! The tests that stand beside rules in their document.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};
use toolrail_core::{Problems, Role, SaidHints, ToolTraits};

use crate::explain::Outcome;
use crate::facts::{Hint, Subject};
use crate::limits::LONGEST_ENTRY;
use crate::reader::{Fields, choice};
use crate::rulebook::Rulebook;

/// What a test expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Expectation {
    /// The call may be carried out.
    Allow,
    /// It is refused, whether or not the tool is seen.
    Deny,
    /// It is refused, and the tool is not seen.
    Hidden,
}

impl Expectation {
    const WORDS: [(&'static str, Self); 3] =
        [("allow", Self::Allow), ("deny", Self::Deny), ("hidden", Self::Hidden)];

    fn is_met(self, outcome: Outcome) -> bool {
        match self {
            Self::Allow => outcome == Outcome::Allowed,
            Self::Deny => matches!(outcome, Outcome::Refused | Outcome::Hidden),
            Self::Hidden => outcome == Outcome::Hidden,
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::WORDS.iter().find(|(_, known)| known == self).map_or("", |(word, _)| word);
        formatter.write_str(word)
    }
}

/// A test that came out differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestFailure {
    /// Where it stands in the document.
    pub pointer: String,
    /// What it expects.
    pub expected: Expectation,
    /// What there is.
    pub got: Outcome,
    /// The rule that decided; the default if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl fmt::Display for TestFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.pointer, self.told())
    }
}

impl TestFailure {
    /// What was expected and what came of it.
    pub(crate) fn told(&self) -> String {
        let Self { expected, got, rule, .. } = self;
        let by = rule.as_ref().map_or_else(|| "default".to_owned(), |rule| format!("the rule {rule:?}"));
        format!("{expected} was expected, and it is {} by {by}", got.word())
    }
}

/// A test.
#[derive(Debug)]
pub(crate) struct Case {
    pointer: String,
    subject: Subject,
    tool: CaseTool,
    args: Map<String, Value>,
    expected: Expectation,
}

/// A tool as a test describes it.
#[derive(Debug)]
struct CaseTool {
    name: String,
    kind: String,
    tags: Vec<String>,
    category: Option<String>,
    tenant: Option<String>,
    hints: SaidHints,
}

const FIELDS: [&str; 4] = ["as", "tool", "args", "expect"];
const SUBJECT_FIELDS: [&str; 5] = ["name", "role", "tenant", "groups", "scopes"];
const TOOL_FIELDS: [&str; 9] =
    ["name", "kind", "tags", "category", "tenant", "readOnly", "destructive", "idempotent", "openWorld"];

impl Case {
    pub(crate) fn read(value: &Value, pointer: String, problems: &mut Problems) -> Option<Self> {
        let fields = Fields::open(value, &pointer, &FIELDS, problems)?;
        let subject = match fields.get("as", problems) {
            Some(given) => read_subject(given, &fields.place("as"), problems),
            None => Some(Subject::default()),
        };
        let tool = match fields.required("tool", problems) {
            Some(Value::String(_)) => {
                fields.text("tool", LONGEST_ENTRY, problems).map(|name| CaseTool::named(name.to_owned()))
            }
            Some(given) => CaseTool::read(given, &fields.place("tool"), problems),
            None => None,
        };
        let args = match fields.get("args", problems) {
            Some(Value::Object(args)) => args.clone(),
            Some(_) => {
                problems.error(fields.place("args"), "these are the arguments of the call: an object");
                return None;
            }
            None => Map::new(),
        };
        let expected = fields
            .required("expect", problems)
            .and_then(|word| choice(word, &fields.place("expect"), &Expectation::WORDS, problems));
        Some(Self { subject: subject?, tool: tool?, args, expected: expected?, pointer })
    }

    /// Nothing if it comes out as expected.
    pub(crate) fn run(&self, rulebook: &Rulebook) -> Option<TestFailure> {
        let rights = rulebook.for_subject(&self.subject);
        let tool = self.tool.traits();
        let decision = rights.calling(&tool, &self.args);
        (!self.expected.is_met(decision.outcome)).then(|| TestFailure {
            pointer: self.pointer.clone(),
            expected: self.expected,
            got: decision.outcome,
            rule: decision.rule.map(|rule| rule.name.to_string()),
        })
    }
}

impl CaseTool {
    fn named(name: String) -> Self {
        let hints = SaidHints::default();
        Self { name, kind: String::new(), tags: Vec::new(), category: None, tenant: None, hints }
    }

    fn read(value: &Value, pointer: &str, problems: &mut Problems) -> Option<Self> {
        let fields = Fields::open(value, pointer, &TOOL_FIELDS, problems)?;
        fields.required("name", problems)?;
        let mut text = |field: &str| fields.text(field, LONGEST_ENTRY, problems).map(str::to_owned);
        let name = text("name");
        let (kind, category, tenant) = (text("kind"), text("category"), text("tenant"));
        let tags = texts(&fields, "tags", problems);
        let mut hints = SaidHints::default();
        for hint in Hint::ALL {
            hint.say(&mut hints, fields.flag(hint.word(), problems));
        }
        Some(Self { name: name?, kind: kind.unwrap_or_default(), tags, category, tenant, hints })
    }

    fn traits(&self) -> ToolTraits<'_> {
        ToolTraits {
            name: &self.name,
            kind: &self.kind,
            tags: &self.tags,
            category: self.category.as_deref(),
            tenant: self.tenant.as_deref(),
            hints: self.hints,
        }
    }
}

fn read_subject(value: &Value, pointer: &str, problems: &mut Problems) -> Option<Subject> {
    let fields = Fields::open(value, pointer, &SUBJECT_FIELDS, problems)?;
    let words = Role::ALL.map(|role| (role.word(), role));
    let role = match fields.get("role", problems) {
        Some(word) => Some(choice(word, &fields.place("role"), &words, problems)?),
        None => None,
    };
    let mut text = |field: &str| fields.text(field, LONGEST_ENTRY, problems).map(str::to_owned);
    let (name, tenant) = (text("name"), text("tenant"));
    let (groups, scopes) = (texts(&fields, "groups", problems), texts(&fields, "scopes", problems));
    Some(Subject { name, tenant, role, groups, scopes })
}

fn texts(fields: &Fields<'_>, field: &str, problems: &mut Problems) -> Vec<String> {
    let texts = fields.texts(field, problems).unwrap_or_default();
    texts.into_iter().map(str::to_owned).collect()
}
