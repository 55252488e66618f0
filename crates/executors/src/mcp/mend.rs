//! Entries of a server's lists that strict clients would refuse, and with them the whole list: fields of the wrong form are
//! taken away, what must be there is filled in where that is plain, and the rest of such entries is left out. Every mend is
//! told in words.

use serde_json::{Map, Value, json};

/// What a field must be.
#[derive(Clone, Copy)]
enum FieldForm {
    Text,
    Truth,
    Number,
    Object,
    /// A number from 0 to 1.
    Share,
    /// `user` and `assistant`.
    Audience,
    Icons,
    /// What of an object is mended by itself.
    Fields(&'static [Field]),
}

/// A field that may be missing.
type Field = (&'static str, FieldForm);

const TOOL: &[Field] = &[
    ("title", FieldForm::Text),
    ("description", FieldForm::Text),
    ("outputSchema", FieldForm::Object),
    ("annotations", FieldForm::Fields(HINTS)),
    ("execution", FieldForm::Object),
    ("icons", FieldForm::Icons),
    ("_meta", FieldForm::Object),
];
const HINTS: &[Field] = &[
    ("title", FieldForm::Text),
    ("readOnlyHint", FieldForm::Truth),
    ("destructiveHint", FieldForm::Truth),
    ("idempotentHint", FieldForm::Truth),
    ("openWorldHint", FieldForm::Truth),
];
const PROMPT: &[Field] = &[
    ("title", FieldForm::Text),
    ("description", FieldForm::Text),
    ("icons", FieldForm::Icons),
    ("_meta", FieldForm::Object),
];
const ARGUMENT: &[Field] =
    &[("title", FieldForm::Text), ("description", FieldForm::Text), ("required", FieldForm::Truth)];
const RESOURCE: &[Field] = &[
    ("title", FieldForm::Text),
    ("description", FieldForm::Text),
    ("mimeType", FieldForm::Text),
    ("size", FieldForm::Number),
    (
        "annotations",
        FieldForm::Fields(&[
            ("audience", FieldForm::Audience),
            ("priority", FieldForm::Share),
            ("lastModified", FieldForm::Text),
        ]),
    ),
    ("icons", FieldForm::Icons),
    ("_meta", FieldForm::Object),
];

/// What a list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Tool,
    Prompt,
    Resource,
    Template,
}

impl Sort {
    /// For people.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "resource template",
        }
    }

    /// The field that it is asked for by.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt => "name",
            Self::Resource => "uri",
            Self::Template => "uriTemplate",
        }
    }
}

/// Mends an entry and adds what was done to `told`; the error says why the entry must be left out.
pub(super) fn mend(sort: Sort, entry: &mut Value, told: &mut Vec<String>) -> Result<(), String> {
    let mut mending = Mending { sort, entry, told };
    let key = mending.key()?;
    match sort {
        Sort::Tool => {
            mending.schema_type()?;
            mending.schema_members()?;
            mending.fields(TOOL);
        }
        Sort::Prompt => {
            mending.fields(PROMPT);
            mending.arguments();
        }
        Sort::Resource | Sort::Template => {
            mending.uri(key)?;
            mending.fields(RESOURCE);
        }
    }
    Ok(())
}

/// An entry of a list on its way.
struct Mending<'m> {
    sort: Sort,
    entry: &'m mut Value,
    /// What was done to it, in words.
    told: &'m mut Vec<String>,
}

