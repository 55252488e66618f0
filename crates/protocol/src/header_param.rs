//! `x-mcp-header`: arguments of a tool that modern clients repeat in headers of a call. Whether the annotations of a tool keep
//! the rules is checked where it is registered.

use serde_json::Value;

/// Deeper than any real schema.
const DEEPEST: usize = 32;

/// One argument that is repeated in `Mcp-Param-{header}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderParam {
    /// The name after `Mcp-Param-`.
    pub header: String,
    /// The properties that lead to the argument.
    pub path: Vec<String>,
}

impl HeaderParam {
    /// The name of the annotation in an input schema.
    pub const KEYWORD: &'static str = "x-mcp-header";

    /// The annotations of an input schema, right or wrong.
    pub fn find(schema: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        walk(schema, &mut Vec::new(), &mut found);
        found
    }

    /// What the header says of those arguments; nothing if they do not have the one it repeats.
    pub fn text_in(&self, arguments: &Value) -> Option<String> {
        match self.path.iter().try_fold(arguments, |value, step| value.get(step))? {
            Value::String(text) => Some(text.clone()),
            value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

fn walk(schema: &Value, path: &mut Vec<String>, found: &mut Vec<HeaderParam>) {
    if let Some(header) = schema.get(HeaderParam::KEYWORD).and_then(Value::as_str) {
        found.push(HeaderParam { header: header.to_owned(), path: path.clone() });
    }
    if path.len() >= DEEPEST {
        return;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        path.push(name.clone());
        walk(property, path, found);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotated_arguments_become_headers() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "page": {"properties": {"size": {"type": "integer", "x-mcp-header": "Size"}}},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "none": {"x-mcp-header": "None"},
            "plain": {},
        }});
        let arguments = json!({"region": "eu", "page": {"size": 7}, "dry": false, "none": null});
        let found = HeaderParam::find(&schema);
        let said: Vec<_> =
            found.iter().map(|param| (param.header.as_str(), param.text_in(&arguments))).collect();
        let expected = [("Region", Some("eu")), ("Size", Some("7")), ("Dry", Some("false")), ("None", None)];
        assert_eq!(said, expected.map(|(header, text)| (header, text.map(str::to_owned))));
        assert!(found.iter().all(|param| param.text_in(&json!(null)).is_none()));
    }
}
