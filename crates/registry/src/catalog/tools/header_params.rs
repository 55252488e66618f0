//! `x-mcp-header`: arguments that clients of 2026-07-28 repeat in an HTTP header. A wrong annotation makes a
//! conforming client drop the tool, so it is refused at registration.

use serde_json::Value;
use toolrail_core::Problems;
use toolrail_protocol::HeaderParam;

const KEYWORD: &str = HeaderParam::KEYWORD;

/// Those of the input schema of a tool that somebody else offers; wrong annotations mean nothing.
pub fn header_params_of(schema: &Value) -> Vec<HeaderParam> {
    find(schema, &mut Problems::default())
}

/// Finds the annotations of an input schema and notes those that break the rules.
pub(crate) fn find(schema: &Value, problems: &mut Problems) -> Vec<HeaderParam> {
    let mut found: Vec<HeaderParam> = Vec::new();
    if !is_annotated(schema) {
        return found;
    }
    walk(schema, &mut ParamPlace::root(), problems, &mut found);
    found
}

/// Whether there is any annotation, which few schemas have.
fn is_annotated(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, member)| key == KEYWORD || is_annotated(member)),
        Value::Array(items) => items.iter().any(is_annotated),
        _ => false,
    }
}

struct ParamPlace {
    pointer: String,
    /// The chain of properties, or nothing once it left `properties`.
    path: Option<Vec<String>>,
}

impl ParamPlace {
    fn root() -> Self {
        Self { pointer: "/inputSchema".into(), path: Some(Vec::new()) }
    }

    fn step(&self, step: &str, path: Option<Vec<String>>) -> Self {
        let step = step.replace('~', "~0").replace('/', "~1");
        Self { pointer: format!("{}/{step}", self.pointer), path }
    }
}

fn walk(schema: &Value, place: &mut ParamPlace, problems: &mut Problems, found: &mut Vec<HeaderParam>) {
    match schema {
        Value::Object(members) => {
            if let Some(annotation) = members.get(KEYWORD) {
                check(annotation, schema, place, problems, found);
            }
            for (key, member) in members {
                match (key.as_str(), member, &place.path) {
                    ("properties", Value::Object(properties), Some(path)) => {
                        for (name, property) in properties {
                            let longer = [path.as_slice(), std::slice::from_ref(name)].concat();
                            let mut inner = place.step("properties", None).step(name, Some(longer));
                            walk(property, &mut inner, problems, found);
                        }
                    }
                    _ => walk(member, &mut place.step(key, None), problems, found),
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &mut place.step(&index.to_string(), None), problems, found);
            }
        }
        _ => {}
    }
}

fn check(
    annotation: &Value,
    schema: &Value,
    place: &ParamPlace,
    problems: &mut Problems,
    found: &mut Vec<HeaderParam>,
) {
    let pointer = format!("{}/{KEYWORD}", place.pointer);
    let Some(header) = annotation.as_str().filter(|text| is_token(text)) else {
        return problems.error(pointer, "must be a header name: letters, digits and !#$%&'*+-.^_`|~");
    };
    let Some(path) = place.path.as_ref().filter(|path| !path.is_empty()) else {
        return problems.error(pointer, "only properties of the arguments (through \"properties\" alone) can be repeated in a header; remove it");
    };
    if !matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
        return problems.error(
            pointer,
            "only a property of type string, integer or boolean can be repeated in a header",
        );
    }
    if found.iter().any(|other| other.header.eq_ignore_ascii_case(header)) {
        return problems
            .error(pointer, format!("the header name {header:?} is used twice; header names ignore case"));
    }
    found.push(HeaderParam { header: header.to_owned(), path: path.clone() });
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(schema: &Value) -> (Vec<HeaderParam>, Vec<String>) {
        let mut problems = Problems::default();
        let found = find(schema, &mut problems);
        let faults =
            problems.into_list(None, str::to_owned).into_iter().map(|problem| problem.pointer).collect();
        (found, faults)
    }

    #[test]
    fn a_nested_property_can_be_repeated_in_a_header() {
        let (found, faults) = faults(
            &json!({"properties": {"a": {"properties": {"b": {"type": "string", "x-mcp-header": "B"}}}}}),
        );
        assert_eq!(faults, Vec::<String>::new());
        assert_eq!(found, [HeaderParam { header: "B".into(), path: vec!["a".into(), "b".into()] }]);
    }

    #[test]
    fn wrong_annotations_are_told_with_their_place() {
        let (_, faults) = faults(&json!({"properties": {
            "number": {"type": "number", "x-mcp-header": "N"},
            "name": {"type": "string", "x-mcp-header": "a b"},
            "one": {"type": "string", "x-mcp-header": "X"},
            "two": {"type": "string", "x-mcp-header": "x"},
            "list": {"type": "array", "items": {"type": "string", "x-mcp-header": "L"}}
        }}));
        assert_eq!(
            faults,
            [
                "/inputSchema/properties/number/x-mcp-header",
                "/inputSchema/properties/name/x-mcp-header",
                "/inputSchema/properties/two/x-mcp-header",
                "/inputSchema/properties/list/items/x-mcp-header",
            ]
        );
    }
}
