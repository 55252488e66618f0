//! The values of an evaluation. Those of an answer stay where they are, in its text, until somebody looks at them;
//! computed ones are shared, never copied.

use std::borrow::Cow;
use std::sync::Arc;

use toolrail_core::{Part, Sort, write_json_string};

use super::fault::{EngineResult, Fault, MOST_BYTES, Why};
use crate::meter::Meter;

/// What a value in a list counts.
const VALUE_SIZE: usize = size_of::<Value<'static>>();

#[derive(Clone, Debug)]
pub(crate) enum Value<'d> {
    Undefined,
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Text<'d>),
    List(List<'d>),
    Map(Map<'d>),
}

#[derive(Clone, Debug)]
pub(crate) enum Text<'d> {
    Written(&'d str),
    Made(Arc<str>),
}

#[derive(Clone, Debug)]
pub(crate) enum List<'d> {
    Written(Part<'d>),
    Made(Arc<Vec<Value<'d>>>),
}

#[derive(Clone, Debug)]
pub(crate) enum Map<'d> {
    Written(Part<'d>),
    Made(Arc<Vec<(Text<'d>, Value<'d>)>>),
}

impl<'d> Value<'d> {
    /// The value of a part of an answer.
    pub(crate) fn of_part(part: Part<'d>, meter: &mut Meter) -> EngineResult<Self> {
        Ok(match part.sort() {
            Sort::Null => Self::Null,
            Sort::True => Self::Bool(true),
            Sort::False => Self::Bool(false),
            Sort::Number => {
                meter.read(part.raw().len())?;
                Self::of_number(part.raw())
            }
            Sort::Text => Self::Text(Text::of_part(part, meter)?),
            Sort::List => Self::List(List::Written(part)),
            Sort::Object => Self::Map(Map::Written(part)),
        })
    }

    /// The value of something that is JSON already.
    pub(crate) fn of_json(json: &serde_json::Value, meter: &mut Meter) -> EngineResult<Self> {
        meter.take(VALUE_SIZE)?;
        Ok(match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(bool) => Self::Bool(*bool),
            serde_json::Value::Number(number) => Self::of_number(&number.to_string()),
            serde_json::Value::String(text) => Self::of_text(text, meter)?,
            serde_json::Value::Array(items) => {
                let items: EngineResult<Vec<_>> =
                    items.iter().map(|item| Self::of_json(item, meter)).collect();
                Self::List(List::Made(Arc::new(items?)))
            }
            serde_json::Value::Object(members) => Self::of_members(members, meter)?,
        })
    }

    /// The same of the members of an object.
    pub(crate) fn of_members(
        members: &serde_json::Map<String, serde_json::Value>,
        meter: &mut Meter,
    ) -> EngineResult<Self> {
        let mut made = Vec::with_capacity(members.len());
        for (key, member) in members {
            meter.take(key.len())?;
            made.push((Text::Made(key.as_str().into()), Self::of_json(member, meter)?));
        }
        Ok(Self::Map(Map::Made(Arc::new(made))))
    }

    /// A copy of a text.
    pub(crate) fn of_text(text: &str, meter: &mut Meter) -> EngineResult<Self> {
        pay_for_text(text.len(), meter)?;
        Ok(Self::Text(Text::Made(text.into())))
    }

    /// A list that was just made and paid for.
    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(List::Made(Arc::new(items)))
    }

    fn of_number(written: &str) -> Self {
        let whole = || written.parse().ok().map(Self::Int);
        let broken = || written.parse().ok().map(Self::Float);
        whole().or_else(broken).unwrap_or(Self::Null)
    }

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Self::Undefined)
    }

    pub(super) fn is_defined(&self) -> bool {
        !self.is_undefined()
    }

    /// Whether it counts as true.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => false,
            Self::Bool(bool) => *bool,
            Self::Int(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Text(text) => !text.as_str().is_empty(),
            Self::List(list) => list.len() > 0,
            Self::Map(map) => map.len() > 0,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// What a message calls it.
    pub(super) fn sort(&self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }

    /// What is in it, one after the other: items, keys or characters.
    pub(super) fn items(&self, meter: &mut Meter) -> EngineResult<Vec<Self>> {
        match self {
            Self::List(list) => list.to_vec(meter),
            Self::Map(map) => {
                let keys = map.members(meter)?.into_iter();
                Ok(keys.map(|(key, _)| Self::Text(key)).collect())
            }
            Self::Text(text) => {
                pay_for_list(text.as_str().len(), meter)?;
                Ok(text.as_str().chars().map(|character| Self::from(character.to_string())).collect())
            }
            Self::Undefined => Err(Why::Undefined.into()),
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => {
                Err(Fault::new(format!("{} has no items to go through", self.sort())))
            }
        }
    }

    /// How many of them there are.
    pub(super) fn length(&self, meter: &mut Meter) -> EngineResult<usize> {
        match self {
            Self::List(list) => Ok(list.len()),
            Self::Map(map) => Ok(map.len()),
            Self::Text(text) => {
                meter.read(text.as_str().len())?;
                Ok(text.as_str().chars().count())
            }
            Self::Undefined => Err(Why::Undefined.into()),
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => {
                Err(Fault::new(format!("{} has no length", self.sort())))
            }
        }
    }

    /// The member of that name, or nothing.
    pub(super) fn member(&self, name: &str, meter: &mut Meter) -> EngineResult<Self> {
        match self {
            Self::Map(map) => map.get(name, meter),
            // What `groupby` makes of each group.
            Self::List(List::Made(pair)) if pair.len() == 2 => Ok(match name {
                "grouper" => pair[0].clone(),
                "list" => pair[1].clone(),
                _ => Self::Undefined,
            }),
            _ => Ok(Self::Undefined),
        }
    }

    /// The item at an index, counted from the end if it is negative, or the member of that name.
    pub(super) fn item(&self, key: &Self, meter: &mut Meter) -> EngineResult<Self> {
        match (self, key) {
            (_, Self::Text(name)) => self.member(name.as_str(), meter),
            (Self::List(list), Self::Int(index)) => match position(*index, list.len()) {
                Some(index) => list.get(index, meter),
                None => Ok(Self::Undefined),
            },
            (Self::Text(text), Self::Int(index)) => {
                let length = self.length(meter)?;
                let character = position(*index, length).and_then(|index| text.as_str().chars().nth(index));
                Ok(character.map_or(Self::Undefined, |character| Self::from(character.to_string())))
            }
            (Self::Map(map), Self::Int(number)) => map.get(&number.to_string(), meter),
            _ => Ok(Self::Undefined),
        }
    }

    /// As text: texts as they are, everything else as JSON.
    pub(crate) fn text(&self, meter: &mut Meter) -> EngineResult<Cow<'_, str>> {
        if let Self::Text(text) = self {
            return Ok(Cow::Borrowed(text.as_str()));
        }
        let mut out = Vec::new();
        self.write_json(&mut out, meter)?;
        Ok(Cow::Owned(String::from_utf8(out).unwrap_or_default()))
    }

    /// Appends it as JSON; what is undefined is null.
    pub(crate) fn write_json(&self, out: &mut Vec<u8>, meter: &mut Meter) -> EngineResult<()> {
        let before = out.len();
        match self {
            Self::Undefined | Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(bool) => out.extend_from_slice(bool.to_string().as_bytes()),
            Self::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Self::Float(number) => {
                out.extend_from_slice(serde_json::Value::from(*number).to_string().as_bytes());
            }
            Self::Text(text) => {
                pay_for_text(text.as_str().len(), meter)?;
                write_json_string(out, text.as_str());
            }
            Self::List(List::Written(part)) | Self::Map(Map::Written(part)) => {
                pay_for_text(part.raw().len(), meter)?;
                write_part(*part, out);
            }
            Self::List(List::Made(items)) => {
                for (index, item) in items.iter().enumerate() {
                    out.push(if index == 0 { b'[' } else { b',' });
                    item.write_json(out, meter)?;
                }
                out.extend_from_slice(if items.is_empty() { b"[]" } else { b"]" });
            }
            Self::Map(Map::Made(members)) => {
                for (index, (key, member)) in members.iter().enumerate() {
                    out.push(if index == 0 { b'{' } else { b',' });
                    meter.read(key.as_str().len())?;
                    write_json_string(out, key.as_str());
                    out.push(b':');
                    member.write_json(out, meter)?;
                }
                out.extend_from_slice(if members.is_empty() { b"{}" } else { b"}" });
            }
        }
        if out.len() > MOST_BYTES {
            return Err(Why::TooLarge.into());
        }
        meter.take((out.len() - before).min(64))?;
        Ok(())
    }

    /// The same value as JSON that others can work with; nothing if it is undefined.
    pub(crate) fn to_json(&self, meter: &mut Meter) -> EngineResult<serde_json::Value> {
        meter.take(2 * VALUE_SIZE)?;
        Ok(match self {
            Self::Undefined | Self::Null => serde_json::Value::Null,
            Self::Bool(bool) => (*bool).into(),
            Self::Int(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => number.into(),
                (_, Ok(number)) => number.into(),
                _ => super::operate::to_float(*number).into(),
            },
            Self::Float(number) => (*number).into(),
            Self::Text(text) => {
                pay_for_text(text.as_str().len(), meter)?;
                text.as_str().into()
            }
            Self::List(list) => {
                let items = list.to_vec(meter)?;
                let items: EngineResult<Vec<_>> = items.iter().map(|item| item.to_json(meter)).collect();
                serde_json::Value::Array(items?)
            }
            Self::Map(map) => {
                let mut members = serde_json::Map::new();
                for (key, member) in map.members(meter)? {
                    meter.take(2 * VALUE_SIZE + key.as_str().len())?;
                    members.insert(key.as_str().to_owned(), member.to_json(meter)?);
                }
                serde_json::Value::Object(members)
            }
        })
    }
}

