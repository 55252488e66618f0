//! The language of templates: Jinja's expressions, loops and conditions, of which every step, every byte and every
//! comparison is paid for before it happens. Requests use its expressions, response mappings whole templates.
//!
//! `lex` and `parse` make expressions out of text, `blocks` templates; `evaluate` runs both over `value`s, with the
//! operators of `operate`, the `filters` and the `tests`.

mod ast;
mod blocks;
mod evaluate;
mod fault;
mod filters;
mod lex;
mod operate;
mod parse;
mod tests;
mod value;

#[cfg(test)]
mod facts;

pub(crate) use ast::Expr;
pub(crate) use blocks::{Program, closed};
pub(crate) use evaluate::{Absence, Evaluator};
pub(crate) use fault::{Fault, Why};
pub(crate) use parse::{Syntax, parse_expression};
pub(crate) use value::Value;
