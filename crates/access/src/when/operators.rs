//! Comparing and computing. Numbers are numbers: where a whole one meets one with a fraction, both are taken with fractions.

use std::cmp::Ordering;
use std::rc::Rc;

use super::evaluate::Evaluation;
use super::syntax::Operator;
use super::value::{Fault, Val};
use crate::limits::LONGEST_TEXT;

impl<'a> Evaluation<'a> {
    /// What an operator makes of two values.
    pub(super) fn operate(
        &mut self,
        operator: Operator,
        left: Val<'a>,
        right: Val<'a>,
    ) -> Result<Val<'a>, Fault> {
        let truth = match operator {
            Operator::Equal => self.equal(&left, &right)?,
            Operator::Unequal => !self.equal(&left, &right)?,
            Operator::Less => self.compare(operator, &left, &right)?.is_some_and(Ordering::is_lt),
            Operator::AtMost => self.compare(operator, &left, &right)?.is_some_and(Ordering::is_le),
            Operator::Greater => self.compare(operator, &left, &right)?.is_some_and(Ordering::is_gt),
            Operator::AtLeast => self.compare(operator, &left, &right)?.is_some_and(Ordering::is_ge),
            Operator::In => self.is_in(&left, &right)?,
            Operator::Add => return self.add(left, right),
            Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
                return arithmetic(operator, &left, &right);
            }
        };
        Ok(Val::Truth(truth))
    }

    /// Whether two values are the same; those of different sorts never are.
    pub(super) fn equal(&mut self, left: &Val<'a>, right: &Val<'a>) -> Result<bool, Fault> {
        self.spend(1)?;
        if let (Some(left), Some(right)) = (left.text(), right.text()) {
            self.spend_bytes(left.len().min(right.len()))?;
            return Ok(left == right);
        }
        if let (Some(length), Some(other)) = (left.list_length(), right.list_length()) {
            return Ok(length == other && self.lists_equal(left, right, length)?);
        }
        if let (Some(length), Some(other)) = (left.table_length(), right.table_length()) {
            return Ok(length == other && self.tables_equal(left, right)?);
        }
        Ok(match (left, right) {
            (Val::Null, Val::Null) => true,
            (Val::Truth(left), Val::Truth(right)) => left == right,
            _ => compare_numbers(left, right).is_ok_and(|order| order.is_some_and(Ordering::is_eq)),
        })
    }

    fn lists_equal(&mut self, left: &Val<'a>, right: &Val<'a>, length: usize) -> Result<bool, Fault> {
        for at in 0..length {
            if let (Some(left), Some(right)) = (left.item(at), right.item(at))
                && !self.equal(&left, &right)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn tables_equal(&mut self, left: &Val<'a>, right: &Val<'a>) -> Result<bool, Fault> {
        let Some(keys) = left.clone().range() else {
            return Ok(false);
        };
        for at in 0..keys.list_length().unwrap_or(0) {
            let Some(key) = keys.item(at) else { continue };
            let same = match (self.entry(left, &key)?, self.entry(right, &key)?) {
                (Some(left), Some(right)) => self.equal(&left, &right)?,
                _ => false,
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What a table has under that key.
    pub(super) fn entry(&mut self, table: &Val<'a>, key: &Val<'a>) -> Result<Option<Val<'a>>, Fault> {
        self.spend(1)?;
        match table {
            Val::Object(object) => {
                let Some(key) = key.text() else { return Ok(None) };
                self.spend_bytes(key.len())?;
                Ok(object.get(key).map(Val::of))
            }
            Val::Table(entries) => {
                for (known, value) in entries.iter() {
                    if self.equal(known, key)? {
                        return Ok(Some(value.clone()));
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn is_in(&mut self, wanted: &Val<'a>, among: &Val<'a>) -> Result<bool, Fault> {
        if among.table_length().is_some() {
            return Ok(self.entry(among, wanted)?.is_some());
        }
        let Some(length) = among.list_length() else {
            return Err(unfit("in", wanted, among));
        };
        for at in 0..length {
            if let Some(item) = among.item(at)
                && self.equal(&item, wanted)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn compare(
        &mut self,
        operator: Operator,
        left: &Val<'a>,
        right: &Val<'a>,
    ) -> Result<Option<Ordering>, Fault> {
        if let (Some(left), Some(right)) = (left.text(), right.text()) {
            self.spend_bytes(left.len().min(right.len()))?;
            return Ok(Some(left.cmp(right)));
        }
        match (left, right) {
            (Val::Truth(left), Val::Truth(right)) => Ok(Some(left.cmp(right))),
            _ => compare_numbers(left, right).map_err(|NotNumbers| unfit(operator.word(), left, right)),
        }
    }

    fn add(&mut self, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>, Fault> {
        if let (Some(begin), Some(end)) = (left.text(), right.text()) {
            if begin.len() + end.len() > LONGEST_TEXT {
                return Err(Fault::of("it makes too long a text"));
            }
            self.spend_bytes(begin.len() + end.len())?;
            return Ok(Val::Made(Rc::from([begin, end].concat())));
        }
        let (Some(begin), Some(end)) = (left.list_length(), right.list_length()) else {
            return arithmetic(Operator::Add, &left, &right);
        };
        self.spend(begin + end)?;
        let items =
            |list: &Val<'a>, length: usize| (0..length).filter_map(|at| list.item(at)).collect::<Vec<_>>();
        let mut list = items(&left, begin);
        list.extend(items(&right, end));
        Ok(Val::List(Rc::new(list)))
    }
}

/// In words that name the sorts, never the values.
fn unfit(operator: &str, left: &Val<'_>, right: &Val<'_>) -> Fault {
    Fault::told(format!("`{operator}` does not go with {} and {}", left.sort(), right.sort()))
}

/// One of two values is no number.
struct NotNumbers;

/// No order if one of them is what comes of zero divided by zero.
fn compare_numbers(left: &Val<'_>, right: &Val<'_>) -> Result<Option<Ordering>, NotNumbers> {
    match (left, right) {
        (Val::Whole(left), Val::Whole(right)) => Ok(Some(left.cmp(right))),
        (Val::Fraction(left), Val::Fraction(right)) => Ok(left.partial_cmp(right)),
        (Val::Whole(left), Val::Fraction(right)) => Ok(compare_mixed(*left, *right)),
        (Val::Fraction(left), Val::Whole(right)) => Ok(compare_mixed(*right, *left).map(Ordering::reverse)),
        _ => Err(NotNumbers),
    }
}

/// Exactly: a large whole number does not become another one on the way.
fn compare_mixed(whole: i64, fraction: f64) -> Option<Ordering> {
    /// Two to the power of 63.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if fraction.is_nan() {
        return None;
    }
    if fraction >= BEYOND {
        return Some(Ordering::Less);
    }
    if fraction < -BEYOND {
        return Some(Ordering::Greater);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it lies within the range, and only its fraction is cut off"
    )]
    let order = whole.cmp(&(fraction as i64));
    Some(order.then_with(|| 0.0_f64.partial_cmp(&fraction.fract()).unwrap_or(Ordering::Equal)))
}

fn arithmetic<'a>(operator: Operator, left: &Val<'_>, right: &Val<'_>) -> Result<Val<'a>, Fault> {
    if let (Val::Whole(left), Val::Whole(right)) = (left, right) {
        return whole_arithmetic(operator, *left, *right).map(Val::Whole);
    }
    let (Some(one), Some(other)) = (fraction(left), fraction(right)) else {
        return Err(unfit(operator.word(), left, right));
    };
    Ok(Val::Fraction(match operator {
        Operator::Add => one + other,
        Operator::Subtract => one - other,
        Operator::Multiply => one * other,
        Operator::Divide => one / other,
        _ => return Err(Fault::of("`%` does not go with fractions")),
    }))
}

fn whole_arithmetic(operator: Operator, left: i64, right: i64) -> Result<i64, Fault> {
    if right == 0 && matches!(operator, Operator::Divide | Operator::Remainder) {
        return Err(Fault::of("it divides by zero"));
    }
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide => left.checked_div(right),
        Operator::Remainder => left.checked_rem(right),
        _ => None,
    };
    result.ok_or(Fault::of("a number becomes too large"))
}

#[expect(clippy::cast_precision_loss, reason = "that is what computing with fractions means")]
pub(super) fn fraction(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Whole(whole) => Some(*whole as f64),
        Val::Fraction(fraction) => Some(*fraction),
        _ => None,
    }
}