impl Mending<'_> {
    /// What it is asked for by, which nobody can make up.
    fn key(&self) -> Result<String, String> {
        let (what, key) = (self.sort.word(), self.sort.key());
        let Some(members) = self.entry.as_object() else {
            return Err(format!("a {what} is left out: its entry is not an object"));
        };
        match members.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()) {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("a {what} is left out: it has no {key}, or one that is not a text")),
        }
    }

    fn uri(&mut self, uri: String) -> Result<(), String> {
        // A template may begin with a variable.
        if self.sort == Sort::Resource && !has_scheme(&uri) {
            return Err(self.left_out("a URI begins with a scheme, such as file:"));
        }
        if !self.entry.get("name").is_some_and(Value::is_string) {
            self.note("has no name; its URI stands for it");
            self.set("name", Value::String(uri));
        }
        Ok(())
    }

    fn schema_type(&mut self) -> Result<(), String> {
        match self.entry.get("inputSchema") {
            None | Some(Value::Null) => {
                self.note("has no inputSchema; it is listed as taking any arguments");
                self.set("inputSchema", json!({"type": "object"}));
            }
            Some(Value::Object(schema)) => match schema.get("type") {
                Some(Value::String(word)) if word == "object" => {}
                None => {
                    self.note("has an inputSchema without type; \"object\" is filled in");
                    self.schema(|schema| drop(schema.insert("type".to_owned(), json!("object"))));
                }
                Some(other) => {
                    let why = format!("its inputSchema is of the type {other}, but arguments are an object");
                    return Err(self.left_out(&why));
                }
            },
            Some(_) => return Err(self.left_out("its inputSchema is not an object")),
        }
        Ok(())
    }

    fn schema_members(&mut self) -> Result<(), String> {
        if self.entry.pointer("/inputSchema/properties").is_some_and(|properties| !properties.is_object()) {
            return Err(self.left_out("the properties of its inputSchema are not an object"));
        }
        let is_text_list =
            |value: &Value| value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
        if self.entry.pointer("/inputSchema/required").is_some_and(|required| !is_text_list(required)) {
            self.note("has an inputSchema whose required is not a list of texts; that is left away");
            self.schema(|schema| drop(schema.shift_remove("required")));
        }
        // The same in the words of clients that know no schemas but objects.
        self.schema(|schema| {
            let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
            for property in properties.into_iter().flat_map(Map::values_mut) {
                match property {
                    Value::Bool(true) => *property = json!({}),
                    Value::Bool(false) => *property = json!({"not": {}}),
                    _ => {}
                }
            }
        });
        Ok(())
    }

    fn arguments(&mut self) {
        let Some(arguments) = self.entry.get_mut("arguments").map(Value::take) else { return };
        let Value::Array(mut arguments) = arguments else {
            self.note("has arguments that are not a list; they are left away");
            self.remove("arguments");
            return;
        };
        let before = arguments.len();
        arguments.retain(|argument| argument.get("name").is_some_and(Value::is_string));
        if arguments.len() < before {
            self.note("has arguments without a name; they are left away");
        }
        for argument in &mut arguments {
            let mut wrong = Vec::new();
            trim(argument, ARGUMENT, "arguments/", &mut wrong);
            for wrong in wrong {
                self.note_wrong(&wrong);
            }
        }
        self.set("arguments", Value::Array(arguments));
    }

    /// Takes away what is not of its form.
    fn fields(&mut self, fields: &[Field]) {
        let mut wrong = Vec::new();
        trim(self.entry, fields, "", &mut wrong);
        for wrong in wrong {
            self.note_wrong(&wrong);
        }
    }

    fn note_wrong(&mut self, field: &str) {
        self.note(&format!("is listed without its {field}, which has the wrong form"));
    }

    fn note(&mut self, what: &str) {
        self.told.push(format!("the {} {} {what}", self.sort.word(), self.name()));
    }

    fn left_out(&self, why: &str) -> String {
        format!("the {} {} is left out: {why}", self.sort.word(), self.name())
    }

    fn name(&self) -> String {
        let name = self.entry.get(self.sort.key()).and_then(Value::as_str).unwrap_or_default();
        format!("{:?}", toolrail_core::shortened(name))
    }

    fn schema(&mut self, change: impl FnOnce(&mut Map<String, Value>)) {
        if let Some(schema) = self.entry.get_mut("inputSchema").and_then(Value::as_object_mut) {
            change(schema);
        }
    }

    fn set(&mut self, key: &str, value: Value) {
        if let Some(members) = self.entry.as_object_mut() {
            members.insert(key.to_owned(), value);
        }
    }

    fn remove(&mut self, key: &str) {
        if let Some(members) = self.entry.as_object_mut() {
            members.shift_remove(key);
        }
    }
}

/// Takes away the fields that are not of their form, and names them.
fn trim(value: &mut Value, fields: &[Field], path: &str, wrong: &mut Vec<String>) {
    let Some(members) = value.as_object_mut() else { return };
    for (name, form) in fields {
        let Some(field) = members.get_mut(*name) else { continue };
        if !form.fits(field) {
            members.shift_remove(*name);
            wrong.push(format!("{path}{name}"));
        } else if let FieldForm::Fields(inner) = form {
            trim(field, inner, &format!("{path}{name}/"), wrong);
        }
    }
}

