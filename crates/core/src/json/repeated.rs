//! Keys that stand twice in one object. Parsers take the last of them without a word, so that what a person reads first has no
//! effect.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::difference::step;
use crate::problem::{Problem, Severity};

/// The first key that stands twice in its object, as a problem. Text that is not JSON has none: whoever parses it says so.
pub fn repeated_key(text: &[u8]) -> Option<Problem> {
    let message = "stands twice here; keep one of them".to_owned();
    let told = |pointer| Problem {
        severity: Severity::Error,
        tool: None,
        origin: None,
        pointer,
        message,
        spot: None,
    };
    find(text).map(told)
}

/// The pointer to it.
fn find(text: &[u8]) -> Option<String> {
    let mut found = None;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // What it fails with is either told by the parser or found.
    let _ = Look { found: &mut found }.deserialize(&mut deserializer);
    found
}

/// Looks through one value, and ends at the first find. Its pointer is put together on the way back.
struct Look<'f> {
    found: &'f mut Option<String>,
}

impl Look<'_> {
    fn again(&mut self) -> Look<'_> {
        Look { found: self.found }
    }

    /// What was found below stands in that member.
    fn stands_in<E>(&mut self, key: &str, error: E) -> E {
        if let Some(below) = self.found.take() {
            *self.found = Some(format!("{}{below}", step("", key)));
        }
        error
    }
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0_usize;
        loop {
            match items.next_element_seed(self.again()) {
                Ok(Some(())) => index += 1,
                Ok(None) => return Ok(()),
                Err(error) => return Err(self.stands_in(&index.to_string(), error)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = members.next_key::<String>()? {
            if keys.contains(&key) {
                *self.found = Some(step("", &key));
                return Err(A::Error::custom("a key stands twice"));
            }
            if let Err(error) = members.next_value_seed(self.again()) {
                return Err(self.stands_in(&key, error));
            }
            keys.insert(key);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_in_one_object_is_found_wherever_it_is() {
        let found = |text: &str| find(text.as_bytes());
        assert_eq!(found(r#"{"a": 1, "b": {"a": [{"a": null}, {"a": "a"}]}}"#), None);
        assert_eq!(found(r#"{"a": 1, "a": 2}"#).as_deref(), Some("/a"));
        assert_eq!(found(r#"{"a": 1, "\u0061": 2}"#).as_deref(), Some("/a"));
        assert_eq!(found(r#"[1.5, {"x/y": [true, {"~": -1, "~": 0}]}]"#).as_deref(), Some("/1/x~1y/1/~0"));
        for not_json in ["", "{", "{\"a\": 1,", "[1 2]", &"[".repeat(100_000)] {
            assert_eq!(found(not_json), None);
        }
    }
}
