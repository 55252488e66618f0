//! What a JSONPath selects in an answer, found under a meter: every value that is looked at counts.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use toolrail_core::{Part, Sort, Stepped, Unknown};

use super::ast::{Condition, Inner, Operand, PathComparison, PathPattern, Query, Segment, Selector};
use super::pattern;
use crate::meter::{Meter, Spent};

/// Patterns look at no longer texts.
const LONGEST_TEXT: usize = 64 << 10;
/// Patterns that come from the answer itself are compiled then; that is much work.
const COMPILING: u64 = 20_000;
const MOST_PATTERNS: usize = 16;

/// Why nothing was selected.
#[derive(Debug)]
pub(super) enum Failed {
    Spent(Spent),
    LongText,
}

impl From<Unknown> for Failed {
    fn from(_: Unknown) -> Self {
        Self::LongText
    }
}

impl From<Spent> for Failed {
    fn from(spent: Spent) -> Self {
        Self::Spent(spent)
    }
}

/// One evaluation.
pub(super) struct Selecting<'t, 'm> {
    root: Part<'t>,
    meter: &'m mut Meter,
    /// What was made of patterns in the answer; nothing of one that is none.
    patterns: HashMap<(String, bool), Option<Stepped>>,
}

type Selected<'t> = Result<Vec<Part<'t>>, Failed>;

/// What an operand comes to.
enum OperandValue<'t> {
    Nothing,
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'t, str>),
    Part(Part<'t>),
}

impl<'t, 'm> Selecting<'t, 'm> {
    pub(super) fn new(root: Part<'t>, meter: &'m mut Meter) -> Self {
        Self { root, meter, patterns: HashMap::new() }
    }

