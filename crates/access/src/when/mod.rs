//! The condition of a rule: an expression in CEL (the Common Expression Language) about who calls, the tool and the arguments.
//!
//! ```text
//! text ─ token, parser ─▶ syntax ─ check ─▶ node ─ evaluate (value, operators, functions) ─▶ true, false or a fault
//! ```
//!
//! This is our own evaluator, because every step has to be counted: a general one copies the arguments first and cannot be
//! stopped. The tests compare it with such a one. It reads the arguments where they lie. What CEL has and this does not: regular
//! expressions, times, bytes, unsigned numbers, messages, optionals and macros within macros. What it has beyond CEL: a
//! number is the same however it is written (`100`, `100.0`, `1e2`), because JSON does not tell them apart.

mod check;
mod evaluate;
mod functions;
mod node;
mod operators;
mod parser;
mod samples;
mod sort;
mod syntax;
mod token;
mod value;

pub(crate) use evaluate::{Evaluation, Scene};
pub(crate) use value::Fault;

use node::Node;

/// A condition that can be evaluated.
#[derive(Debug)]
pub(crate) struct When {
    node: Node,
    about: Mentions,
}

/// Which variables an expression names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mentions {
    pub(crate) principal: bool,
    pub(crate) tool: bool,
    pub(crate) args: bool,
}

/// Something in an expression that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotCel {
    /// The byte at which it stands.
    at: usize,
    told: String,
}

impl NotCel {
    fn at(at: usize, told: impl Into<String>) -> Self {
        Self { at, told: told.into() }
    }

    /// With its place, for people.
    fn told(&self, text: &str) -> String {
        let before = text.get(..self.at).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        match before.matches('\n').count() {
            0 => format!("at character {column}: {}", self.told),
            lines => format!("at line {}, character {column}: {}", lines + 1, self.told),
        }
    }
}

impl When {
    /// Reads an expression; what is wrong with it, each with its place, if it cannot be used.
    pub(crate) fn read(text: &str) -> Result<Self, Vec<String>> {
        let told = |wrong: Vec<NotCel>| wrong.iter().map(|wrong| wrong.told(text)).collect::<Vec<_>>();
        let syntax = parser::parse(text).map_err(|wrong| told(vec![wrong]))?;
        let (node, about) = check::check(&syntax).map_err(told)?;
        if about == Mentions::default() {
            let always = "this is the same for every call; ask something of principal, tool or args, or leave `when` out";
            return Err(vec![always.to_owned()]);
        }
        let when = Self { node, about };
        match samples::fault_of_all(&when) {
            Some(fault) => Err(vec![format!("this fails for every call: {fault}")]),
            None => Ok(when),
        }
    }

    /// Which variables it names.
    pub(crate) fn about(&self) -> Mentions {
        self.about
    }
}
