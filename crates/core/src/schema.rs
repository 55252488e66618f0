//! JSON Schemas of arguments and results: compiled once, bounded, and never allowed to fetch anything.

use jsonschema::Draft;
use serde_json::Value;

use crate::problem::closest;

mod expansion;

/// The types that a schema may name.
const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object", "null"];
/// The most faults of one schema that are told at once.
const MOST_FAULTS: usize = 20;

/// Compiles schemas under limits.
#[derive(Clone, Copy, Debug)]
pub struct SchemaCompiler {
    /// The deepest nesting of a schema.
    pub max_depth: usize,
    /// The most JSON values a schema may consist of.
    pub max_nodes: usize,
}

impl Default for SchemaCompiler {
    fn default() -> Self {
        Self { max_depth: 64, max_nodes: 50_000 }
    }
}

/// A compiled schema.
#[derive(Debug)]
pub struct Validator(jsonschema::Validator);

/// One way in which a value does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer into the value.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

impl SchemaCompiler {
    /// Compiles `schema`: 2020-12 unless its `$schema` says draft-07. Every fault comes back with a pointer into the schema.
    pub fn compile(&self, schema: &Value) -> Result<Validator, Vec<Violation>> {
        self.check_bounds(schema)?;
        let draft = draft_of(schema)?;
        let faults = meta_faults(draft, schema);
        if !faults.is_empty() {
            return Err(faults);
        }
        let faults = remote_references(schema);
        if !faults.is_empty() {
            return Err(faults);
        }
        expansion::check(schema).map_err(|fault| vec![fault])?;
        jsonschema::options().with_draft(draft).build(schema).map(Validator).map_err(|error| {
            vec![Violation { pointer: error.instance_path().to_string(), message: error.to_string() }]
        })
    }

