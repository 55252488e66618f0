//! Operators: computing, comparing, containing and slicing.

use std::cmp::Ordering;

use super::ast::{Comparison, Operator};
use super::fault::{EngineResult, Fault, Why};
use super::value::{List, Value, pay_for_list, pay_for_text};
use crate::meter::Meter;

/// Two numbers of one sort.
enum Pair {
    Whole(i128, i128),
    Broken(f64, f64),
}

pub(super) fn compute<'d>(
    left: &Value<'d>,
    operator: Operator,
    right: &Value<'d>,
    meter: &mut Meter,
) -> EngineResult<Value<'d>> {
    match (operator, left, right) {
        (Operator::Join, ..) | (Operator::Add, Value::Text(_), Value::Text(_)) => join(left, right, meter),
        (Operator::Add, Value::List(first), Value::List(second)) => {
            pay_for_list(first.len() + second.len(), meter)?;
            let mut items = first.to_vec(meter)?;
            items.extend(second.to_vec(meter)?);
            Ok(Value::list(items))
        }
        (Operator::Multiply, Value::Text(_) | Value::List(_), Value::Int(times)) => {
            repeat(left, *times, meter)
        }
        (Operator::Multiply, Value::Int(times), Value::Text(_) | Value::List(_)) => {
            repeat(right, *times, meter)
        }
        _ => match pair(left, right) {
            Some(Pair::Whole(left, right)) => whole(left, operator, right),
            Some(Pair::Broken(left, right)) => broken(left, operator, right).map(Value::Float),
            None if left.is_undefined() || right.is_undefined() => Err(Why::Undefined.into()),
            None => Err(Fault::new(format!(
                "{} and {} cannot be computed with {}",
                left.sort(),
                right.sort(),
                sign(operator)
            ))),
        },
    }
}

pub(super) fn negate<'d>(value: &Value<'d>) -> EngineResult<Value<'d>> {
    match value {
        Value::Int(number) => number.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Float(number) => Ok(Value::Float(-number)),
        other => Err(Fault::new(format!("{} has no negative", other.sort()))),
    }
}

pub(super) fn compare(
    left: &Value<'_>,
    comparison: Comparison,
    right: &Value<'_>,
    meter: &mut Meter,
) -> EngineResult<bool> {
    Ok(match comparison {
        Comparison::Equal => equal(left, right, meter)?,
        Comparison::Unequal => !equal(left, right, meter)?,
        Comparison::Less => order(left, right, meter)?.is_lt(),
        Comparison::LessOrEqual => order(left, right, meter)?.is_le(),
        Comparison::Greater => order(left, right, meter)?.is_gt(),
        Comparison::GreaterOrEqual => order(left, right, meter)?.is_ge(),
        Comparison::In => contains(right, left, meter)?,
        Comparison::NotIn => !contains(right, left, meter)?,
    })
}

