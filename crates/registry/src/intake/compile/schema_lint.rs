//! Keywords of a JSON Schema that are none: the standard lets them pass, and then they do nothing.

use serde_json::Value;
use toolrail_core::{Problems, did_you_mean};

/// How the value of a keyword is read further.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// No schema.
    Nothing,
    /// One schema, or a list of them.
    Schemas,
    /// Schemas by name.
    Named,
}

const KEYWORDS: &[(&str, Holds)] = &[
    ("type", Holds::Nothing),
    ("properties", Holds::Named),
    ("required", Holds::Nothing),
    ("description", Holds::Nothing),
    ("title", Holds::Nothing),
    ("default", Holds::Nothing),
    ("examples", Holds::Nothing),
    ("enum", Holds::Nothing),
    ("const", Holds::Nothing),
    ("format", Holds::Nothing),
    ("pattern", Holds::Nothing),
    ("minLength", Holds::Nothing),
    ("maxLength", Holds::Nothing),
    ("minimum", Holds::Nothing),
    ("maximum", Holds::Nothing),
    ("exclusiveMinimum", Holds::Nothing),
    ("exclusiveMaximum", Holds::Nothing),
    ("multipleOf", Holds::Nothing),
    ("items", Holds::Schemas),
    ("prefixItems", Holds::Schemas),
    ("additionalItems", Holds::Schemas),
    ("unevaluatedItems", Holds::Schemas),
    ("contains", Holds::Schemas),
    ("minContains", Holds::Nothing),
    ("maxContains", Holds::Nothing),
    ("minItems", Holds::Nothing),
    ("maxItems", Holds::Nothing),
    ("uniqueItems", Holds::Nothing),
    ("patternProperties", Holds::Named),
    ("additionalProperties", Holds::Schemas),
    ("unevaluatedProperties", Holds::Schemas),
    ("propertyNames", Holds::Schemas),
    ("minProperties", Holds::Nothing),
    ("maxProperties", Holds::Nothing),
    ("dependentRequired", Holds::Nothing),
    ("dependentSchemas", Holds::Named),
    ("dependencies", Holds::Nothing),
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("oneOf", Holds::Schemas),
    ("not", Holds::Schemas),
    ("if", Holds::Schemas),
    ("then", Holds::Schemas),
    ("else", Holds::Schemas),
    ("definitions", Holds::Named),
    ("contentEncoding", Holds::Nothing),
    ("contentMediaType", Holds::Nothing),
    ("contentSchema", Holds::Schemas),
    ("deprecated", Holds::Nothing),
    ("readOnly", Holds::Nothing),
    ("writeOnly", Holds::Nothing),
    // OpenAPI's, which generated schemas are full of.
    ("nullable", Holds::Nothing),
    ("example", Holds::Nothing),
    ("discriminator", Holds::Nothing),
    ("externalDocs", Holds::Nothing),
];
/// A shorter word is too close to too many others.
const SHORTEST: usize = 4;
/// Words that are no typing mistake of another keyword as often as they are.
const NEVER_MEANT: &[&str] = &["then", "else", "example", "nullable", "discriminator", "externalDocs"];
const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object", "null"];
/// The deepest that is looked; what is deeper is refused as too large.
const DEEPEST: usize = 64;

/// Notes what looks like a keyword and is none.
pub(crate) fn warn_of_misspelt_keywords(schema: &Value, base: &str, problems: &mut Problems) {
    walk(schema, LintPlace::Base(base), 0, problems);
}

/// Notes arguments that were written where `properties` should be.
pub(crate) fn check_root(schema: &Value, base: &str, problems: &mut Problems) {
    let members = schema.as_object().filter(|members| !members.contains_key("properties"));
    for (name, value) in members.into_iter().flatten() {
        if holds_of(name).is_none() && looks_like_property(value) {
            problems.error(
                child(base, name),
                format!("{name:?} is no JSON Schema keyword; put the arguments under \"properties\""),
            );
        }
    }
}

fn looks_like_property(value: &Value) -> bool {
    match value {
        Value::String(text) => TYPES.contains(&text.as_str()),
        Value::Object(members) => {
            let known = |keyword: &str| members.contains_key(keyword);
            members.get("type").is_some_and(Value::is_string)
                || ["$ref", "enum", "anyOf", "oneOf"].into_iter().any(known)
        }
        _ => false,
    }
}

