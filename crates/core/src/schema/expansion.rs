//! How many schemas a schema comes to when its local references are followed. A few references that double at every
//! level describe more than can ever be compiled or checked.

use std::collections::HashMap;

use serde_json::Value;

use super::place::{Address, Anchors, Place};
use super::{Violation, escape};

const MOST: u64 = 100_000;

/// Levels of schemas and references together; each takes a piece of the stack.
const DEEPEST: usize = 400;

/// Refuses a schema whose references expand too far, naming the part at which they do.
pub(super) fn check(schema: &Value) -> Result<(), Violation> {
    let mut expansion = Expansion { anchors: Anchors::of(schema), counted: HashMap::new() };
    expansion.count(Place::root(schema), &mut String::new(), 0).map(drop)
}

struct Expansion<'s> {
    anchors: Anchors<'s>,
    /// What a target comes to; nothing while it is being counted, so that a cycle counts once.
    counted: HashMap<Address, Option<u64>>,
}

impl<'s> Expansion<'s> {
    /// What the schema at `pointer` comes to.
    fn count(&mut self, place: Place<'s>, pointer: &mut String, depth: usize) -> Result<u64, Violation> {
        let place = place.entered();
        let mut total: u64 = 1;
        match place.value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    total += self.count_at(place.inner(item), &index.to_string(), pointer, depth + 1)?;
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    total += match (key.as_str(), member) {
                        ("$ref" | "$dynamicRef", Value::String(target)) => {
                            self.count_target(target, place, pointer, depth + 1)?
                        }
                        // They count where they are referred to.
                        ("$defs" | "definitions", _) => 0,
                        _ => self.count_at(place.inner(member), key, pointer, depth + 1)?,
                    };
                }
            }
            _ => {}
        }
        if total > MOST { Err(too_many(pointer)) } else { Ok(total) }
    }

    fn count_at(
        &mut self,
        place: Place<'s>,
        step: &str,
        pointer: &mut String,
        depth: usize,
    ) -> Result<u64, Violation> {
        if !matches!(place.value, Value::Array(_) | Value::Object(_)) {
            return Ok(0);
        }
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&escape(step));
        let total = self.count(place, pointer, depth)?;
        pointer.truncate(length);
        Ok(total)
    }

    fn count_target(
        &mut self,
        target: &str,
        from: Place<'s>,
        pointer: &str,
        depth: usize,
    ) -> Result<u64, Violation> {
        let Some(place) = self.anchors.find(target, from) else {
            return Ok(1);
        };
        let address: Address = place.value;
        if let Some(counted) = self.counted.get(&address) {
            return Ok(counted.unwrap_or(1));
        }
        if depth > DEEPEST {
            return Err(Violation {
                pointer: pointer.to_owned(),
                message: format!(
                    "the references lead through more than {DEEPEST} levels; refer to the last one directly"
                ),
            });
        }
        self.counted.insert(address, None);
        let mut start =
            target.strip_prefix('#').filter(|path| path.starts_with('/')).unwrap_or_default().to_owned();
        let total = self.count(place, &mut start, depth)?;
        self.counted.insert(address, Some(total));
        Ok(total)
    }
}

fn too_many(pointer: &str) -> Violation {
    Violation {
        pointer: pointer.to_owned(),
        message: format!(
            "the references in this schema expand to more than {MOST} schemas; refer to each part once, or say less"
        ),
    }
}