/// A text that was just made and paid for.
impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Text::Made(text.into()))
    }
}

impl<'d> Text<'d> {
    fn of_part(part: Part<'d>, meter: &mut Meter) -> EngineResult<Self> {
        meter.read(part.raw().len())?;
        Ok(match part.text() {
            Some(Cow::Borrowed(text)) => Self::Written(text),
            Some(Cow::Owned(text)) => {
                pay_for_text(text.len(), meter)?;
                Self::Made(text.into())
            }
            None => Self::Written(""),
        })
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Written(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl<'d> List<'d> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Written(part) => part.count(),
            Self::Made(items) => items.len(),
        }
    }

    pub(super) fn get(&self, index: usize, meter: &mut Meter) -> EngineResult<Value<'d>> {
        match self {
            Self::Made(items) => Ok(items.get(index).cloned().unwrap_or(Value::Undefined)),
            Self::Written(part) => {
                meter.spend(index as u64)?;
                part.items().nth(index).map_or(Ok(Value::Undefined), |item| Value::of_part(item, meter))
            }
        }
    }

    pub(super) fn to_vec(&self, meter: &mut Meter) -> EngineResult<Vec<Value<'d>>> {
        self.range(0, self.len(), meter)
    }

    /// The items from one place up to another.
    pub(super) fn range(&self, start: usize, end: usize, meter: &mut Meter) -> EngineResult<Vec<Value<'d>>> {
        let count = end.saturating_sub(start);
        pay_for_list(count, meter)?;
        match self {
            Self::Made(items) => Ok(items.iter().skip(start).take(count).cloned().collect()),
            Self::Written(part) => {
                meter.spend(start as u64)?;
                part.items().skip(start).take(count).map(|item| Value::of_part(item, meter)).collect()
            }
        }
    }
}

