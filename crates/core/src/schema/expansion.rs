//! How many schemas a schema comes to when its local references are followed. A few references that double at every
//! level describe more than can ever be compiled or checked.

use std::collections::HashMap;

use serde_json::Value;

use super::{Violation, escape};

const MOST: u64 = 100_000;

/// Levels of schemas and references together; each takes a piece of the stack.
const DEEPEST: usize = 400;

/// Refuses a schema whose references expand too far, naming the part at which they do.
pub(super) fn check(schema: &Value) -> Result<(), Violation> {
    let mut anchors = HashMap::new();
    find_anchors(Place { value: schema, base: schema }, &mut anchors);
    let mut expansion = Expansion { anchors, counted: HashMap::new() };
    expansion.count(Place { value: schema, base: schema }, &mut String::new(), 0).map(drop)
}

/// A schema, and the one with an `$id` around it, from which its references start.
#[derive(Clone, Copy)]
struct Place<'s> {
    value: &'s Value,
    base: &'s Value,
}

impl<'s> Place<'s> {
    /// This place, or the start of a resource of its own.
    fn entered(self) -> Self {
        let id = self.value.get("$id").and_then(Value::as_str);
        let own = id.is_some_and(|id| !id.starts_with('#'));
        if own { Self { base: self.value, ..self } } else { self }
    }

    fn inner(self, value: &'s Value) -> Self {
        Self { value, ..self }
    }
}

type Address = *const Value;

struct Expansion<'s> {
    anchors: HashMap<(Address, &'s str), Place<'s>>,
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
        let Some(place) = self.find(target, from) else {
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

    /// The schema that a local reference leads to.
    fn find(&self, target: &str, from: Place<'s>) -> Option<Place<'s>> {
        let fragment = percent_decode(target.strip_prefix('#')?);
        if fragment.is_empty() || fragment.starts_with('/') {
            return from.base.pointer(&fragment).map(|value| Place { value, base: from.base });
        }
        self.anchors.get(&(std::ptr::from_ref(from.base), fragment.as_str())).copied()
    }
}

fn find_anchors<'s>(place: Place<'s>, anchors: &mut HashMap<(Address, &'s str), Place<'s>>) {
    let place = place.entered();
    match place.value {
        Value::Array(items) => items.iter().for_each(|item| find_anchors(place.inner(item), anchors)),
        Value::Object(members) => {
            for (key, member) in members {
                let name = member.as_str().map(|name| name.trim_start_matches('#'));
                if let ("$anchor" | "$dynamicAnchor" | "$id", Some(name)) = (key.as_str(), name) {
                    anchors.insert((std::ptr::from_ref(place.base), name), place);
                }
                find_anchors(place.inner(member), anchors);
            }
        }
        _ => {}
    }
}

fn percent_decode(fragment: &str) -> String {
    let bytes = fragment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = fragment.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        if let Some(byte) = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn too_many(pointer: &str) -> Violation {
    Violation {
        pointer: pointer.to_owned(),
        message: format!(
            "the references in this schema expand to more than {MOST} schemas; refer to each part once, or say less"
        ),
    }
}
