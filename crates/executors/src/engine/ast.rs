//! Expressions and templates, taken apart.

use std::ops::Range;

use super::filters::Filter;
use super::tests::Test;
use super::value::Value;

/// An expression and where it stands.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(super) kind: Kind,
    pub(super) at: Range<usize>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Literal(Value<'static>),
    Variable(String),
    /// `loop.index` and the like.
    Loop(LoopField),
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    /// Steps into a value; in a row, so that a long path is not a deep one.
    Path(Box<Expr>, Vec<(AccessStep, Range<usize>)>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Compute(Box<(Expr, Operator, Expr)>),
    And(Box<(Expr, Expr)>),
    Or(Box<(Expr, Expr)>),
    /// `a < b <= c`
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    /// Value, condition and what holds otherwise.
    If(Box<(Expr, Expr, Option<Expr>)>),
    Filter(Box<Expr>, &'static Filter, Parameters),
    Test(Box<Expr>, &'static Test, Parameters),
    Range(Parameters),
}

#[derive(Debug)]
pub(super) enum AccessStep {
    Member(String),
    Item(Expr),
    Slice([Option<Box<Expr>>; 3]),
}

#[derive(Debug, Default)]
pub(super) struct Parameters {
    pub(super) positional: Vec<Expr>,
    pub(super) named: Vec<(String, Expr)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    DivideWhole,
    Remainder,
    Power,
    Join,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

#[derive(Debug)]
pub(super) enum LoopField {
    Index,
    Index0,
    Revindex,
    Revindex0,
    First,
    Last,
    Length,
    Depth,
    Depth0,
    Previtem,
    Nextitem,
    Cycle(Vec<Expr>),
}

/// A piece of a template.
#[derive(Debug)]
pub(super) enum Node {
    Text(String),
    Print(Expr),
    For(Box<For>),
    /// Branches with their conditions, and what holds otherwise.
    If(Vec<(Expr, Vec<Node>)>, Vec<Node>),
}

#[derive(Debug)]
pub(super) struct For {
    pub(super) names: Vec<String>,
    pub(super) over: Expr,
    pub(super) condition: Option<Expr>,
    pub(super) body: Vec<Node>,
    pub(super) otherwise: Vec<Node>,
}
