//! Schemas of tools: checked when the tool is compiled, kept as text, and compiled again when the tool is first called. A
//! compiled schema takes some kilobytes, and of ten thousand tools only a few are in use.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;
use toolrail_core::{CallError, ErrorCode, SchemaCompiler, Validator};

use super::checking::elsewhere;

/// A longer schema is compiled where nobody waits for the thread.
const LARGE: usize = 4 * 1024;

/// A schema that is known to compile.
pub(crate) struct LazyValidator {
    schema: Bytes,
    compiled: OnceLock<Option<Box<Ready>>>,
}

/// A schema in use.
pub(crate) struct Ready {
    pub(crate) validator: Arc<Validator>,
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
    pub(crate) async fn get(&self) -> Result<&Ready, CallError> {
        let ready = match self.compiled.get() {
            Some(ready) => ready,
            None if self.schema.len() <= LARGE => self.compiled.get_or_init(|| compile(&self.schema)),
            None => {
                let schema = self.schema.clone();
                let compiled = Box::pin(elsewhere(move || compile(&schema))).await?;
                self.compiled.get_or_init(|| compiled)
            }
        };
        ready.as_deref().ok_or_else(|| {
            CallError::new(ErrorCode::Internal, "a schema that was checked does not compile any more")
        })
    }
}

fn compile(schema: &[u8]) -> Option<Box<Ready>> {
    let schema: Value = serde_json::from_slice(schema).ok()?;
    let validator = Arc::new(SchemaCompiler::default().compile_again(&schema).ok()?);
    Some(Box::new(Ready { validator, defaults: defaults_of(&schema) }))
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
