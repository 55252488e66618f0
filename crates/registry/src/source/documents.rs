//! Reading definitions out of a file's text: JSON or YAML, one definition or several.

use std::path::Path;

use serde_json::Value;

/// One definition found in a file.
#[derive(Clone, Debug)]
pub struct ReadDocument {
    /// JSON pointer from the root of the file to the definition; empty for the only one.
    pub pointer: String,
    /// The definition.
    pub value: Value,
}

/// Reads the definitions in `text`: one object, a list of them, `{"tools": […]}`, or several YAML documents. The
/// error says what is wrong and, where the parser knows it, in which line and column.
pub fn read_documents(path: &Path, text: &str) -> Result<Vec<ReadDocument>, String> {
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let roots: Vec<Value> = if is_json {
        vec![serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))?]
    } else {
        serde_saphyr::from_multiple(text)
            .map_err(|error| format!("not valid YAML: {}", first_line(&error.to_string())))?
    };
    let several = roots.len() > 1;
    let mut found = Vec::new();
    for (index, root) in roots.into_iter().enumerate() {
        let base = if several { format!("/{index}") } else { String::new() };
        collect(root, &base, &mut found);
    }
    Ok(found)
}

fn collect(root: Value, base: &str, found: &mut Vec<ReadDocument>) {
    match root {
        Value::Null => {}
        Value::Array(items) => {
            found.extend(
                items
                    .into_iter()
                    .enumerate()
                    .map(|(index, value)| ReadDocument { pointer: format!("{base}/{index}"), value }),
            );
        }
        Value::Object(mut members)
            if members.len() == 1 && members.get("tools").is_some_and(Value::is_array) =>
        {
            if let Some(tools) = members.shift_remove("tools") {
                collect(tools, &format!("{base}/tools"), found);
            }
        }
        value => found.push(ReadDocument { pointer: base.to_owned(), value }),
    }
}

/// Parsers may draw a picture of the place below their message; a log line has no room for it.
fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or(message).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, text: &str, expected: &[(&str, &str)]) {
        let found = read_documents(Path::new(file), text).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|document| (document.pointer.as_str(), document.value["name"].as_str().unwrap()))
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn a_file_holds_one_definition_or_several() {
        check("a.yaml", "name: a\n", &[("", "a")]);
        check("a.yml", "- name: a\n- name: b\n", &[("/0", "a"), ("/1", "b")]);
        check("a.yaml", "tools:\n  - name: a\n", &[("/tools/0", "a")]);
        check("a.yaml", "name: a\n---\nname: b\n", &[("/0", "a"), ("/1", "b")]);
        check("a.json", "{\"name\": \"a\"}", &[("", "a")]);
        check("a.json", "{\"tools\": [{\"name\": \"a\"}]}", &[("/tools/0", "a")]);
    }

    #[test]
    fn a_broken_file_is_told_with_its_line() {
        let error = read_documents(Path::new("a.json"), "{\n  \"name\": }").unwrap_err();
        assert!(error.contains("line 2"), "{error}");
        let error = read_documents(Path::new("a.yaml"), "name: a\nhttp: [1, 2\nurl: x\n").unwrap_err();
        assert!(error.contains("not valid YAML") && error.contains('3'), "{error}");
    }
}