impl FieldForm {
    fn fits(self, value: &Value) -> bool {
        let all = |fits: fn(&Value) -> bool| value.as_array().is_some_and(|list| list.iter().all(fits));
        match self {
            Self::Text => value.is_string(),
            Self::Truth => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Object | Self::Fields(_) => value.is_object(),
            Self::Share => value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)),
            Self::Audience => all(|role| matches!(role.as_str(), Some("user" | "assistant"))),
            Self::Icons => all(|icon| icon.get("src").is_some_and(Value::is_string)),
        }
    }
}

fn has_scheme(uri: &str) -> bool {
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(sort: Sort, mut entry: Value) -> (Result<Value, String>, Vec<String>) {
        let mut told = Vec::new();
        let done = mend(sort, &mut entry, &mut told);
        (done.map(|()| entry), told)
    }

    #[test]
    fn an_entry_in_order_stays_as_it_is() {
        let entry = json!({"name": "t", "description": "d", "x": null, "inputSchema": {"type": "object", "properties": {"a": {"minimum": 1.5}}},
            "annotations": {"readOnlyHint": true, "mine": 1}, "icons": [{"src": "data:,"}], "execution": {}});
        assert_eq!(mended(Sort::Tool, entry.clone()), (Ok(entry), vec![]));
    }

    #[test]
    fn what_a_tool_lacks_or_has_wrongly_is_mended_and_told() {
        let entry = json!({"name": "t", "title": null, "description": 5, "annotations": {"readOnlyHint": "yes"}, "icons": ["a"]});
        let (entry, told) = mended(Sort::Tool, entry);
        assert_eq!(
            entry.unwrap(),
            json!({"name": "t", "annotations": {}, "inputSchema": {"type": "object"}})
        );
        assert_eq!(told.len(), 5, "{told:?}");
        assert_eq!(told[0], "the tool \"t\" has no inputSchema; it is listed as taking any arguments");
        assert_eq!(
            told[3],
            "the tool \"t\" is listed without its annotations/readOnlyHint, which has the wrong form"
        );
        let loose = json!({"name": "t", "inputSchema": {"properties": {"a": true}, "required": "a"}});
        let (entry, told) = mended(Sort::Tool, loose);
        assert_eq!(entry.unwrap()["inputSchema"], json!({"type": "object", "properties": {"a": {}}}));
        assert_eq!(told.len(), 2, "{told:?}");
    }

    #[test]
    fn what_nobody_could_use_is_left_out() {
        for (entry, why) in [
            (json!(null), "its entry is not an object"),
            (json!({"name": 5}), "it has no name"),
            (
                json!({"name": "t", "inputSchema": "x"}),
                "the tool \"t\" is left out: its inputSchema is not an object",
            ),
            (json!({"name": "t", "inputSchema": {"type": "string"}}), "of the type \"string\""),
            (json!({"name": "t", "inputSchema": {"type": "object", "properties": []}}), "properties"),
        ] {
            let (refused, _) = mended(Sort::Tool, entry.clone());
            assert!(refused.as_ref().is_err_and(|told| told.contains(why)), "{entry}: {refused:?}");
        }
        let (refused, _) = mended(Sort::Resource, json!({"uri": "no scheme", "name": "r"}));
        assert!(refused.unwrap_err().contains("begins with a scheme"));
    }

    #[test]
    fn prompts_and_resources_are_mended_too() {
        let prompt =
            json!({"name": "p", "arguments": [{"name": "a", "required": "no"}, {"description": "b"}]});
        let (prompt, told) = mended(Sort::Prompt, prompt);
        assert_eq!(prompt.unwrap()["arguments"], json!([{"name": "a"}]));
        assert_eq!(told.len(), 2, "{told:?}");
        let resource =
            json!({"uri": "a:b", "annotations": {"priority": 7, "audience": ["user"]}, "size": "1"});
        let (resource, told) = mended(Sort::Resource, resource);
        assert_eq!(
            resource.unwrap(),
            json!({"uri": "a:b", "annotations": {"audience": ["user"]}, "name": "a:b"})
        );
        assert_eq!(told.len(), 3, "{told:?}");
    }
}