/// Whether `container` has `value` as an item, a key or a part of its text.
pub(super) fn contains(container: &Value<'_>, value: &Value<'_>, meter: &mut Meter) -> EngineResult<bool> {
    match container {
        Value::Undefined => Ok(false),
        Value::Text(text) => {
            let wanted = value.text(meter)?;
            meter.read(text.as_str().len() + wanted.len())?;
            Ok(memchr::memmem::find(text.as_str().as_bytes(), wanted.as_bytes()).is_some())
        }
        Value::Map(_) => {
            Ok(value.as_str().map_or(Ok(Value::Undefined), |key| container.member(key, meter))?.is_defined())
        }
        Value::List(list) => {
            for item in list.to_vec(meter)? {
                if equal(&item, value, meter)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            Err(Fault::new(format!("nothing is in {}", container.sort())))
        }
    }
}

pub(super) fn equal(left: &Value<'_>, right: &Value<'_>, meter: &mut Meter) -> EngineResult<bool> {
    meter.spend(1)?;
    Ok(match (left, right) {
        (Value::Text(left), Value::Text(right)) => {
            let same_length = left.as_str().len() == right.as_str().len();
            meter.read(if same_length { left.as_str().len() } else { 0 })?;
            left.as_str() == right.as_str()
        }
        (Value::List(left), Value::List(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            let (left, right) = (left.to_vec(meter)?, right.to_vec(meter)?);
            for (left, right) in left.iter().zip(&right) {
                if !equal(left, right, meter)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(map), Value::Map(_)) => {
            if left.length(meter)? != right.length(meter)? {
                return Ok(false);
            }
            for (key, value) in map.members(meter)? {
                if !equal(&value, &right.member(key.as_str(), meter)?, meter)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Undefined, Value::Undefined) | (Value::Null, Value::Null) => true,
        _ => match pair(left, right) {
            Some(Pair::Whole(left, right)) => left == right,
            Some(Pair::Broken(left, right)) => left.total_cmp(&right).is_eq() || (left - right) == 0.0,
            None => false,
        },
    })
}

/// The order of any two values; of different sorts, that of the sorts.
pub(super) fn order(left: &Value<'_>, right: &Value<'_>, meter: &mut Meter) -> EngineResult<Ordering> {
    meter.spend(1)?;
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => {
            meter.read(left.as_str().len().min(right.as_str().len()))?;
            Ok(left.as_str().cmp(right.as_str()))
        }
        (Value::List(first), Value::List(second)) => {
            let (first, second) = (first.to_vec(meter)?, second.to_vec(meter)?);
            for (left, right) in first.iter().zip(&second) {
                let ordering = order(left, right, meter)?;
                if ordering.is_ne() {
                    return Ok(ordering);
                }
            }
            Ok(first.len().cmp(&second.len()))
        }
        (Value::Map(_), Value::Map(_)) => {
            let (left, right) = (left.text(meter)?, right.text(meter)?);
            meter.read(left.len().min(right.len()))?;
            Ok(left.cmp(&right))
        }
        _ => Ok(match pair(left, right) {
            Some(Pair::Whole(left, right)) => left.cmp(&right),
            Some(Pair::Broken(left, right)) => left.total_cmp(&right),
            None => rank(left).cmp(&rank(right)),
        }),
    }
}

/// `value[start:stop:step]`
pub(super) fn slice<'d>(
    value: &Value<'d>,
    [start, stop, step]: [Option<i128>; 3],
    meter: &mut Meter,
) -> EngineResult<Value<'d>> {
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(Fault::new("a slice needs a step other than 0"));
    }
    let length = match value {
        Value::Undefined | Value::Null => return Ok(Value::list(Vec::new())),
        _ => value.length(meter)?,
    };
    if let (Value::List(list), 1) = (value, step) {
        let (start, stop) = (bound(start, length, 0), bound(stop, length, length));
        return Ok(Value::list(list.range(start, stop, meter)?));
    }
    let items = value.items(meter)?;
    let places = places([start, stop], step, length);
    let taken: Vec<Value<'d>> = places.filter_map(|place| items.get(place).cloned()).collect();
    if value.as_str().is_none() {
        return Ok(Value::list(taken));
    }
    Ok(Value::from(taken.iter().filter_map(Value::as_str).collect::<String>()))
}

/// The places that a slice takes, in its order.
fn places([start, stop]: [Option<i128>; 2], step: i128, length: usize) -> Box<dyn Iterator<Item = usize>> {
    let stride = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
    if step > 0 {
        return Box::new((bound(start, length, 0)..bound(stop, length, length)).step_by(stride));
    }
    let first = start.map_or(length, |start| bound(Some(start), length, 0).saturating_add(1)).min(length);
    let last = stop.map_or(0, |stop| bound(Some(stop), length, 0).saturating_add(1));
    Box::new((last..first).rev().step_by(stride))
}

fn bound(index: Option<i128>, length: usize, otherwise: usize) -> usize {
    let Some(index) = index else {
        return otherwise;
    };
    let from_end = i128::try_from(length).unwrap_or(i128::MAX).saturating_add(index);
    let index = if index < 0 { from_end.max(0) } else { index };
    usize::try_from(index).unwrap_or(usize::MAX).min(length)
}

fn join<'d>(left: &Value<'d>, right: &Value<'d>, meter: &mut Meter) -> EngineResult<Value<'d>> {
    let (left, right) = (left.text(meter)?, right.text(meter)?);
    pay_for_text(left.len() + right.len(), meter)?;
    Ok(Value::from([left.as_ref(), right.as_ref()].concat()))
}

