//! Places in a schema, and where its local references lead.

use std::collections::HashMap;

use serde_json::Value;

use super::member;

/// A schema, and the one with an `$id` around it, from which its references start.
#[derive(Clone, Copy)]
pub(super) struct Place<'s> {
    pub(super) value: &'s Value,
    pub(super) base: &'s Value,
}

/// Which value it is; two places are the same if their values stand at the same address.
pub(super) type Address = *const Value;

impl<'s> Place<'s> {
    /// The whole schema.
    pub(super) fn root(schema: &'s Value) -> Self {
        Self { value: schema, base: schema }
    }

    /// This place, or the start of a resource of its own.
    pub(super) fn entered(self) -> Self {
        let id = self.value.as_object().and_then(|members| member(members, "$id")).and_then(Value::as_str);
        let own = id.is_some_and(|id| !id.starts_with('#'));
        if own { Self { base: self.value, ..self } } else { self }
    }

    /// A value inside this one.
    pub(super) fn inner(self, value: &'s Value) -> Self {
        Self { value, ..self }
    }
}

/// The names that references may use, each within the resource that has it.
pub(super) struct Anchors<'s>(HashMap<(Address, &'s str), Place<'s>>);

impl<'s> Anchors<'s> {
    /// Those of a schema of bounded depth.
    pub(super) fn of(schema: &'s Value) -> Self {
        let mut anchors = HashMap::new();
        find_anchors(Place::root(schema), &mut anchors);
        Self(anchors)
    }

    /// The schema that a local reference leads to.
    pub(super) fn find(&self, target: &str, from: Place<'s>) -> Option<Place<'s>> {
        let fragment = percent_decode(target.strip_prefix('#')?);
        if fragment.is_empty() || fragment.starts_with('/') {
            return follow(&fragment, Place::inner(from, from.base));
        }
        self.named(from.base, &fragment)
    }

    /// The schema of that name in a resource.
    pub(super) fn named(&self, base: &Value, name: &str) -> Option<Place<'s>> {
        self.0.get(&(std::ptr::from_ref(base), name)).copied()
    }
}

/// Follows a JSON pointer; a resource that it passes becomes the base.
fn follow<'s>(pointer: &str, from: Place<'s>) -> Option<Place<'s>> {
    let mut place = from;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let value = match place.value {
            Value::Object(members) => members.get(&step)?,
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
        place = place.inner(value).entered();
    }
    Some(place)
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