    /// All that a query from the root selects.
    pub(super) fn all(&mut self, query: &Query) -> Selected<'t> {
        self.from(self.root, query)
    }

    fn from(&mut self, start: Part<'t>, query: &Query) -> Selected<'t> {
        let mut nodes = vec![start];
        for segment in &query.segments {
            let mut next = Vec::new();
            for node in nodes {
                self.segment(node, segment, &mut next)?;
            }
            nodes = next;
        }
        Ok(nodes)
    }

    fn segment(
        &mut self,
        node: Part<'t>,
        segment: &Segment,
        found: &mut Vec<Part<'t>>,
    ) -> Result<(), Failed> {
        if !segment.descends {
            return segment.selectors.iter().try_for_each(|selector| self.select(node, selector, found));
        }
        // On a list of our own, so that a deep answer is not a deep stack; the next child is always the last there.
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            segment.selectors.iter().try_for_each(|selector| self.select(node, selector, found))?;
            let before = waiting.len();
            for child in children(node) {
                self.meter.take(size_of::<Part<'_>>())?;
                waiting.push(child);
            }
            waiting[before..].reverse();
        }
        Ok(())
    }

    fn select(
        &mut self,
        node: Part<'t>,
        selector: &Selector,
        found: &mut Vec<Part<'t>>,
    ) -> Result<(), Failed> {
        self.meter.spend(2)?;
        match selector {
            Selector::Name(name) => {
                if node.sort() == Sort::Object {
                    self.meter.spend(node.count() as u64)?;
                    self.push(node.member(name), found)?;
                }
            }
            Selector::Every => {
                for child in children(node) {
                    self.push(Some(child), found)?;
                }
            }
            Selector::Index(index) => {
                if node.sort() == Sort::List
                    && let Some(place) = place(*index, node.count())
                {
                    self.meter.spend(place as u64)?;
                    self.push(node.items().nth(place), found)?;
                }
            }
            Selector::Slice { start, end, step } => self.slice(node, [*start, *end], *step, found)?,
            Selector::Filter(condition) => {
                for child in children(node) {
                    self.meter.spend(2)?;
                    if self.holds(child, condition)? {
                        self.push(Some(child), found)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn slice(
        &mut self,
        node: Part<'t>,
        [start, end]: [Option<i64>; 2],
        step: i64,
        found: &mut Vec<Part<'t>>,
    ) -> Result<(), Failed> {
        if node.sort() != Sort::List || step == 0 {
            return Ok(());
        }
        self.meter.take(node.count() * size_of::<Part<'_>>())?;
        let items: Vec<Part<'t>> = node.items().collect();
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let from_end = |index: i64| if index < 0 { length + index } else { index };
        let (mut at, last) = if step > 0 {
            (from_end(start.unwrap_or(0)).clamp(0, length), from_end(end.unwrap_or(length)).clamp(0, length))
        } else {
            let start = start.map_or(length - 1, from_end).clamp(-1, length - 1);
            (start, end.map_or(-1, from_end).clamp(-1, length - 1))
        };
        while (step > 0 && at < last) || (step < 0 && at > last) {
            self.push(usize::try_from(at).ok().and_then(|at| items.get(at)).copied(), found)?;
            at = at.saturating_add(step);
        }
        Ok(())
    }

    fn push(&mut self, part: Option<Part<'t>>, found: &mut Vec<Part<'t>>) -> Result<(), Failed> {
        if let Some(part) = part {
            self.meter.take(size_of::<Part<'_>>())?;
            found.push(part);
        }
        Ok(())
    }

    fn holds(&mut self, node: Part<'t>, condition: &Condition) -> Result<bool, Failed> {
        self.meter.spend(2)?;
        Ok(match condition {
            Condition::Any(parts) => {
                for part in parts {
                    if self.holds(node, part)? {
                        return Ok(true);
                    }
                }
                false
            }
            Condition::All(parts) => {
                for part in parts {
                    if !self.holds(node, part)? {
                        return Ok(false);
                    }
                }
                true
            }
            Condition::Not(inner) => !self.holds(node, inner)?,
            Condition::Exists(inner) => !self.inner(node, inner)?.is_empty(),
            Condition::Compare(left, comparison, right) => {
                let (left, right) = (self.value(node, left)?, self.value(node, right)?);
                self.compare(&left, *comparison, &right)?
            }
            Condition::Matches { text, pattern, whole } => self.matches(node, text, pattern, *whole)?,
        })
    }

    fn inner(&mut self, node: Part<'t>, inner: &Inner) -> Selected<'t> {
        let start = if inner.from_root { self.root } else { node };
        self.from(start, &inner.query)
    }

    fn value(&mut self, node: Part<'t>, operand: &Operand) -> Result<OperandValue<'t>, Failed> {
        Ok(match operand {
            Operand::Null => OperandValue::Null,
            Operand::Bool(bool) => OperandValue::Bool(*bool),
            Operand::Number(number) => OperandValue::Number(*number),
            Operand::Text(text) => OperandValue::Text(Cow::Owned(text.clone())),
            Operand::Value(inner) => match self.inner(node, inner)?.as_slice() {
                [part] => self.of_part(*part)?,
                _ => OperandValue::Nothing,
            },
            Operand::Length(inner) => match self.value(node, inner)? {
                OperandValue::Text(text) => {
                    self.meter.read(text.len())?;
                    count(text.chars().count())
                }
                OperandValue::Part(part) => count(part.count()),
                OperandValue::Nothing
                | OperandValue::Null
                | OperandValue::Bool(_)
                | OperandValue::Number(_) => OperandValue::Nothing,
            },
            Operand::Count(inner) => count(self.inner(node, inner)?.len()),
        })
    }

    fn of_part(&mut self, part: Part<'t>) -> Result<OperandValue<'t>, Failed> {
        Ok(match part.sort() {
            Sort::Null => OperandValue::Null,
            Sort::True => OperandValue::Bool(true),
            Sort::False => OperandValue::Bool(false),
            Sort::Number => {
                self.meter.read(part.raw().len())?;
                part.raw().parse().map_or(OperandValue::Nothing, OperandValue::Number)
            }
            Sort::Text => {
                self.meter.read(part.raw().len())?;
                OperandValue::Text(part.text().unwrap_or_default())
            }
            Sort::List | Sort::Object => OperandValue::Part(part),
        })
    }

    fn compare(
        &mut self,
        left: &OperandValue<'t>,
        comparison: PathComparison,
        right: &OperandValue<'t>,
    ) -> Result<bool, Failed> {
        Ok(match comparison {
            PathComparison::Equal => self.equal(left, right)?,
            PathComparison::Unequal => !self.equal(left, right)?,
            PathComparison::Less => order(left, right) == Some(Ordering::Less),
            PathComparison::Greater => order(left, right) == Some(Ordering::Greater),
            PathComparison::LessOrEqual => {
                order(left, right) == Some(Ordering::Less) || self.equal(left, right)?
            }
            PathComparison::GreaterOrEqual => {
                order(left, right) == Some(Ordering::Greater) || self.equal(left, right)?
            }
        })
    }

    fn equal(&mut self, left: &OperandValue<'t>, right: &OperandValue<'t>) -> Result<bool, Failed> {
        self.meter.spend(1)?;
        Ok(match (left, right) {
            (OperandValue::Nothing, OperandValue::Nothing) | (OperandValue::Null, OperandValue::Null) => true,
            (OperandValue::Bool(left), OperandValue::Bool(right)) => left == right,
            (OperandValue::Number(left), OperandValue::Number(right)) => {
                left.partial_cmp(right) == Some(Ordering::Equal)
            }
            (OperandValue::Text(left), OperandValue::Text(right)) => left == right,
            (OperandValue::Part(left), OperandValue::Part(right)) => self.equal_parts(*left, *right)?,
            _ => false,
        })
    }

    fn equal_parts(&mut self, left: Part<'t>, right: Part<'t>) -> Result<bool, Failed> {
        if left.sort() != right.sort() || left.count() != right.count() {
            return Ok(false);
        }
        self.meter.spend(1 + left.count() as u64)?;
        for (one, other) in left.items().zip(right.items()) {
            let (one, other) = (self.of_part(one)?, self.of_part(other)?);
            if !self.equal(&one, &other)? {
                return Ok(false);
            }
        }
        for (key, one) in left.members() {
            self.meter.spend(right.count() as u64)?;
            let Some(other) = key.text().and_then(|key| right.member(&key)) else {
                return Ok(false);
            };
            let (one, other) = (self.of_part(one)?, self.of_part(other)?);
            if !self.equal(&one, &other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn matches(
        &mut self,
        node: Part<'t>,
        text: &Operand,
        pattern: &PathPattern,
        whole: bool,
    ) -> Result<bool, Failed> {
        let OperandValue::Text(text) = self.value(node, text)? else {
            return Ok(false);
        };
        if text.len() > LONGEST_TEXT {
            return Err(Failed::LongText);
        }
        self.meter.spend(10 + text.len() as u64)?;
        let operand = match pattern {
            PathPattern::Ready(pattern) => {
                return pattern.is_match(&text, |steps| Ok(self.meter.spend(steps)?));
            }
            PathPattern::Found(operand) => operand,
        };
        let OperandValue::Text(written) = self.value(node, operand)? else {
            return Ok(false);
        };
        let key = (written.into_owned(), whole);
        if !self.patterns.contains_key(&key) {
            self.meter.spend(COMPILING + 100 * key.0.len() as u64)?;
            let compiled = pattern::compile(&key.0, whole).ok();
            if self.patterns.len() >= MOST_PATTERNS {
                self.patterns.clear();
            }
            self.patterns.insert(key.clone(), compiled);
        }
        match self.patterns.get(&key) {
            Some(Some(pattern)) => pattern.is_match(&text, |steps| Ok(self.meter.spend(steps)?)),
            _ => Ok(false),
        }
    }
}

/// Items, or the values of members.
fn children(node: Part<'_>) -> impl Iterator<Item = Part<'_>> {
    node.items().chain(node.members().map(|(_, value)| value))
}

fn order(left: &OperandValue<'_>, right: &OperandValue<'_>) -> Option<Ordering> {
    match (left, right) {
        (OperandValue::Number(left), OperandValue::Number(right)) => left.partial_cmp(right),
        (OperandValue::Text(left), OperandValue::Text(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "no answer has so many values")]
fn count<'t>(number: usize) -> OperandValue<'t> {
    OperandValue::Number(number as f64)
}

fn place(index: i64, length: usize) -> Option<usize> {
    let index = if index < 0 { i64::try_from(length).ok()?.checked_add(index)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}