fn repeat<'d>(value: &Value<'d>, times: i128, meter: &mut Meter) -> EngineResult<Value<'d>> {
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    match value {
        Value::List(list) => {
            let count = list.len().saturating_mul(times);
            pay_for_list(count, meter)?;
            let items = list.to_vec(meter)?;
            Ok(Value::list(items.iter().cycle().take(count).cloned().collect()))
        }
        other => {
            let text = other.as_str().unwrap_or_default();
            pay_for_text(text.len().saturating_mul(times), meter)?;
            Ok(Value::from(text.repeat(if text.is_empty() { 0 } else { times })))
        }
    }
}

fn whole<'d>(left: i128, operator: Operator, right: i128) -> EngineResult<Value<'d>> {
    let number = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide => return broken(to_float(left), operator, to_float(right)).map(Value::Float),
        Operator::DivideWhole | Operator::Remainder if right == 0 => return Err(by_zero()),
        Operator::DivideWhole => left.checked_div_euclid(right).map(|quotient| {
            // Downwards, also where the divisor is negative.
            if right < 0 && left.checked_rem_euclid(right) != Some(0) { quotient - 1 } else { quotient }
        }),
        Operator::Remainder => left
            .checked_rem_euclid(right)
            .map(|rest| if right < 0 && rest != 0 { rest + right } else { rest }),
        Operator::Power => match u32::try_from(right) {
            Ok(exponent) => left.checked_pow(exponent),
            Err(_) => return broken(to_float(left), operator, to_float(right)).map(Value::Float),
        },
        Operator::Join => None,
    };
    number.map(Value::Int).ok_or_else(overflow)
}

fn broken(left: f64, operator: Operator, right: f64) -> EngineResult<f64> {
    let by_nothing = matches!(operator, Operator::Divide | Operator::DivideWhole | Operator::Remainder);
    if by_nothing && right == 0.0 {
        return Err(by_zero());
    }
    Ok(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::DivideWhole => (left / right).floor(),
        Operator::Remainder => left - right * (left / right).floor(),
        Operator::Power => left.powf(right),
        Operator::Join => return Err(overflow()),
    })
}

fn pair(left: &Value<'_>, right: &Value<'_>) -> Option<Pair> {
    let whole = |value: &Value<'_>| match value {
        Value::Int(number) => Some(*number),
        Value::Bool(bool) => Some(i128::from(*bool)),
        _ => None,
    };
    let broken = |value: &Value<'_>| match value {
        Value::Float(number) => Some(*number),
        other => whole(other).map(to_float),
    };
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(Pair::Whole(left, right)),
        _ => Some(Pair::Broken(broken(left)?, broken(right)?)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number that is computed with others may lose digits")]
pub(super) fn to_float(number: i128) -> f64 {
    number as f64
}

fn rank(value: &Value<'_>) -> u8 {
    match value {
        Value::Undefined => 0,
        Value::Null => 1,
        Value::Bool(_) => 2,
        Value::Int(_) | Value::Float(_) => 3,
        Value::Text(_) => 4,
        Value::List(_) => 5,
        Value::Map(_) => 6,
    }
}

fn sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::DivideWhole => "//",
        Operator::Remainder => "%",
        Operator::Power => "**",
        Operator::Join => "~",
    }
}

fn overflow() -> Fault {
    Fault::new("the number gets too large")
}

fn by_zero() -> Fault {
    Fault::new("nothing can be divided by zero")
}

/// The whole numbers from one up to another.
pub(super) fn range<'d>(bounds: &[Value<'d>], meter: &mut Meter) -> EngineResult<Value<'d>> {
    let numbers: Option<Vec<i128>> = bounds
        .iter()
        .map(|bound| if let Value::Int(number) = bound { Some(*number) } else { None })
        .collect();
    let (start, stop, step) = match numbers.as_deref() {
        Some([stop]) => (0, *stop, 1),
        Some([start, stop]) => (*start, *stop, 1),
        Some([start, stop, step]) if *step != 0 => (*start, *stop, *step),
        _ => return Err(Fault::new("range takes one to three whole numbers, as in range(3)")),
    };
    let distance = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) }.max(0);
    let stride = i128::try_from(step.unsigned_abs()).unwrap_or(i128::MAX);
    let count = usize::try_from(distance / stride + i128::from(distance % stride != 0)).unwrap_or(usize::MAX);
    pay_for_list(count, meter)?;
    let mut next = start;
    let numbers = std::iter::repeat_with(|| {
        let number = next;
        next = next.saturating_add(step);
        Value::Int(number)
    });
    Ok(Value::List(List::Made(std::sync::Arc::new(numbers.take(count).collect()))))
}