/// A place in a schema, made into a pointer only where there is something to say of it.
#[derive(Clone, Copy)]
enum LintPlace<'p> {
    Base(&'p str),
    Child(&'p LintPlace<'p>, &'p str),
    Item(&'p LintPlace<'p>, usize),
}

impl LintPlace<'_> {
    fn pointer(self) -> String {
        match self {
            Self::Base(base) => base.to_owned(),
            Self::Child(place, step) => child(&place.pointer(), step),
            Self::Item(place, index) => format!("{}/{index}", place.pointer()),
        }
    }
}

fn walk(schema: &Value, place: LintPlace<'_>, depth: usize, problems: &mut Problems) {
    let Some(members) = schema.as_object().filter(|_| depth < DEEPEST) else {
        return;
    };
    for (keyword, value) in members {
        let place = LintPlace::Child(&place, keyword);
        match (holds_of(keyword), value) {
            (Some(Holds::Nothing), _) => {}
            (Some(Holds::Named), Value::Object(named)) => {
                for (name, schema) in named {
                    walk(schema, LintPlace::Child(&place, name), depth + 1, problems);
                }
            }
            (Some(Holds::Schemas), Value::Array(schemas)) => {
                for (index, schema) in schemas.iter().enumerate() {
                    walk(schema, LintPlace::Item(&place, index), depth + 1, problems);
                }
            }
            (Some(_), schema) => walk(schema, place, depth + 1, problems),
            (None, _) => warn_of_misspelt(keyword, place, problems),
        }
    }
}

fn warn_of_misspelt(keyword: &str, place: LintPlace<'_>, problems: &mut Problems) {
    let candidates = KEYWORDS.iter().map(|(known, _)| *known);
    let candidates = candidates.filter(|known| known.len() >= SHORTEST && !NEVER_MEANT.contains(known));
    if let Some(question) = did_you_mean(keyword, candidates).filter(|_| keyword.len() >= SHORTEST) {
        problems.warning(place.pointer(), format!("{keyword:?} is no JSON Schema keyword; {question}"));
    }
}

/// What a keyword holds; nothing if it is none. Names with `$` are the standard's own, and `x-` marks extensions.
fn holds_of(keyword: &str) -> Option<Holds> {
    match keyword {
        "$defs" => Some(Holds::Named),
        _ if keyword.starts_with('$') || keyword.starts_with("x-") => Some(Holds::Nothing),
        _ => KEYWORDS.iter().find(|(known, _)| *known == keyword).map(|(_, holds)| *holds),
    }
}

fn child(pointer: &str, step: &str) -> String {
    format!("{pointer}/{}", step.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(schema: &Value) -> Vec<String> {
        let mut problems = Problems::default();
        check_root(schema, "", &mut problems);
        warn_of_misspelt_keywords(schema, "", &mut problems);
        let list = problems.into_list(None, str::to_owned);
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn arguments_outside_of_properties_are_refused() {
        for value in [json!("string"), json!({"type": "string"}), json!({"enum": [1]})] {
            assert_eq!(
                told(&json!({"type": "object", "city": value})),
                [
                    "error at /city: \"city\" is no JSON Schema keyword; put the arguments under \"properties\""
                ]
            );
        }
    }

    #[test]
    fn misspelt_keywords_are_told_wherever_they_stand() {
        let schema = json!({
            "type": "object", "requried": ["a"],
            "properties": {
                "a": {"type": "integer", "minimun": 1, "descripton": "x"},
                "minimun": {"type": "array", "items": {"anyOf": [{"tpye": "string"}]}}
            },
            "$defs": {"x/y": {"patern": "a"}}
        });
        assert_eq!(
            told(&schema),
            [
                "warning at /requried: \"requried\" is no JSON Schema keyword; did you mean \"required\"?",
                "warning at /properties/a/minimun: \"minimun\" is no JSON Schema keyword; did you mean \"minimum\"?",
                "warning at /properties/a/descripton: \"descripton\" is no JSON Schema keyword; did you mean \"description\"?",
                "warning at /properties/minimun/items/anyOf/0/tpye: \"tpye\" is no JSON Schema keyword; did you mean \"type\"?",
                "warning at /$defs/x~1y/patern: \"patern\" is no JSON Schema keyword; did you mean \"pattern\"?",
            ]
        );
    }

    #[test]
    fn other_words_are_left_alone() {
        let schema = json!({
            "type": "object", "x-order": {"type": "string"}, "$comment": "c", "note": "n", "unit": "m", "in": "q",
            "properties": {"a": {"type": "string", "example": "x", "nullable": true, "label": "l", "default": {"minimun": 1}}}
        });
        assert_eq!(told(&schema), [""; 0]);
    }
}
