//! Schemas of tools: checked when the tool is compiled, kept as text, and compiled again when the tool is first called. A
//! compiled schema takes some kilobytes, and of ten thousand tools only a few are in use.

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::Value;
use toolrail_core::{CallError, ErrorCode, SchemaCompiler, Validator};

/// A schema that is known to compile.
pub(crate) struct LazyValidator {
    schema: Bytes,
    compiled: OnceLock<Option<Box<Validator>>>,
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
    pub(crate) fn get(&self) -> Result<&Validator, CallError> {
        let compile = || {
            let schema: Value = serde_json::from_slice(&self.schema).ok()?;
            SchemaCompiler::default().compile(&schema).ok().map(Box::new)
        };
        let validator = self.compiled.get_or_init(compile).as_deref();
        validator.ok_or_else(|| {
            CallError::new(ErrorCode::Internal, "a schema that was checked does not compile any more")
        })
    }
}