    fn check_bounds(&self, schema: &Value) -> Result<(), Vec<Violation>> {
        let mut nodes = 0;
        let mut stack = vec![(schema, 0)];
        while let Some((value, depth)) = stack.pop() {
            nodes += 1;
            if depth > self.max_depth || nodes > self.max_nodes {
                let message = format!(
                    "the schema is too large: at most {} levels and {} values are allowed; move parts into $defs or drop detail",
                    self.max_depth, self.max_nodes
                );
                return Err(vec![Violation { pointer: String::new(), message }]);
            }
            match value {
                Value::Array(items) => stack.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(members) => stack.extend(members.values().map(|item| (item, depth + 1))),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Validator {
    /// Whether `value` fits.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }

    /// Every way in which `value` does not fit, at most `limit` of them.
    pub fn violations(&self, value: &Value, limit: usize) -> Vec<Violation> {
        self.0.iter_errors(value).take(limit).map(|error| describe(&error)).collect()
    }
}

/// Says what is wrong with a value, naming a missing or unexpected property by its own pointer and quoting no more
/// than a little of the value.
fn describe(error: &jsonschema::ValidationError<'_>) -> Violation {
    use jsonschema::error::ValidationErrorKind as Kind;
    let pointer = error.instance_path().to_string();
    match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            Violation {
                message: format!("{name:?} is required"),
                pointer: format!("{pointer}/{}", escape(name)),
            }
        }
        Kind::AdditionalProperties { unexpected } if unexpected.len() == 1 => Violation {
            message: format!("{:?} is not a known property", unexpected[0]),
            pointer: format!("{pointer}/{}", escape(&unexpected[0])),
        },
        _ => Violation { message: shortened(&error.to_string()), pointer },
    }
}

fn shortened(message: &str) -> String {
    const LONGEST: usize = 300;
    if message.chars().count() <= LONGEST {
        return message.to_owned();
    }
    let (head, tail): (String, Vec<char>) =
        (message.chars().take(LONGEST / 3).collect(), message.chars().collect());
    let tail: String = tail[tail.len() - LONGEST / 3..].iter().collect();
    format!("{head} … {tail}")
}

fn escape(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

fn draft_of(schema: &Value) -> Result<Draft, Vec<Violation>> {
    let Some(named) = schema.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    let text = named.as_str().unwrap_or_default().trim_end_matches('#');
    match text {
        "https://json-schema.org/draft/2020-12/schema" => Ok(Draft::Draft202012),
        "http://json-schema.org/draft-07/schema" | "https://json-schema.org/draft-07/schema" => {
            Ok(Draft::Draft7)
        }
        _ => Err(vec![Violation {
            pointer: "/$schema".into(),
            message: format!(
                "the dialect {named} is not supported; use https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema, or leave $schema out"
            ),
        }]),
    }
}

fn meta_faults(draft: Draft, schema: &Value) -> Vec<Violation> {
    let meta = match draft {
        Draft::Draft7 => jsonschema::draft7::meta::validator(),
        _ => jsonschema::draft202012::meta::validator(),
    };
    let mut faults: Vec<Violation> = Vec::new();
    for error in meta.iter_errors(schema).take(MOST_FAULTS) {
        let fault =
            unknown_type(&error).or_else(|| unquoted_word(&error)).unwrap_or_else(|| describe(&error));
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    faults
}

/// The fault of a `type` that names no type, which the meta-schema tells as two alternatives.
fn unknown_type(error: &jsonschema::ValidationError<'_>) -> Option<Violation> {
    let pointer = error.instance_path().to_string();
    let is_type = pointer.ends_with("/type") && error.schema_path().to_string().ends_with("/type/anyOf");
    let named = is_type.then(|| error.instance().as_str()).flatten()?;
    let hint = closest(named, TYPES.iter().copied())
        .map(|meant| format!("; did you mean {meant:?}?"))
        .unwrap_or_default();
    Some(Violation { pointer, message: format!("{named:?} is not one of {}{hint}", TYPES.join(", ")) })
}

/// The fault of a boolean where a text should be: YAML takes words such as `n` and `off` for booleans.
fn unquoted_word(error: &jsonschema::ValidationError<'_>) -> Option<Violation> {
    use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
    let Kind::Type { kind: TypeKind::Single(jsonschema::types::JsonType::String) } = error.kind() else {
        return None;
    };
    error.instance().as_bool().map(|_| Violation {
        pointer: error.instance_path().to_string(),
        message: "must be of type string, not a boolean; quote it".into(),
    })
}

/// Every `$ref` that does not stay inside the schema.
fn remote_references(schema: &Value) -> Vec<Violation> {
    let mut faults = Vec::new();
    let mut stack = vec![(schema, String::new())];
    while let Some((value, pointer)) = stack.pop() {
        match value {
            Value::Array(items) => {
                stack.extend(
                    items.iter().enumerate().map(|(index, item)| (item, format!("{pointer}/{index}"))),
                );
            }
            Value::Object(members) => {
                for (key, member) in members {
                    let place = format!("{pointer}/{}", escape(key));
                    match member.as_str() {
                        Some(target)
                            if matches!(key.as_str(), "$ref" | "$dynamicRef") && !target.starts_with('#') =>
                        {
                            faults.push(Violation {
                                pointer: place,
                                message: format!("the reference {target:?} leaves the schema; copy its target into $defs and refer to it with #/$defs/…"),
                            });
                        }
                        _ => stack.push((member, place)),
                    }
                }
            }
            _ => {}
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_that_double_at_every_level_are_refused() {
        let doubling = |levels: usize| {
            let mut defs = serde_json::Map::new();
            for level in 0..levels {
                let next = format!("#/$defs/l{}", level + 1);
                defs.insert(format!("l{level}"), json!({"allOf": [{"$ref": next}, {"$ref": next}]}));
            }
            defs.insert(format!("l{levels}"), json!({"type": "integer"}));
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": defs})
        };
        let faults = SchemaCompiler::default().compile(&doubling(30)).unwrap_err();
        assert!(faults[0].pointer.starts_with("/$defs/l"), "{faults:?}");
        assert!(faults[0].message.contains("expand to more than 100000 schemas"), "{faults:?}");
        assert!(SchemaCompiler::default().compile(&doubling(5)).is_ok());
        // Within a resource of its own, references start from there.
        let mut inner = doubling(30);
        inner["$id"] = json!("urn:inner");
        let faults = SchemaCompiler::default().compile(&json!({"properties": {"x": inner}})).unwrap_err();
        assert!(faults[0].message.contains("expand to more than"), "{faults:?}");
    }

    #[test]
    fn doubling_by_anchors_is_refused_too() {
        let mut defs = serde_json::Map::new();
        for level in 0..30 {
            let next = format!("#l{}", level + 1);
            let anchor = format!("l{level}");
            defs.insert(
                anchor.clone(),
                json!({"$anchor": anchor, "anyOf": [{"$ref": next}, {"$dynamicRef": next}]}),
            );
        }
        defs.insert("l30".into(), json!({"$anchor": "l30", "type": "integer"}));
        let faults = SchemaCompiler::default().compile(&json!({"$ref": "#l0", "$defs": defs})).unwrap_err();
        assert!(faults[0].message.contains("expand to more than"), "{faults:?}");
    }

    #[test]
    fn a_long_chain_of_references_is_refused() {
        let chain = |links: usize| {
            let mut defs = serde_json::Map::new();
            for link in 0..links {
                let next = json!({"not": {"$ref": format!("#/$defs/l{}", link + 1)}});
                defs.insert(format!("l{link}"), (0..20).fold(next, |inner, _| json!({"not": inner})));
            }
            defs.insert(format!("l{links}"), json!({"type": "integer"}));
            json!({"$ref": "#/$defs/l0", "$defs": defs})
        };
        let faults = SchemaCompiler::default().compile(&chain(500)).unwrap_err();
        assert!(faults[0].message.contains("lead through more than 400 levels"), "{faults:?}");
        assert!(SchemaCompiler::default().compile(&chain(10)).is_ok());
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_fine() {
        let tree = json!({
            "$defs": {"node": {"type": "object", "properties": {
                "left": {"$ref": "#/$defs/node"},
                "right": {"$ref": "#/$defs/node"},
                "root": {"$ref": "#"}
            }}},
            "$ref": "#/$defs/node"
        });
        let validator = SchemaCompiler::default().compile(&tree).unwrap();
        assert!(validator.is_valid(&json!({"left": {"right": {}}})));
        assert!(!validator.is_valid(&json!({"left": {"right": 1}})));
    }

    #[test]
    fn a_word_that_yaml_took_for_a_boolean_is_told_with_what_to_do() {
        let schema =
            json!({"properties": {"a": {"type": "string", "description": false}}, "required": [true]});
        let faults = SchemaCompiler::default().compile(&schema).unwrap_err();
        let mut told: Vec<_> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        told.sort_unstable();
        assert_eq!(told, ["/properties/a/description", "/required/0"]);
        assert!(faults.iter().all(|fault| fault.message.ends_with("not a boolean; quote it")), "{faults:?}");
    }

    #[test]
    fn a_misspelt_type_is_told_once_with_what_was_meant() {
        for dialect in
            ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]
        {
            let schema = json!({"$schema": dialect, "properties": {"a": {"type": "strng"}, "b": {"items": {"type": ["x", 1]}}}});
            let faults = SchemaCompiler::default().compile(&schema).unwrap_err();
            let told: Vec<_> =
                faults.iter().map(|fault| format!("{}: {}", fault.pointer, fault.message)).collect();
            assert_eq!(
                told[0],
                "/properties/a/type: \"strng\" is not one of string, number, integer, boolean, array, object, null; did you mean \"string\"?"
            );
            assert_eq!(told.len(), 2, "{told:#?}");
        }
    }
}
