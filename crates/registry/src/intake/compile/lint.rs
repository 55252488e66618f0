//! Warnings about poor definitions: they work, but a model will choose or fill them badly.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use toolrail_core::{
    ArgumentUse, Definition, Effort, METADATA, Misfit, Problems, ToolName, Validator, did_you_mean,
    did_you_mean_written,
};

use crate::catalog::is_discovery_tool;

/// Notes that a definition takes the place of a tool that the gateway has by itself.
pub(crate) fn warn_of_hidden_built_in(definition: &Definition, problems: &mut Problems) {
    let name = definition.name.as_str();
    if is_discovery_tool(name) {
        let message = format!(
            "hides the built-in discovery tool {name:?} of the gateway, so that clients get this one instead; take another name unless that is meant"
        );
        problems.warning("/name", message);
    }
}

/// Notes that clients call the tool otherwise, because they cannot carry its name.
pub(crate) fn warn_of_alias(definition: &Definition, problems: &mut Problems) {
    if let Some(alias) = definition.name.alias().filter(|_| definition.kind != METADATA) {
        let message = format!(
            "clients carry at most {} of A-Z a-z 0-9 _ . -, so the tool is listed to them as {alias:?}; both names can be called",
            ToolName::MAX_LENGTH
        );
        problems.warning("/name", message);
    }
}

/// Notes what makes a definition hard to choose or to fill in.
pub(crate) fn warn_of_poor_definition(definition: &Definition, problems: &mut Problems) {
    if definition.description.as_deref().unwrap_or_default().trim().is_empty() {
        problems.warning(
            "/description",
            "missing; a model chooses tools by their description, so say what it does and when to use it",
        );
    }
    // Nobody fills in what nobody calls.
    if definition.kind == METADATA {
        return;
    }
    let Some(schema) = &definition.input_schema else {
        return problems.warning(
            "/inputSchema",
            "missing; it was derived from the templates, without types and descriptions",
        );
    };
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    if !properties.is_empty() && schema.get("required").is_none() {
        problems.warning(
            "/inputSchema",
            "has no \"required\"; list the arguments a call must have, or [] if none",
        );
    }
    warn_of_undeclared(schema, properties, problems);
    for (name, property) in properties {
        let pointer = property_pointer(name);
        let missing: Vec<&str> = [("type", TYPES), ("description", &["description"])]
            .into_iter()
            .filter(|(_, keywords)| !keywords.iter().any(|keyword| property.get(keyword).is_some()))
            .map(|(what, _)| what)
            .collect();
        if !missing.is_empty() {
            problems.warning(
                pointer,
                format!("has no {}; models fill such arguments badly", missing.join(" and no ")),
            );
        }
    }
}

/// Notes required arguments that are declared nowhere.
fn warn_of_undeclared(schema: &Value, properties: &Map<String, Value>, problems: &mut Problems) {
    let elsewhere = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref"];
    if properties.is_empty() || elsewhere.iter().any(|keyword| schema.get(keyword).is_some()) {
        return;
    }
    for name in required(schema).filter(|name| !properties.contains_key(*name)).take(MOST_UNDECLARED) {
        let hint = did_you_mean(name, properties.keys().map(String::as_str));
        let hint = hint.unwrap_or_else(|| "declare it there".to_owned());
        problems.warning("/inputSchema/required", format!("{name:?} is not in \"properties\"; {hint}"));
    }
}

/// As many are looked for among the properties: each is compared with all of them.
const MOST_UNDECLARED: usize = 20;

/// Notes required arguments that the templates do not use; only where all that they use is known.
pub(crate) fn warn_of_unused(definition: &Definition, used: &[ArgumentUse], problems: &mut Problems) {
    let Some(schema) = &definition.input_schema else {
        return;
    };
    let used: HashSet<&str> = used.iter().map(|usage| usage.name.as_str()).collect();
    let properties = schema.get("properties");
    for name in required(schema) {
        if properties.is_some_and(|properties| properties.get(name).is_some()) && !used.contains(name) {
            problems.warning(
                property_pointer(name),
                format!("the argument {name:?} is used nowhere in the definition; put it into a template, or remove it"),
            );
        }
    }
}

/// Notes defaults that would make a call fail.
pub(crate) fn check_defaults(validator: &Validator, defaults: &[(Box<str>, Value)], problems: &mut Problems) {
    if defaults.is_empty() {
        return;
    }
    let call = defaults.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    // Other arguments are missing here; only what is wrong with the defaults themselves counts.
    let violations = match validator.check_for(&Value::Object(call), Effort::Thorough(0), MOST_VIOLATIONS) {
        Ok(()) => return,
        Err(Misfit::Violations(violations)) => violations,
        Err(Misfit::Overrun(overrun)) => {
            return problems.error("/inputSchema", format!("the defaults cannot be checked: {overrun}"));
        }
    };
    for violation in violations {
        let place = defaults.iter().find_map(|(name, _)| {
            let rest = violation.pointer.strip_prefix('/')?.strip_prefix(&*escaped(name))?;
            (rest.is_empty() || rest.starts_with('/'))
                .then(|| format!("{}/default{rest}", property_pointer(name)))
        });
        if let Some(place) = place {
            problems.error(
                place,
                format!(
                    "the default does not fit the schema beside it: {}; correct one of them",
                    violation.message
                ),
            );
        }
    }
}

/// More than a schema that somebody wrote by hand will have.
const MOST_VIOLATIONS: usize = 100;

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn property_pointer(name: &str) -> String {
    format!("/inputSchema/properties/{}", escaped(name))
}

fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

/// Keywords any of which says what a value may be.
const TYPES: &[&str] = &["type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"];

/// Checks the arguments that templates use against those that the schema declares.
pub(crate) fn check_arguments(definition: &Definition, used: &[ArgumentUse], problems: &mut Problems) {
    let Some(schema) = &definition.input_schema else {
        return;
    };
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required: HashSet<&str> = required(schema).collect();
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
        && schema.get("patternProperties").is_none();
    let mut undeclared_before = 0;
    for usage in used {
        match properties.get(&usage.name) {
            None if undeclared_before > MOST_UNDECLARED => {}
            None => {
                undeclared_before += 1;
                undeclared(usage, properties, closed, problems);
            }
            Some(property)
                if usage.required
                    && !required.contains(usage.name.as_str())
                    && property.get("default").is_none() =>
            {
                problems.warning(
                    &usage.pointer,
                    format!("args.{} stands in the path, so a call without it fails; add it to \"required\" or give it a default", usage.name),
                );
            }
            Some(_) => {}
        }
    }
}

fn undeclared(usage: &ArgumentUse, properties: &Map<String, Value>, closed: bool, problems: &mut Problems) {
    let known = properties.keys().map(String::as_str);
    let hint = did_you_mean_written(&usage.name, known, |meant| format!("args.{meant}"));
    let hint = hint.unwrap_or_else(|| "declare it there, or remove it here".to_owned());
    let message = format!("args.{} is not a property of inputSchema; {hint}", usage.name);
    if closed {
        problems.error(&usage.pointer, message);
    } else {
        problems.warning(&usage.pointer, message);
    }
}

/// The schema of a definition that gives none: what its templates use, and required where a call would fail without.
pub(crate) fn derived_schema(used: &[ArgumentUse]) -> Value {
    let mut properties = Map::new();
    let (mut required, mut known): (Vec<&str>, HashSet<&str>) = Default::default();
    for usage in used {
        properties.insert(usage.name.clone(), json!({}));
        if usage.required && known.insert(&usage.name) {
            required.push(&usage.name);
        }
    }
    json!({"type": "object", "properties": properties, "required": required})
}
