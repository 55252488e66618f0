//! A whole result object from somebody who speaks MCP, made to fit the client's generation. Only its top level is looked
//! at; unknown fields and the order of the keys survive.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toolrail_core::{Json, write_json_string};
use toolrail_protocol::meta::SERVER_INFO;
use toolrail_registry::Era;

use crate::envelope::Text;
use crate::finish::{Cache, Finish};
use crate::reply::{Code, Fault, Outcome};

/// Writes the whole object behind what `out` has already.
pub(crate) fn write(out: &mut Outcome, json: &Json, finish: Finish<'_>, cache: Cache) -> Result<(), Fault> {
    let Ok(members) = serde_json::from_str::<Members<'_>>(json.text()) else {
        return Err(Fault::new(Code::Internal, "the result is not a JSON object; its server must send one"));
    };
    match finish.dialect.era() {
        Era::Modern => write_modern(out, json, &members, (finish, cache)),
        Era::Legacy => write_legacy(out, json, &members)?,
    }
    Ok(())
}

fn write_modern(out: &mut Outcome, json: &Json, members: &Members<'_>, (finish, cache): (Finish<'_>, Cache)) {
    let mut writer = Writer::open(out, json.bytes());
    let me = finish.me.implementation().to_string();
    for (key, value) in &members.0 {
        if key == "_meta" {
            writer.meta(Some(value), Some(&me));
        } else {
            writer.member(key, value);
        }
    }
    if !members.has("resultType") {
        writer.literal("resultType", "\"complete\"");
    }
    let complete = members.result_type().is_none_or(|name| name == "complete");
    if let (true, Some((ttl, scope))) = (complete, cache.hints()) {
        if !members.has("ttlMs") {
            writer.literal("ttlMs", ttl);
        }
        if !members.has("cacheScope") {
            writer.literal("cacheScope", scope);
        }
    }
    if !members.has("_meta") {
        writer.meta(None, Some(&me));
    }
    writer.close();
}

fn write_legacy(out: &mut Outcome, json: &Json, members: &Members<'_>) -> Result<(), Fault> {
    if let Some(other) = members.result_type().filter(|name| name != "complete") {
        let message =
            format!("the result is of the type {other:?}, which clients of this revision do not know");
        return Err(Fault::new(Code::Internal, message));
    }
    let mut writer = Writer::open(out, json.bytes());
    for (key, value) in &members.0 {
        match &**key {
            "resultType" | "ttlMs" | "cacheScope" => {}
            "_meta" => writer.meta(Some(value), None),
            // Structured content of legacy clients must be an object, as the list has told them.
            "structuredContent" if !value.get().starts_with('{') => {
                writer.key(key);
                writer.out.out.extend_from_slice(b"{\"result\":");
                writer.value(value);
                writer.out.out.push(b'}');
            }
            _ => writer.member(key, value),
        }
    }
    writer.close();
    Ok(())
}

/// Writes members into an object one by one.
struct Writer<'a> {
    out: &'a mut Outcome,
    /// What the values are parts of.
    source: &'a Bytes,
    first: bool,
}

impl<'a> Writer<'a> {
    fn open(out: &'a mut Outcome, source: &'a Bytes) -> Self {
        out.out.push(b'{');
        Self { out, source, first: true }
    }

    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.first) {
            self.out.out.push(b',');
        }
        write_json_string(&mut self.out.out, key);
        self.out.out.push(b':');
    }

    fn value(&mut self, value: &RawValue) {
        self.out.share(&self.source.slice_ref(value.get().as_bytes()));
    }

    fn member(&mut self, key: &str, value: &RawValue) {
        self.key(key);
        self.value(value);
    }

    fn literal(&mut self, key: &str, json: &str) {
        self.key(key);
        self.out.out.extend_from_slice(json.as_bytes());
    }

    /// `_meta` without the server's name, or with ours in its place; nothing at all if nothing is left of it.
    fn meta(&mut self, value: Option<&RawValue>, me: Option<&str>) {
        let members = value.and_then(|value| serde_json::from_str::<Members<'_>>(value.get()).ok());
        let kept: Vec<_> =
            members.iter().flat_map(|members| &members.0).filter(|(key, _)| key != SERVER_INFO).collect();
        if kept.is_empty() && me.is_none() {
            return;
        }
        self.key("_meta");
        self.out.out.push(b'{');
        self.first = true;
        for (key, value) in kept {
            self.member(key, value);
        }
        if let Some(me) = me {
            self.literal(SERVER_INFO, me);
        }
        self.out.out.push(b'}');
        self.first = false;
    }

    fn close(self) {
        self.out.out.push(b'}');
    }
}

/// The members of an object in their order.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl Members<'_> {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    fn result_type(&self) -> Option<Cow<'_, str>> {
        let (_, value) = self.0.iter().find(|(key, _)| key == "resultType")?;
        serde_json::from_str::<Text<'_>>(value.get()).ok().map(|text| text.0)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Members<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Text(key), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
            members.push((key, value));
        }
        Ok(Members(members))
    }
}
