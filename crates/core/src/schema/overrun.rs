//! What a check took too much of, and where: the place in the value and the word of the schema that cost the most, so that
//! whoever reads it knows what to send less of, or what to change.

use std::fmt;

use serde_json::Value;

use super::escape;
use super::node::Check;
use crate::Exhausted;

/// Longer pointers are left out: they say less than they take.
const LONGEST_POINTER: usize = 300;

/// What a check took too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overrun {
    /// Comparisons.
    Steps,
    /// Time.
    Time,
    /// Levels of the schema and the value together.
    Depth,
    /// Matching one text with a pattern that looks around or back.
    Pattern,
}

impl Overrun {
    /// Whether another check that may take more could find out.
    pub fn is_of_budget(self) -> bool {
        matches!(self, Self::Steps | Self::Time)
    }
}

impl From<Exhausted> for Overrun {
    fn from(exhausted: Exhausted) -> Self {
        match exhausted {
            Exhausted::Steps => Self::Steps,
            Exhausted::Time => Self::Time,
        }
    }
}

/// A check that came to no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// What it took too much of.
    pub overrun: Overrun,
    /// JSON pointer into the value, to where most of it was spent; empty for all of the value.
    pub pointer: String,
    /// The word of the schema that it was spent for, if that is known.
    pub keyword: Option<&'static str>,
}

impl From<Overrun> for Unchecked {
    fn from(overrun: Overrun) -> Self {
        Self { overrun, pointer: String::new(), keyword: None }
    }
}

impl fmt::Display for Unchecked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() && self.pointer.len() <= LONGEST_POINTER {
            write!(formatter, "{}: ", self.pointer)?;
        }
        let rest = match self.overrun {
            Overrun::Steps | Overrun::Time => {
                formatter.write_str("the value could not be checked in time")?;
                if let Some(keyword) = self.keyword {
                    write!(formatter, " because of {keyword:?}")?;
                }
                advice(self.keyword)
            }
            Overrun::Depth => "it is nested too deeply to be checked; send fewer levels",
            Overrun::Pattern => {
                "a text here is too long or too tangled for a pattern that looks around or back; send a shorter one, or write the pattern without (?=…), (?!…), (?<…) and \\1"
            }
        };
        formatter.write_str(rest)
    }
}

fn advice(keyword: Option<&str>) -> &'static str {
    match keyword {
        Some("pattern" | "patternProperties" | "propertyNames" | "format") => {
            "; send a shorter text, or let the pattern of the schema repeat less"
        }
        Some("items" | "contains" | "uniqueItems" | "unevaluatedItems") => "; send fewer items",
        Some("properties" | "enum" | "const") => "; send less",
        _ => "; send less, or let the schema have fewer alternatives (anyOf, oneOf) that lead to each other",
    }
}

/// The word of the schema that a check comes from.
pub(super) fn keyword_of(check: &Check) -> &'static str {
    match check {
        Check::Never => "false",
        Check::Type(_) => "type",
        Check::Const(_) => "const",
        Check::Enum(_) => "enum",
        Check::Bound(_) => "minimum or maximum",
        Check::MultipleOf(_) => "multipleOf",
        Check::MinLength(_) => "minLength",
        Check::MaxLength(_) => "maxLength",
        Check::MinItems(_) => "minItems",
        Check::MaxItems(_) => "maxItems",
        Check::MinProperties(_) => "minProperties",
        Check::MaxProperties(_) => "maxProperties",
        Check::Required(_) => "required",
        Check::DependentRequired(_) => "dependentRequired",
        Check::Pattern(_) => "pattern",
        Check::Known(_) => "format",
        Check::UniqueItems => "uniqueItems",
        Check::Members(members) if members.patterns.is_empty() => "properties",
        Check::Members(_) => "patternProperties",
        Check::MemberNames(_) => "propertyNames",
        Check::Items(_) => "items",
        Check::Contains(_) => "contains",
        Check::DependentSchemas(_) => "dependentSchemas",
        Check::Dependencies(_) => "dependencies",
        Check::All(_) => "allOf",
        Check::Any(_) => "anyOf",
        Check::One(_) => "oneOf",
        Check::Not(_) => "not",
        Check::If(_) => "if",
        Check::Reference(_) => "$ref",
        Check::UnevaluatedMembers(_) => "unevaluatedProperties",
        Check::UnevaluatedItems(_) => "unevaluatedItems",
    }
}

/// The JSON pointer to the value that stands at that address inside of `root`.
pub(super) fn pointer_to(address: usize, root: &Value) -> Option<String> {
    if std::ptr::from_ref(root).addr() == address {
        return Some(String::new());
    }
    match root {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| pointer_to(address, item).map(|rest| format!("/{at}{rest}"))),
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            pointer_to(address, member).map(|rest| format!("/{}{rest}", escape(name)))
        }),
        _ => None,
    }
}
