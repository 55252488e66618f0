//! The functions of expressions.

use std::rc::Rc;

use super::evaluate::Evaluation;
use super::node::Function;
use super::operators::fraction;
use super::value::{Fault, Val};

impl<'a> Evaluation<'a> {
    /// What a function makes of its arguments, of which the check saw to the number.
    pub(super) fn call(&mut self, function: Function, arguments: &[Val<'a>]) -> Result<Val<'a>, Fault> {
        let first = arguments.first().unwrap_or(&Val::Null);
        match function {
            Function::Size => self.size(first),
            Function::Contains | Function::StartsWith | Function::EndsWith => {
                self.search(function, first, arguments.get(1).unwrap_or(&Val::Null))
            }
            Function::LowerAscii => self.remade(function, first, str::to_ascii_lowercase),
            Function::UpperAscii => self.remade(function, first, str::to_ascii_uppercase),
            Function::Text => text_of(first),
            Function::Whole => whole_number_of(first),
            Function::Fraction => fraction_of(first),
        }
    }

    /// Of a text, its characters.
    fn size(&mut self, value: &Val<'a>) -> Result<Val<'a>, Fault> {
        let size = if let Some(text) = value.text() {
            self.spend_bytes(text.len())?;
            text.chars().count()
        } else {
            let size = value.list_length().or(value.table_length());
            size.ok_or_else(|| unfit(Function::Size, value))?
        };
        Ok(Val::Whole(i64::try_from(size).unwrap_or(i64::MAX)))
    }

    fn search(&mut self, function: Function, text: &Val<'a>, wanted: &Val<'a>) -> Result<Val<'a>, Fault> {
        let within = text.text().ok_or_else(|| unfit(function, text))?;
        let wanted = wanted.text().ok_or_else(|| unfit(function, wanted))?;
        self.spend_bytes(within.len() + wanted.len())?;
        Ok(Val::Truth(match function {
            Function::StartsWith => within.starts_with(wanted),
            Function::EndsWith => within.ends_with(wanted),
            _ => within.contains(wanted),
        }))
    }

    fn remade(
        &mut self,
        function: Function,
        value: &Val<'a>,
        remake: impl Fn(&str) -> String,
    ) -> Result<Val<'a>, Fault> {
        let text = value.text().ok_or_else(|| unfit(function, value))?;
        self.spend_bytes(text.len())?;
        Ok(Val::Made(Rc::from(remake(text))))
    }
}

fn unfit(function: Function, value: &Val<'_>) -> Fault {
    Fault::told(format!("{} does not go with {}", function.word(), value.sort()))
}

fn text_of<'a>(value: &Val<'a>) -> Result<Val<'a>, Fault> {
    match value {
        Val::Text(_) | Val::Made(_) => Ok(value.clone()),
        Val::Truth(truth) => Ok(Val::Text(if *truth { "true" } else { "false" })),
        Val::Whole(number) => Ok(Val::Made(Rc::from(number.to_string()))),
        Val::Fraction(number) => Ok(Val::Made(Rc::from(number.to_string()))),
        _ => Err(unfit(Function::Text, value)),
    }
}

fn whole_number_of<'a>(value: &Val<'a>) -> Result<Val<'a>, Fault> {
    /// Two to the power of 63.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if let Some(text) = value.text() {
        return text
            .parse()
            .map(Val::Whole)
            .map_err(|_| Fault::of("int is given a text that is no whole number"));
    }
    match value {
        Val::Whole(number) => Ok(Val::Whole(*number)),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it lies within the range, and its fraction is to be cut off"
        )]
        Val::Fraction(number) if number.abs() < BEYOND => Ok(Val::Whole(*number as i64)),
        Val::Fraction(_) => Err(Fault::of("int is given too large a number")),
        _ => Err(unfit(Function::Whole, value)),
    }
}

fn fraction_of<'a>(value: &Val<'a>) -> Result<Val<'a>, Fault> {
    if let Some(text) = value.text() {
        return text
            .parse()
            .map(Val::Fraction)
            .map_err(|_| Fault::of("double is given a text that is no number"));
    }
    fraction(value).map(Val::Fraction).ok_or_else(|| unfit(Function::Fraction, value))
}
