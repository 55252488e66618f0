//! The arguments of a discovery tool, read with patience: models write numbers as texts, and null where they mean nothing.
//! What is not known is refused with what was probably meant.

use serde_json::{Map, Value};
use toolrail_core::{Call, CallError, did_you_mean, shortened};
use toolrail_registry::MOST_HITS;

use crate::failure::invalid;

/// The most tools that one answer has, as in RegistryTools.
pub(crate) const MOST_TOOLS: usize = MOST_HITS;

/// The arguments of one call; each is taken once, so that what is left is not known.
pub(crate) struct Arguments {
    left: Map<String, Value>,
    asked_for: Vec<&'static str>,
}

impl Arguments {
    pub(crate) fn of(call: &Call<'_>) -> Result<Self, CallError> {
        let left = match call.raw {
            None => Map::new(),
            Some(raw) => serde_json::from_str(raw.get())
                .map_err(|error| invalid(format!("无法解析参数\nthe arguments cannot be read: {error}")))?,
        };
        Ok(Self { left, asked_for: Vec::new() })
    }

    /// An argument; nothing if it is missing or null.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.asked_for.push(name);
        self.left.shift_remove(name).filter(|value| !value.is_null())
    }

    /// A text, if there is one.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, CallError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong_type(name, "must be a string")),
        }
    }

    /// A text that must be there; `empty` is what is said where it is not.
    pub(crate) fn needed(&mut self, name: &'static str, empty: &str) -> Result<String, CallError> {
        let text = self.text(name)?.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| invalid(format!("{empty}\n{name:?} is missing: a string that is not empty")))
    }

    /// An object, or a text that is one.
    pub(crate) fn object(&mut self, name: &'static str) -> Result<Option<Value>, CallError> {
        let value = match self.take(name) {
            Some(Value::String(text)) => serde_json::from_str(&text).ok(),
            other => return other.map(|value| object(name, value)).transpose(),
        };
        object(name, value.unwrap_or_default()).map(Some)
    }

    /// How many tools are wanted.
    pub(crate) fn limit(&mut self, default: usize) -> Result<usize, CallError> {
        let number = match self.take("limit") {
            None => return Ok(default),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_i64().or_else(|| whole(value.as_f64()?)),
        };
        let number: i64 = number.ok_or_else(|| wrong_type("limit", "must be a whole number"))?;
        match usize::try_from(number) {
            Ok(limit @ 1..=MOST_TOOLS) => Ok(limit),
            Ok(1..) => Err(invalid(format!(
                "返回数量超过限制 ({MOST_TOOLS})\n\"limit\" is at most {MOST_TOOLS}, not {number}"
            ))),
            _ => Err(invalid(format!("返回数量必须大于 0\n\"limit\" is at least 1, not {number}"))),
        }
    }

    /// Different texts: a list of them, or several in one with commas.
    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Vec<String>, CallError> {
        let wrong = || wrong_type(name, "must be a list of strings");
        let texts = match self.take(name) {
            None => Vec::new(),
            Some(Value::String(text)) => {
                let list = serde_json::from_str(&text);
                list.unwrap_or_else(|_| text.split([',', '，']).map(|part| part.trim().to_owned()).collect())
            }
            Some(Value::Array(values)) => {
                let texts = values.into_iter().map(|value| match value {
                    Value::String(text) => Ok(text),
                    _ => Err(wrong()),
                });
                texts.collect::<Result<_, _>>()?
            }
            Some(_) => return Err(wrong()),
        };
        let mut different = Vec::new();
        for text in texts.into_iter().filter(|text| !text.trim().is_empty()) {
            if !different.contains(&text) {
                different.push(text);
            }
        }
        Ok(different)
    }

    /// Yes or no, if something is said.
    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, CallError> {
        let read = match self.take(name) {
            None => return Ok(None),
            Some(Value::Bool(flag)) => Some(flag),
            Some(Value::String(text)) => text.trim().to_ascii_lowercase().parse().ok(),
            Some(_) => None,
        };
        read.map(Some).ok_or_else(|| wrong_type(name, "must be true or false"))
    }

    /// How often something happened, if something is said.
    pub(crate) fn count(&mut self, name: &'static str) -> Result<Option<u64>, CallError> {
        let read = match self.take(name) {
            None => return Ok(None),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_u64(),
        };
        read.map(Some).ok_or_else(|| wrong_type(name, "must be a whole number, 0 at least"))
    }

    /// Refuses what is left.
    pub(crate) fn finish(self) -> Result<(), CallError> {
        let Some(stray) = self.left.keys().next() else {
            return Ok(());
        };
        let known = || self.asked_for.iter().copied();
        let hint = did_you_mean(stray, known())
            .unwrap_or_else(|| format!("known here: {}", known().collect::<Vec<_>>().join(", ")));
        let stray = shortened(stray);
        Err(invalid(format!("未知参数: {stray}\nunknown argument {stray:?}; {hint}")))
    }
}

/// An argument that is something else than it must be.
fn wrong_type(name: &str, must: &str) -> CallError {
    invalid(format!("参数类型错误: {name}\n{name:?} {must}"))
}

fn object(name: &str, value: Value) -> Result<Value, CallError> {
    if value.is_object() { Ok(value) } else { Err(wrong_type(name, "must be an object")) }
}

/// The whole number that a number with a point is.
fn whole(number: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "what does not come back is no whole number of ours")]
    let whole = number as i64;
    #[expect(clippy::cast_precision_loss, reason = "as above")]
    let is_same = (whole as f64 - number).abs() < f64::EPSILON;
    is_same.then_some(whole)
}
