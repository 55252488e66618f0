//! Filters over numbers.

use super::super::ast::Operator;
use super::super::fault::Fault;
use super::super::operate::{compute, negate};
use super::super::value::Value;
use super::{FilterResult, Given, at_path};
use crate::meter::Meter;

/// A number has no more digits than that behind its point.
const MOST_DIGITS: i128 = 300;

pub(super) fn int<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let made = match &value {
        Value::Int(_) => return Ok(value),
        Value::Bool(bool) => Some(i128::from(*bool)),
        Value::Float(number) => Some(cut(*number)),
        Value::Text(text) => {
            meter.read(text.as_str().len())?;
            let text = text.as_str().trim();
            text.parse().ok().or_else(|| text.parse().ok().filter(|number: &f64| number.is_finite()).map(cut))
        }
        _ => None,
    };
    made.map(Value::Int).or_else(|| given.get(0, "default").cloned()).ok_or_else(|| no_number(&value))
}

pub(super) fn float<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let made = match &value {
        Value::Int(number) => Some(super::super::operate::to_float(*number)),
        Value::Bool(bool) => Some(f64::from(u8::from(*bool))),
        Value::Float(number) => Some(*number),
        Value::Text(text) => {
            meter.read(text.as_str().len())?;
            text.as_str().trim().parse().ok()
        }
        _ => None,
    };
    made.map(Value::Float).or_else(|| given.get(0, "default").cloned()).ok_or_else(|| no_number(&value))
}

pub(super) fn bool<'d>(_: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    Ok(Value::Bool(value.is_true()))
}

pub(super) fn abs<'d>(_: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    match &value {
        Value::Int(number) if *number < 0 => negate(&value),
        Value::Int(_) => Ok(value),
        Value::Float(number) => Ok(Value::Float(number.abs())),
        _ => Err(no_number(&value)),
    }
}

pub(super) fn round<'d>(_: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let digits = given.whole(0, "precision")?.unwrap_or(0).clamp(-MOST_DIGITS, MOST_DIGITS);
    let number = match &value {
        Value::Int(_) if digits >= 0 => return Ok(value),
        Value::Int(number) => super::super::operate::to_float(*number),
        Value::Float(number) => *number,
        _ => return Err(no_number(&value)),
    };
    let factor = 10_f64.powi(i32::try_from(digits).unwrap_or_default());
    let method = given.get(1, "method").and_then(Value::as_str).unwrap_or("common");
    let rounded = match method {
        "ceil" => (number * factor).ceil() / factor,
        "floor" => (number * factor).floor() / factor,
        "common" => match usize::try_from(digits) {
            // Writing it out rounds as people expect, without the error of scaling.
            Ok(digits) => format!("{number:.digits$}").parse().unwrap_or(number),
            Err(_) => (number * factor).round_ties_even() / factor,
        },
        _ => return Err(Fault::new("the method of round is common, ceil or floor")),
    };
    let rounded = if rounded.is_finite() { rounded } else { number };
    Ok(if matches!(value, Value::Int(_)) { Value::Int(cut(rounded)) } else { Value::Float(rounded) })
}

pub(super) fn sum<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let attribute = given.text(0, "attribute", meter)?;
    let mut total = given.get(1, "start").cloned().unwrap_or(Value::Int(0));
    for item in value.items(meter)? {
        let item = match &attribute {
            Some(path) => at_path(&item, path, meter)?,
            None => item,
        };
        if !matches!(item, Value::Int(_) | Value::Float(_)) {
            return Err(Fault::new(format!("only numbers can be summed up, not {}", item.sort())));
        }
        total = compute(&total, Operator::Add, &item, meter)?;
    }
    Ok(total)
}

/// The number without what stands behind its point.
#[expect(
    clippy::cast_possible_truncation,
    reason = "that is what it does; beyond the range it is the largest number"
)]
fn cut(number: f64) -> i128 {
    number as i128
}

fn no_number(value: &Value<'_>) -> Fault {
    Fault::new(format!("{} is not a number", value.sort()))
}
