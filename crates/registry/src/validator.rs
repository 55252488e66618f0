//! Schemas of tools: checked when the tool is compiled, kept as text, and compiled again when the tool is first called. A
//! compiled schema takes some kilobytes, and of ten thousand tools only a few are in use.

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::Value;
use toolrail_core::{CallError, ErrorCode, SchemaCompiler, Validator};

/// A schema that is known to compile.
pub(crate) struct LazyValidator {
    schema: Bytes,
    compiled: OnceLock<Option<Box<Ready>>>,
}

/// A schema in use.
pub(crate) struct Ready {
    pub(crate) validator: Validator,
    /// What a call that leaves them out gets.
    pub(crate) defaults: Vec<(Box<str>, Value)>,
}

impl LazyValidator {
    /// For a `schema` that was checked. If `text` holds the same JSON, it is shared.
    pub(crate) fn of(schema: &Value, text: &Bytes) -> Self {
        let json = schema.to_string();
        let found = memchr::memmem::find(text, json.as_bytes());
        let schema = match found {
            Some(start) => text.slice(start..start + json.len()),
            None => json.into(),
        };
        Self { schema, compiled: OnceLock::new() }
    }

    /// The compiled schema.
    pub(crate) fn get(&self) -> Result<&Ready, CallError> {
        let compile = || {
            let schema: Value = serde_json::from_slice(&self.schema).ok()?;
            let validator = SchemaCompiler::default().compile(&schema).ok()?;
            Some(Box::new(Ready { validator, defaults: defaults_of(&schema) }))
        };
        let ready = self.compiled.get_or_init(compile).as_deref();
        ready.ok_or_else(|| {
            CallError::new(ErrorCode::Internal, "a schema that was checked does not compile any more")
        })
    }
}

/// The defaults of the top-level arguments; a call that leaves one out gets it.
pub(crate) fn defaults_of(schema: &Value) -> Vec<(Box<str>, Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .filter_map(|(name, property)| Some((name.as_str().into(), property.get("default")?.clone())))
        .collect()
}
