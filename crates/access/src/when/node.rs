//! An expression that passed its check: every name is known, every function has its arguments.

use super::syntax::Operator;
use crate::facts::Hint;

/// A part of it.
#[derive(Debug)]
pub(super) enum Node {
    Null,
    Truth(bool),
    Whole(i64),
    Fraction(f64),
    Text(Box<str>),
    Fact(Fact),
    /// Whether it is there: texts and lists are, unless they are empty.
    HasFact(Fact),
    Args,
    /// What a macro goes over. There is one at a time, because no macro stands within another.
    Item,
    Select(Box<Node>, Box<str>),
    Has(Box<Node>, Box<str>),
    Index(Box<[Node; 2]>),
    List(Vec<Node>),
    Table(Vec<(Node, Node)>),
    Not(Box<Node>),
    Negate(Box<Node>),
    Both(Vec<Node>),
    Either(Vec<Node>),
    Choice(Box<[Node; 3]>),
    Binary(Operator, Box<[Node; 2]>),
    Call(Function, Vec<Node>),
    Each(Box<Each>),
}

/// A macro over a list, or over the keys of a table.
#[derive(Debug)]
pub(super) struct Each {
    pub(super) what: Macro,
    pub(super) range: Node,
    /// Of a `map` with three arguments: which items count.
    pub(super) only: Option<Node>,
    pub(super) body: Node,
}

/// Which macro.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Macro {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
}

impl Macro {
    pub(super) const ALL: [Self; 5] = [Self::All, Self::Exists, Self::ExistsOne, Self::Map, Self::Filter];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Exists => "exists",
            Self::ExistsOne => "exists_one",
            Self::Map => "map",
            Self::Filter => "filter",
        }
    }
}

/// Which function; a method has what stands before it as its first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    LowerAscii,
    UpperAscii,
    Text,
    Whole,
    Fraction,
}

impl Function {
    pub(super) const ALL: [Self; 9] = [
        Self::Size,
        Self::Contains,
        Self::StartsWith,
        Self::EndsWith,
        Self::LowerAscii,
        Self::UpperAscii,
        Self::Text,
        Self::Whole,
        Self::Fraction,
    ];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Contains => "contains",
            Self::StartsWith => "startsWith",
            Self::EndsWith => "endsWith",
            Self::LowerAscii => "lowerAscii",
            Self::UpperAscii => "upperAscii",
            Self::Text => "string",
            Self::Whole => "int",
            Self::Fraction => "double",
        }
    }
}

/// What is known of who calls and of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    Name,
    Tenant,
    Role,
    Groups,
    Scopes,
    ToolName,
    ToolKind,
    ToolTags,
    ToolCategory,
    ToolTenant,
    ToolHint(Hint),
}

/// The fields of `principal`.
pub(super) const PRINCIPAL: [(&str, Fact); 5] = [
    ("name", Fact::Name),
    ("tenant", Fact::Tenant),
    ("role", Fact::Role),
    ("groups", Fact::Groups),
    ("scopes", Fact::Scopes),
];

/// The fields of `tool`.
pub(super) const TOOL: [(&str, Fact); 9] = [
    ("name", Fact::ToolName),
    ("kind", Fact::ToolKind),
    ("tags", Fact::ToolTags),
    ("category", Fact::ToolCategory),
    ("tenant", Fact::ToolTenant),
    (Hint::ReadOnly.word(), Fact::ToolHint(Hint::ReadOnly)),
    (Hint::Destructive.word(), Fact::ToolHint(Hint::Destructive)),
    (Hint::Idempotent.word(), Fact::ToolHint(Hint::Idempotent)),
    (Hint::OpenWorld.word(), Fact::ToolHint(Hint::OpenWorld)),
];
