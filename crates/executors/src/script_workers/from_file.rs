//! A script in a file as a definition: what it exports as `schema` becomes the fields of the tool.

use serde_json::{Map, Value, json};
use toolrail_scripts::{Inspection, Program};

/// Fields of a definition that a script may give in its schema as they are.
const FIELDS: [&str; 9] =
    ["title", "description", "annotations", "tags", "category", "policy", "approval", "icons", "_meta"];
/// Words of JSON Schema that make up the input schema where that is written in one with the rest.
const SCHEMA_WORDS: [&str; 12] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "$defs",
    "definitions",
    "allOf",
    "anyOf",
    "oneOf",
    "$schema",
    "dependentRequired",
];

/// The definition of a tool, if the file is one.
pub(super) fn definition_of(program: &Program, seen: &Inspection) -> Result<Option<Value>, String> {
    let Some(schema) = seen.schema.as_ref().filter(|schema| !schema.is_null()) else { return Ok(None) };
    let Value::Object(schema) = schema else {
        return Err(
            "`schema` is no object; write `export const schema = {name: …, description: …, …}`".to_owned()
        );
    };
    if !seen.has_default {
        return Err(
            "exports a schema but no function to call; write `export default async function (request) { … }`"
                .to_owned(),
        );
    }
    let name = schema.get("name").cloned().unwrap_or_else(|| json!(stem(&program.entry)));
    let mut definition = Map::from_iter([("name".to_owned(), name)]);
    for field in FIELDS {
        if let Some(value) = schema.get(field) {
            definition.insert(field.to_owned(), value.clone());
        }
    }
    definition.insert("inputSchema".to_owned(), input_of(schema));
    if let Some(output) = schema.get("outputSchema").filter(|output| !describes_whole_result(output)) {
        definition.insert("outputSchema".to_owned(), output.clone());
    }
    definition.insert("type".to_owned(), json!("script"));
    definition.insert("script".to_owned(), block_of(program, schema.get("script")));
    Ok(Some(Value::Object(definition)))
}

/// The block `script`: what the schema says about it, and the sources.
fn block_of(program: &Program, given: Option<&Value>) -> Value {
    let mut block = given.and_then(Value::as_object).cloned().unwrap_or_default();
    let source = program.files.get(&program.entry).cloned().unwrap_or_default();
    block.insert("file".to_owned(), json!(program.entry));
    block.insert("source".to_owned(), Value::String(source));
    let modules: Map<String, Value> = program
        .files
        .iter()
        .filter(|(name, _)| **name != program.entry)
        .map(|(name, text)| (name.clone(), json!(text)))
        .collect();
    if !modules.is_empty() {
        block.insert("modules".to_owned(), Value::Object(modules));
    }
    Value::Object(block)
}

fn input_of(schema: &Map<String, Value>) -> Value {
    if let Some(input) = schema.get("inputSchema") {
        return input.clone();
    }
    let words = SCHEMA_WORDS.iter().filter_map(|word| Some(((*word).to_owned(), schema.get(*word)?.clone())));
    let mut input: Map<String, Value> = words.collect();
    input.entry("type").or_insert_with(|| json!("object"));
    Value::Object(input)
}

/// Whether an output schema describes the result as a whole, `content` and `isError`, rather than what is structured in it.
/// It says no more than MCP does, and clients would look for it elsewhere.
fn describes_whole_result(output: &Value) -> bool {
    output.get("properties").is_some_and(|properties| properties.get("content").is_some())
}

fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}
