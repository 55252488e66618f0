//! The formats and encodings that draft-07 checks, left to jsonschema.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::Draft;
use serde_json::{Map, Value, json};

use super::node::Known;

/// More than there are formats and encodings together.
const MOST: usize = 100;

/// The checks of one schema, each made once.
#[derive(Default)]
pub(super) struct Checks(HashMap<String, Option<Arc<Known>>>);

impl Checks {
    /// The check of a format; none for one that nobody knows.
    pub(super) fn of(&mut self, schema: &Map<String, Value>) -> Result<Option<Arc<Known>>, String> {
        let Some(Value::String(format)) = schema.get("format") else {
            return Ok(None);
        };
        self.made(json!({"format": format}), || format!("{format:?}"))
    }

    /// The check of an encoding and what is encoded.
    pub(super) fn content_of(&mut self, schema: &Map<String, Value>) -> Result<Option<Arc<Known>>, String> {
        let keywords = ["contentEncoding", "contentMediaType"];
        let given: Vec<(&str, &str)> = keywords
            .into_iter()
            .filter_map(|keyword| Some((keyword, schema.get(keyword)?.as_str()?)))
            .collect();
        if given.is_empty() {
            return Ok(None);
        }
        let small =
            given.iter().map(|(keyword, value)| ((*keyword).to_owned(), Value::from(*value))).collect();
        let told = || given.iter().map(|(_, value)| *value).collect::<Vec<_>>().join(" of ");
        self.made(Value::Object(small), told)
    }

    fn made(&mut self, schema: Value, told: impl FnOnce() -> String) -> Result<Option<Arc<Known>>, String> {
        let key = schema.to_string();
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        if self.0.len() >= MOST {
            return Err(format!(
                "the schema has more than {MOST} formats and encodings; remove those nobody knows"
            ));
        }
        let validator = jsonschema::options().with_draft(Draft::Draft7).build(&schema).ok();
        let known = validator.map(|validator| Arc::new(Known { validator, told: told().into() }));
        self.0.insert(key, known.clone());
        Ok(known)
    }
}