impl<'d> Map<'d> {
    fn len(&self) -> usize {
        match self {
            Self::Written(part) => part.count(),
            Self::Made(members) => members.len(),
        }
    }

    fn get(&self, name: &str, meter: &mut Meter) -> EngineResult<Value<'d>> {
        meter.spend(self.len() as u64)?;
        match self {
            Self::Made(members) => {
                let found = members.iter().rev().find(|(key, _)| key.as_str() == name);
                Ok(found.map_or(Value::Undefined, |(_, value)| value.clone()))
            }
            Self::Written(part) => {
                part.member(name).map_or(Ok(Value::Undefined), |member| Value::of_part(member, meter))
            }
        }
    }

    pub(super) fn members(&self, meter: &mut Meter) -> EngineResult<Vec<(Text<'d>, Value<'d>)>> {
        pay_for_list(2 * self.len(), meter)?;
        match self {
            Self::Made(members) => Ok(members.as_ref().clone()),
            Self::Written(part) => part
                .members()
                .map(|(key, value)| Ok((Text::of_part(key, meter)?, Value::of_part(value, meter)?)))
                .collect(),
        }
    }
}

/// Pays for a text of so many bytes before it is made.
pub(super) fn pay_for_text(bytes: usize, meter: &mut Meter) -> EngineResult<()> {
    if bytes > MOST_BYTES {
        return Err(Why::TooLarge.into());
    }
    Ok(meter.take(bytes + size_of::<Text<'_>>())?)
}

/// Pays for a list of so many values before it is made.
pub(super) fn pay_for_list(count: usize, meter: &mut Meter) -> EngineResult<()> {
    let bytes = count.saturating_mul(VALUE_SIZE);
    if bytes > 2 * MOST_BYTES {
        return Err(Why::TooLarge.into());
    }
    Ok(meter.take(bytes)?)
}

/// An index counted from the end if it is negative.
fn position(index: i128, length: usize) -> Option<usize> {
    let index = if index < 0 { index + i128::try_from(length).ok()? } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}

/// JSON as it was written, without the white space in it.
fn write_part(part: Part<'_>, out: &mut Vec<u8>) {
    match part.sort() {
        Sort::List => {
            out.push(b'[');
            for (index, item) in part.items().enumerate() {
                out.extend_from_slice(if index == 0 { b"" } else { b"," });
                write_part(item, out);
            }
            out.push(b']');
        }
        Sort::Object => {
            out.push(b'{');
            for (index, (key, value)) in part.members().enumerate() {
                out.extend_from_slice(if index == 0 { b"" } else { b"," });
                out.extend_from_slice(key.raw().as_bytes());
                out.push(b':');
                write_part(value, out);
            }
            out.push(b'}');
        }
        _ => out.extend_from_slice(part.raw().as_bytes()),
    }
}
