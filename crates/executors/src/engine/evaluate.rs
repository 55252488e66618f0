//! Runs expressions and templates over values. Every node is a step; what a step does with large values is paid for by
//! whoever does it.

use super::ast::{AccessStep, Expr, For, Kind, LoopField, Node, Parameters};
use super::fault::{EngineResult, Fault, Why};
use super::filters::Given;
use super::operate::{compare, compute, negate, range, slice};
use super::value::{Map, Text, Value, pay_for_list, pay_for_text};
use crate::meter::Meter;

/// Units of work that one step counts for.
const STEP: u64 = 5;

/// What becomes of a value that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// Whatever is done with it is absent too.
    Passes,
    /// It may be tested, and given a default; anything else fails.
    Fails,
}

/// One evaluation.
#[derive(Debug)]
pub(crate) struct Evaluator<'p, 'd, 'm> {
    pub(super) meter: &'m mut Meter,
    absence: Absence,
    steps: u64,
    variables: Vec<(&'p str, Value<'d>)>,
    loops: Vec<Looping<'d>>,
}

/// Where a loop is.
#[derive(Debug)]
struct Looping<'d> {
    items: Vec<Value<'d>>,
    index: usize,
}

impl<'p, 'd, 'm> Evaluator<'p, 'd, 'm> {
    /// An evaluation of at most so many steps over these variables.
    pub(crate) fn new(
        absence: Absence,
        steps: u64,
        variables: Vec<(&'p str, Value<'d>)>,
        meter: &'m mut Meter,
    ) -> Self {
        Self { meter, absence, steps, variables, loops: Vec::new() }
    }

