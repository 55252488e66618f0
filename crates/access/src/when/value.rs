//! Values while an expression is evaluated: borrowed from the rule, the call and the tool where they can be, and cheap to copy.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use serde_json::{Map, Number, Value};

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    Null,
    Truth(bool),
    Whole(i64),
    Fraction(f64),
    Text(&'a str),
    /// A text that the expression made.
    Made(Rc<str>),
    Texts(&'a [String]),
    Array(&'a [Value]),
    List(Rc<Vec<Val<'a>>>),
    Object(&'a Map<String, Value>),
    Table(Rc<Vec<(Val<'a>, Val<'a>)>>),
}

/// Why an expression has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It depends on arguments, and there are none yet.
    Unknown,
    /// It cannot be evaluated; the words never repeat an argument, which may be secret.
    Failed(Cow<'static, str>),
}

impl Fault {
    pub(super) const fn of(told: &'static str) -> Self {
        Self::Failed(Cow::Borrowed(told))
    }

    pub(super) fn told(told: String) -> Self {
        Self::Failed(Cow::Owned(told))
    }

    /// Of this and an earlier one: what depends on arguments may still turn out well.
    pub(super) fn or(self, other: Option<Self>) -> Self {
        match (self, other) {
            (Self::Unknown, _) | (_, Some(Self::Unknown)) => Self::Unknown,
            (_, Some(earlier)) => earlier,
            (only, None) => only,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => formatter.write_str("it depends on the arguments"),
            Self::Failed(told) => formatter.write_str(told),
        }
    }
}

impl<'a> Val<'a> {
    /// What stands in arguments.
    pub(super) fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Truth(*truth),
            Value::Number(number) => number_of(number),
            Value::String(text) => Self::Text(text),
            Value::Array(array) => Self::Array(array),
            Value::Object(object) => Self::Object(object),
        }
    }

    /// What it is, for people.
    pub(super) fn sort(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Truth(_) => "true or false",
            Self::Whole(_) | Self::Fraction(_) => "a number",
            Self::Text(_) | Self::Made(_) => "a text",
            Self::Texts(_) | Self::Array(_) | Self::List(_) => "a list",
            Self::Object(_) | Self::Table(_) => "an object",
        }
    }

    /// It as a text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Made(text) => Some(text),
            _ => None,
        }
    }

    /// How many items a list has.
    pub(super) fn list_length(&self) -> Option<usize> {
        match self {
            Self::Texts(texts) => Some(texts.len()),
            Self::Array(array) => Some(array.len()),
            Self::List(list) => Some(list.len()),
            _ => None,
        }
    }

    /// How many entries a table has.
    pub(super) fn table_length(&self) -> Option<usize> {
        match self {
            Self::Object(object) => Some(object.len()),
            Self::Table(table) => Some(table.len()),
            _ => None,
        }
    }

    /// An item of a list.
    pub(super) fn item(&self, at: usize) -> Option<Self> {
        match self {
            Self::Texts(texts) => texts.get(at).map(|text| Self::Text(text)),
            Self::Array(array) => array.get(at).map(Self::of),
            Self::List(list) => list.get(at).cloned(),
            _ => None,
        }
    }

    /// What macros go over: the items of a list, the keys of a table.
    pub(super) fn range(self) -> Option<Self> {
        match self {
            Self::Object(object) => {
                Some(Self::List(Rc::new(object.keys().map(|key| Self::Text(key)).collect())))
            }
            Self::Table(table) => {
                Some(Self::List(Rc::new(table.iter().map(|(key, _)| key.clone()).collect())))
            }
            list => list.list_length().is_some().then_some(list),
        }
    }
}

/// A whole number is one however it is written, so that whoever calls cannot choose by which arithmetic he is judged.
fn number_of<'a>(number: &Number) -> Val<'a> {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => Val::Whole(whole),
        (None, Some(fraction)) => whole_of(fraction).map_or(Val::Fraction(fraction), Val::Whole),
        (None, None) => Val::Fraction(f64::NAN),
    }
}

/// The whole number that is exactly that, among those that such a number can tell apart.
pub(super) fn whole_of(fraction: f64) -> Option<i64> {
    /// From here on the next one is two away.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the line before sees to it that it is whole and small"
    )]
    (fraction.fract() == 0.0 && fraction.abs() < EXACT).then_some(fraction as i64)
}
