//! The tree of an expression as it was written.

use super::NotCel;
use crate::limits::DEEPEST_TREE;

/// A part of an expression.
#[derive(Clone, Debug)]
pub(super) struct Syntax {
    /// The byte at which it begins; that of the operator where there is one.
    pub(super) at: usize,
    /// How many levels are below it, itself included.
    depth: usize,
    pub(super) form: Form,
}

/// What it is.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Null,
    Truth(bool),
    Whole(i64),
    Fraction(f64),
    Text(String),
    Name(String),
    Select(Box<Syntax>, String),
    Index(Box<[Syntax; 2]>),
    /// A function, or the method of what stands before it.
    Call(Option<Box<Syntax>>, String, Vec<Syntax>),
    List(Vec<Syntax>),
    Table(Vec<(Syntax, Syntax)>),
    Not(Box<Syntax>),
    Negate(Box<Syntax>),
    /// All of them, or any of them.
    Both(Vec<Syntax>),
    Either(Vec<Syntax>),
    Choice(Box<[Syntax; 3]>),
    Binary(Operator, Box<[Syntax; 2]>),
}

/// What stands between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

/// A part with what is in it, unless that is too deep.
pub(super) fn node(at: usize, form: Form) -> Result<Syntax, NotCel> {
    let deepest = |parts: &[Syntax]| parts.iter().map(|part| part.depth).max().unwrap_or(0);
    let below = match &form {
        Form::Null | Form::Truth(_) | Form::Whole(_) | Form::Fraction(_) | Form::Text(_) | Form::Name(_) => 0,
        Form::Select(part, _) | Form::Not(part) | Form::Negate(part) => part.depth,
        Form::Index(parts) | Form::Binary(_, parts) => deepest(&**parts),
        Form::Choice(parts) => deepest(&**parts),
        Form::Call(target, _, parts) => deepest(parts).max(target.as_ref().map_or(0, |target| target.depth)),
        Form::List(parts) | Form::Both(parts) | Form::Either(parts) => deepest(parts),
        Form::Table(entries) => {
            entries.iter().map(|(key, value)| key.depth.max(value.depth)).max().unwrap_or(0)
        }
    };
    if below >= DEEPEST_TREE {
        let told =
            format!("more than {DEEPEST_TREE} operators follow one another here; make several rules of it");
        return Err(NotCel::at(at, told));
    }
    Ok(Syntax { at, depth: below + 1, form })
}