    /// The value of an expression.
    pub(crate) fn value(&mut self, expr: &'p Expr) -> EngineResult<Value<'d>> {
        self.step()?;
        self.value_of(&expr.kind).map_err(|fault| fault.at(&expr.at))
    }

    /// Writes a template out; `most` is what the text may have.
    pub(super) fn write(&mut self, nodes: &'p [Node], out: &mut String, most: usize) -> EngineResult<()> {
        for node in nodes {
            match node {
                Node::Text(text) => {
                    self.step()?;
                    out.push_str(text);
                }
                Node::Print(expr) => {
                    let value = self.value(expr)?;
                    match (&value, &expr.kind) {
                        // `{{ ', ' if not loop.last }}` says itself that there may be nothing.
                        (Value::Undefined, Kind::If(parts)) if parts.2.is_none() => continue,
                        (Value::Undefined, _) => return Err(Fault::from(Why::Undefined).at(&expr.at)),
                        _ => {}
                    }
                    out.push_str(&value.text(self.meter).map_err(|fault| fault.at(&expr.at))?);
                }
                Node::For(each) => self.write_loop(each, out, most)?,
                Node::If(branches, otherwise) => self.write_branch(branches, otherwise, out, most)?,
            }
            if out.len() > most {
                return Err(Fault::new(format!("the text grew beyond {most} bytes")));
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn write_branch(
        &mut self,
        branches: &'p [(Expr, Vec<Node>)],
        otherwise: &'p [Node],
        out: &mut String,
        most: usize,
    ) -> EngineResult<()> {
        for (condition, body) in branches {
            if self.value(condition)?.is_true() {
                return self.write(body, out, most);
            }
        }
        self.write(otherwise, out, most)
    }

    #[inline(never)]
    fn write_loop(&mut self, each: &'p For, out: &mut String, most: usize) -> EngineResult<()> {
        let over = self.value(&each.over)?;
        let items = over.items(self.meter).map_err(|fault| fault.at(&each.over.at))?;
        let items = self.chosen(each, items)?;
        if items.is_empty() {
            return self.write(&each.otherwise, out, most);
        }
        let known = self.variables.len();
        let count = items.len();
        self.loops.push(Looping { items, index: 0 });
        for index in 0..count {
            self.step()?;
            let Some(looping) = self.loops.last_mut() else { break };
            looping.index = index;
            let item = looping.items[index].clone();
            self.bind(each, item)?;
            self.write(&each.body, out, most)?;
            self.variables.truncate(known);
        }
        self.loops.pop();
        Ok(())
    }

    /// The items for which the loop's own condition holds.
    fn chosen(&mut self, each: &'p For, items: Vec<Value<'d>>) -> EngineResult<Vec<Value<'d>>> {
        let Some(condition) = &each.condition else {
            return Ok(items);
        };
        let known = self.variables.len();
        let mut chosen = Vec::new();
        for item in items {
            self.step()?;
            self.bind(each, item.clone())?;
            if self.value(condition)?.is_true() {
                chosen.push(item);
            }
            self.variables.truncate(known);
        }
        Ok(chosen)
    }

    /// Gives the item of a loop its name, or its parts theirs.
    fn bind(&mut self, each: &'p For, item: Value<'d>) -> EngineResult<()> {
        if let [name] = each.names.as_slice() {
            self.variables.push((name, item));
            return Ok(());
        }
        let parts = item.items(self.meter).map_err(|fault| fault.at(&each.over.at))?;
        if parts.len() != each.names.len() {
            let (found, wanted) = (parts.len(), each.names.len());
            return Err(Fault::new(format!("an item has {found} parts, not {wanted}")).at(&each.over.at));
        }
        self.variables.extend(each.names.iter().map(String::as_str).zip(parts));
        Ok(())
    }

    fn value_of(&mut self, kind: &'p Kind) -> EngineResult<Value<'d>> {
        match kind {
            Kind::Literal(value) => Ok(value.clone()),
            Kind::Variable(name) => {
                let found = self.variables.iter().rev().find(|(known, _)| known == name);
                Ok(found.map_or(Value::Undefined, |(_, value)| value.clone()))
            }
            Kind::Loop(field) => self.loop_field(field),
            Kind::List(items) => {
                pay_for_list(items.len(), self.meter)?;
                let items: EngineResult<Vec<_>> = items.iter().map(|item| self.value(item)).collect();
                Ok(Value::list(items?))
            }
            Kind::Map(members) => self.map(members),
            Kind::Path(root, steps) => self.path(root, steps),
            Kind::Not(inner) => Ok(Value::Bool(!self.value(inner)?.is_true())),
            Kind::Negate(inner) => {
                let value = self.value(inner)?;
                negate(&value)
            }
            Kind::Compute(operation) => {
                let (left, operator, right) = &**operation;
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.needs([&left, &right])?;
                compute(&left, *operator, &right, self.meter)
            }
            Kind::And(sides) => {
                let left = self.value(&sides.0)?;
                if left.is_true() { self.value(&sides.1) } else { Ok(left) }
            }
            Kind::Or(sides) => {
                let left = self.value(&sides.0)?;
                if left.is_true() { Ok(left) } else { self.value(&sides.1) }
            }
            Kind::Compare(first, others) => self.compared(first, others),
            Kind::If(parts) => {
                let (value, condition, otherwise) = &**parts;
                match otherwise {
                    _ if self.value(condition)?.is_true() => self.value(value),
                    Some(otherwise) => self.value(otherwise),
                    None => Ok(Value::Undefined),
                }
            }
            Kind::Filter(inner, filter, parameters) => {
                let value = self.value(inner)?;
                if value.is_undefined() && !filter.takes_absent {
                    return if self.absence == Absence::Passes {
                        Ok(value)
                    } else {
                        Err(Why::Undefined.into())
                    };
                }
                let given = self.given(parameters)?;
                (filter.apply)(self.meter, value, &given)
            }
            Kind::Test(inner, test, parameters) => {
                let value = self.value(inner)?;
                let given = self.given(parameters)?;
                (test.holds)(self.meter, &value, &given).map(Value::Bool)
            }
            Kind::Range(parameters) => {
                let given = self.given(parameters)?;
                range(&given.positional, self.meter)
            }
        }
    }

    #[inline(never)]
    fn compared(
        &mut self,
        first: &'p Expr,
        others: &'p [(super::ast::Comparison, Expr)],
    ) -> EngineResult<Value<'d>> {
        let mut left = self.value(first)?;
        for (comparison, right) in others {
            let right = self.value(right)?;
            self.needs([&left, &right])?;
            if !compare(&left, *comparison, &right, self.meter)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    #[inline(never)]
    fn map(&mut self, written: &'p [(Expr, Expr)]) -> EngineResult<Value<'d>> {
        let mut members: Vec<(Text<'d>, Value<'d>)> = Vec::with_capacity(written.len());
        pay_for_list(2 * written.len(), self.meter)?;
        for (key, value) in written {
            let key = self.value(key)?;
            let key = key.text(self.meter)?.into_owned();
            pay_for_text(key.len(), self.meter)?;
            let value = self.value(value)?;
            members.retain(|(known, _)| known.as_str() != key);
            members.push((Text::Made(key.into()), value));
        }
        Ok(Value::Map(Map::Made(std::sync::Arc::new(members))))
    }

    #[inline(never)]
    fn path(
        &mut self,
        root: &'p Expr,
        steps: &'p [(AccessStep, std::ops::Range<usize>)],
    ) -> EngineResult<Value<'d>> {
        let mut value = self.value(root)?;
        for (step, at) in steps {
            self.step()?;
            if value.is_undefined() && self.absence == Absence::Fails {
                return Err(Fault::from(Why::Undefined).at(at));
            }
            value = match step {
                AccessStep::Member(name) => value.member(name, self.meter),
                AccessStep::Item(key) => {
                    let key = self.value(key)?;
                    value.item(&key, self.meter)
                }
                AccessStep::Slice(parts) => {
                    let bounds = self.bounds(parts)?;
                    slice(&value, bounds, self.meter)
                }
            }
            .map_err(|fault| fault.at(at))?;
        }
        Ok(value)
    }

    fn bounds(&mut self, parts: &'p [Option<Box<Expr>>; 3]) -> EngineResult<[Option<i128>; 3]> {
        let mut bounds = [None; 3];
        for (bound, part) in bounds.iter_mut().zip(parts) {
            let Some(part) = part else { continue };
            *bound = match self.value(part)? {
                Value::Null | Value::Undefined => None,
                Value::Int(number) => Some(number),
                other => return Err(Fault::new(format!("a slice has whole numbers, not {}", other.sort()))),
            };
        }
        Ok(bounds)
    }

    fn loop_field(&mut self, field: &'p LoopField) -> EngineResult<Value<'d>> {
        let Some(Looping { items, index }) = self.loops.last() else {
            return Ok(Value::Undefined);
        };
        let (index, length) = (*index, items.len());
        let number = |number: usize| Ok(Value::Int(i128::try_from(number).unwrap_or(i128::MAX)));
        let item = |index: Option<usize>| {
            Ok(index.and_then(|index| items.get(index)).cloned().unwrap_or(Value::Undefined))
        };
        match field {
            LoopField::Index => number(index + 1),
            LoopField::Index0 => number(index),
            LoopField::Revindex => number(length - index),
            LoopField::Revindex0 => number(length - index - 1),
            LoopField::First => Ok(Value::Bool(index == 0)),
            LoopField::Last => Ok(Value::Bool(index + 1 == length)),
            LoopField::Length => number(length),
            // Only loops that call themselves go deeper, and there are none.
            LoopField::Depth => number(1),
            LoopField::Depth0 => number(0),
            LoopField::Previtem => item(index.checked_sub(1)),
            LoopField::Nextitem => item(Some(index + 1)),
            LoopField::Cycle(values) => match values.get(index % values.len().max(1)) {
                Some(value) => self.value(value),
                None => Ok(Value::Undefined),
            },
        }
    }

    fn given(&mut self, parameters: &'p Parameters) -> EngineResult<Given<'p, 'd>> {
        let mut given = Given::default();
        for value in &parameters.positional {
            given.positional.push(self.value(value)?);
        }
        for (name, value) in &parameters.named {
            given.named.push((name, self.value(value)?));
        }
        Ok(given)
    }

    /// Where absence fails, an operator needs both its sides.
    fn needs(&self, sides: [&Value<'d>; 2]) -> EngineResult<()> {
        let absent = self.absence == Absence::Fails && sides.iter().any(|side| side.is_undefined());
        if absent { Err(Why::Undefined.into()) } else { Ok(()) }
    }

    fn step(&mut self) -> EngineResult<()> {
        self.steps = self.steps.checked_sub(1).ok_or(Why::Steps)?;
        Ok(self.meter.spend(STEP)?)
    }
}
