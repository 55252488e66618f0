//! `x-mcp-header`: arguments of a tool that are repeated in headers of a call (2026-07-28). Whether the annotations are
//! right is checked where the tool is listed.

use serde_json::Value;

/// One argument that is repeated in `Mcp-Param-{header}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeaderParam {
    header: String,
    /// The properties that lead to the argument.
    path: Vec<String>,
}

/// Deeper than any real schema.
const DEEPEST: usize = 32;

/// The annotations of an input schema.
pub(super) fn find(schema: &Value) -> Vec<HeaderParam> {
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), &mut found);
    found
}

fn walk(schema: &Value, path: &mut Vec<String>, found: &mut Vec<HeaderParam>) {
    if let Some(header) = schema.get("x-mcp-header").and_then(Value::as_str) {
        found.push(HeaderParam { header: header.to_owned(), path: path.clone() });
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    if path.len() >= DEEPEST {
        return;
    }
    for (name, property) in properties.into_iter().flatten() {
        path.push(name.clone());
        walk(property, path, found);
        path.pop();
    }
}

/// The headers for those arguments, as names and values.
pub(super) fn of(params: &[HeaderParam], arguments: Option<&str>) -> Vec<(String, String)> {
    if params.is_empty() {
        return Vec::new();
    }
    let arguments: Value = arguments.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    params
        .iter()
        .filter_map(|param| {
            let value = param.path.iter().try_fold(&arguments, |value, step| value.get(step))?;
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((param.header.clone(), text))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotated_arguments_become_headers() {
        let schema = serde_json::json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "page": {"properties": {"size": {"type": "integer", "x-mcp-header": "Size"}}},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "none": {"x-mcp-header": "None"},
            "plain": {},
        }});
        let found = find(&schema);
        let headers = of(&found, Some(r#"{"region":"eu","page":{"size":7},"dry":false,"none":null}"#));
        let expected = [("Region", "eu"), ("Size", "7"), ("Dry", "false")];
        assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(of(&found, None), []);
    }
}
