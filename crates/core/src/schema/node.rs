//! A compiled schema: its parts in one list, which name each other by number. References are resolved, so that a schema
//! that refers to itself is a graph of a fixed size.

use std::sync::Arc;

use jsonschema_value::numeric_check::CompiledBound;
use serde_json::{Number, Value};

use super::known::Known;
use super::pattern::Pattern;

/// A part of a schema, by its place in the list.
pub(super) type NodeId = u32;

/// Names of properties.
pub(super) type Names = Box<[Box<str>]>;

/// One part of a schema: everything that it asks of a value, the cheap things first.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) checks: Vec<Check>,
    /// Whether it looks at a value through other parts, so that its verdict is worth remembering.
    pub(super) is_compound: bool,
    /// Whether it leads back to itself without a step into the value.
    pub(super) is_looping: bool,
}

/// One thing that a schema asks of a value.
#[derive(Debug)]
pub(super) enum Check {
    /// No value will do.
    Never,
    Type(Types),
    Const(Box<Fixed>),
    Enum(Box<Choices>),
    Bound(Box<Bound>),
    MultipleOf(Number),
    MinLength(u64),
    MaxLength(u64),
    MinItems(u64),
    MaxItems(u64),
    MinProperties(u64),
    MaxProperties(u64),
    Required(Names),
    /// Names that are required where another one is there.
    DependentRequired(Box<[(Box<str>, Names)]>),
    Pattern(Arc<Pattern>),
    /// A format or an encoding.
    Known(Box<Known>),
    UniqueItems,
    Members(Box<Members>),
    MemberNames(NodeId),
    Items(Box<Items>),
    Contains(Box<Contains>),
    DependentSchemas(Box<[(Box<str>, NodeId)]>),
    /// The same by its old name, which marks nothing as looked at.
    Dependencies(Box<[(Box<str>, NodeId)]>),
    All(Box<[NodeId]>),
    Any(Box<[NodeId]>),
    One(Box<[NodeId]>),
    Not(NodeId),
    If(Box<Condition>),
    Reference(NodeId),
    UnevaluatedMembers(NodeId),
    UnevaluatedItems(NodeId),
}

/// A value that is asked for, and how much there is to compare.
#[derive(Debug)]
pub(super) struct Fixed {
    pub(super) value: Value,
    pub(super) weight: u64,
}

/// Values of which one is asked for.
#[derive(Debug)]
pub(super) struct Choices {
    /// In the order of the alphabet.
    pub(super) texts: Vec<Box<str>>,
    pub(super) others: Vec<Fixed>,
    /// The first ones as they were written, to be told.
    pub(super) told: Box<str>,
}

/// A limit of numbers.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) compiled: CompiledBound,
    /// What a number beyond it is.
    pub(super) beyond: &'static str,
    pub(super) limit: Number,
}

/// What the members of an object must be.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// In the order of the alphabet.
    pub(super) named: Vec<(Box<str>, NodeId)>,
    pub(super) patterns: Vec<(Arc<Pattern>, NodeId)>,
    pub(super) additional: Option<NodeId>,
}

impl Members {
    /// What the member of that name must be, if it is named.
    pub(super) fn find(&self, name: &str) -> Option<NodeId> {
        let at = self.named.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        self.named.get(at).map(|(_, node)| *node)
    }
}

/// What the items of an array must be.
#[derive(Debug, Default)]
pub(super) struct Items {
    pub(super) first: Box<[NodeId]>,
    pub(super) rest: Option<NodeId>,
}

/// How many items must be like that.
#[derive(Debug)]
pub(super) struct Contains {
    pub(super) node: NodeId,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
}

/// `if`, `then`, `else`.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) asked: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

/// The types by name, in the order of their bits. An integer is a number, too.
const TYPES: [&str; 7] = ["null", "boolean", "string", "array", "object", "number", "integer"];

impl Types {
    pub(super) fn add(&mut self, name: &str) {
        if let Some(bit) = TYPES.iter().position(|known| *known == name) {
            self.0 |= 1 << bit;
        }
    }

    pub(super) fn has(self, value: &Value) -> bool {
        let bit = match value {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::String(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Number(number) => {
                return self.0 & 1 << 5 != 0
                    || self.0 & 1 << 6 != 0 && jsonschema_value::types::number_is_integer(number);
            }
        };
        self.0 & 1 << bit != 0
    }

    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        TYPES.iter().enumerate().filter(move |(bit, _)| self.0 & 1 << bit != 0).map(|(_, name)| *name)
    }
}

impl Check {
    /// Where it stands among the checks of its part: what is cheap and fails often comes first.
    pub(super) fn order(&self) -> u8 {
        match self {
            Self::Never => 0,
            Self::Type(_) => 1,
            Self::Const(_) | Self::Enum(_) => 2,
            Self::Bound(_) | Self::MultipleOf(_) => 3,
            Self::MinLength(_)
            | Self::MaxLength(_)
            | Self::MinItems(_)
            | Self::MaxItems(_)
            | Self::MinProperties(_)
            | Self::MaxProperties(_) => 4,
            Self::Required(_) | Self::DependentRequired(_) => 5,
            Self::Pattern(_) | Self::Known(_) => 6,
            Self::Members(_) | Self::MemberNames(_) => 7,
            Self::Items(_) | Self::Contains(_) => 8,
            Self::Reference(_) | Self::All(_) => 9,
            Self::DependentSchemas(_) | Self::Dependencies(_) | Self::If(_) => 10,
            Self::Any(_) | Self::One(_) | Self::Not(_) => 11,
            Self::UniqueItems => 12,
            Self::UnevaluatedMembers(_) | Self::UnevaluatedItems(_) => 13,
        }
    }

    /// Visits every part that it names; `in_place` tells those that look at the same value.
    pub(super) fn visit(&mut self, visit: &mut dyn FnMut(&mut NodeId, InPlace)) {
        use InPlace::{No, Yes};
        match self {
            Self::Members(members) => {
                members.named.iter_mut().for_each(|(_, node)| visit(node, No));
                members.patterns.iter_mut().for_each(|(_, node)| visit(node, No));
                members.additional.iter_mut().for_each(|node| visit(node, No));
            }
            Self::Items(items) => {
                items.first.iter_mut().chain(&mut items.rest).for_each(|node| visit(node, No));
            }
            Self::Contains(contains) => visit(&mut contains.node, No),
            Self::MemberNames(node) | Self::UnevaluatedMembers(node) | Self::UnevaluatedItems(node) => {
                visit(node, No);
            }
            Self::DependentSchemas(named) | Self::Dependencies(named) => {
                named.iter_mut().for_each(|(_, node)| visit(node, Yes));
            }
            Self::All(nodes) | Self::Any(nodes) | Self::One(nodes) => {
                nodes.iter_mut().for_each(|node| visit(node, Yes));
            }
            Self::Not(node) | Self::Reference(node) => visit(node, Yes),
            Self::If(condition) => {
                let Condition { asked, then, otherwise } = &mut **condition;
                std::iter::once(asked).chain(then).chain(otherwise).for_each(|node| visit(node, Yes));
            }
            _ => {}
        }
    }

    /// Whether it looks at a value through other parts, or through all of it.
    pub(super) fn is_compound(&mut self) -> bool {
        let mut found = matches!(self, Self::UniqueItems);
        self.visit(&mut |_, _| found = true);
        found
    }
}

/// Whether a part looks at the same value as the one that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InPlace {
    Yes,
    No,
}
