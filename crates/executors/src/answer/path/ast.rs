//! A JSONPath, taken apart (RFC 9535).

use toolrail_core::Stepped;

#[derive(Debug)]
pub(super) struct Query {
    pub(super) segments: Vec<Segment>,
}

#[derive(Debug)]
pub(super) struct Segment {
    /// `..`
    pub(super) descends: bool,
    pub(super) selectors: Vec<Selector>,
}

#[derive(Debug)]
pub(super) enum Selector {
    Name(String),
    Every,
    Index(i64),
    Slice { start: Option<i64>, end: Option<i64>, step: i64 },
    Filter(Condition),
}

#[derive(Debug)]
pub(super) enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Exists(Inner),
    Compare(Operand, PathComparison, Operand),
    /// `match()`, or `search()` where only a part must match.
    Matches {
        text: Operand,
        pattern: PathPattern,
        whole: bool,
    },
}

/// A query inside a filter: from `$` or from `@`.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) from_root: bool,
    pub(super) query: Query,
    /// `value()`: counts only if it selects one value.
    pub(super) one: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathComparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug)]
pub(super) enum Operand {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    /// The one value that a query selects.
    Value(Inner),
    Length(Box<Operand>),
    Count(Inner),
}

#[derive(Debug)]
pub(super) enum PathPattern {
    /// Written out, and so compiled once.
    Ready(Box<Stepped>),
    Found(Operand),
}

impl Query {
    /// Whether it can select one value at most.
    pub(super) fn is_singular(&self) -> bool {
        self.segments.iter().all(|segment| {
            let one = matches!(segment.selectors.as_slice(), [Selector::Name(_) | Selector::Index(_)]);
            one && !segment.descends
        })
    }
}
