//! The form of a definition: its JSON Schema, made from the document type and the kinds, and the check that finds every
//! structural fault at once.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::approval::{self, approval_of};
use super::document::Document;
use super::parts::{auth_of, mapping_of};
use super::split_form::{self, Spelling};
use super::{Definition, Policy, ResponseMapping};
use super::{published, unapplied};
use crate::kind::schema_of;
use crate::problem::{Problem, Problems, did_you_mean};
use crate::schema::{Effort, Fault, Reason, SchemaCompiler, Validator};
use crate::{AnyKind, Compiled, METADATA, ToolName};

/// Fields and values that a later release brings; refused so that nothing is stored and ignored. Those that are accepted and not applied are in `unapplied`.
const NOT_YET: &[(&str, &[&str])] = &[
    ("", &["tenant_id", "tenantId", "icons", "grpc", "graphql", "script", "mcp_server", "mcpServer"]),
    ("/policy", &["allow", "deny", "redact"]),
];
const KINDS_NOT_YET: &[&str] = &["grpc", "graphql", "script", "native"];

/// Words that other systems have for fields of a definition.
const OTHER_WORDS: &[(&str, &str)] =
    &[("desc", "description"), ("params", "inputSchema"), ("parameters", "inputSchema")];

/// The most faults of one definition that are told at once.
const MOST_FAULTS: usize = 200;
/// More than the largest definition takes.
const EFFORT: Effort = Effort::Thorough(8 << 20);

/// The form definitions must have, given the kinds there are.
pub struct DefinitionForm {
    kinds: Vec<Arc<dyn AnyKind>>,
    /// What may be said although nothing applies it yet, and where.
    unapplied: Vec<(String, &'static [&'static str])>,
    /// By which the form is checked.
    checked: Value,
    schema: Value,
    validator: Option<Validator>,
}

impl DefinitionForm {
    /// The form for these kinds.
    pub fn new(kinds: Vec<Arc<dyn AnyKind>>) -> Self {
        let unapplied = unapplied::places(&kinds);
        let mut checked = definition_schema(&kinds);
        unapplied::extend(&mut checked, &unapplied);
        let validator = SchemaCompiler::default().compile(&checked).ok();
        let mut schema = published::file_schema(&checked, &kinds);
        if let Some(definition) = schema.pointer_mut("/$defs/definition") {
            unapplied::extend(definition, &unapplied);
        }
        Self { kinds, unapplied, checked, schema, validator }
    }

    /// The published JSON Schema of a file of definitions.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Checks a document, compiles it by its kind and hands it to `finish`, which may note further problems; a kind that
    /// found errors hands over nothing, but the rest of the definition is still looked at. Every problem found comes back,
    /// with pointers into the document as it was written; no value comes back if one of them is an error.
    pub fn check<T>(
        &self,
        document: &Value,
        finish: impl FnOnce(Definition, Option<Compiled>, &mut Problems) -> Option<T>,
    ) -> (Option<T>, Vec<Problem>) {
        self.check_owned(document.clone(), finish)
    }

    /// The same for whoever has no more use for the document.
    pub fn check_owned<T>(
        &self,
        document: Value,
        finish: impl FnOnce(Definition, Option<Compiled>, &mut Problems) -> Option<T>,
    ) -> (Option<T>, Vec<Problem>) {
        let mut problems = Problems::default();
        let name = document.get("name").and_then(Value::as_str).map(str::to_owned);
        let Value::Object(members) = document else {
            problems.error("", format!("a definition is a JSON object, not {}", type_name(&document)));
            return (None, problems.into_list(None, str::to_owned));
        };
        let (value, spelling) = self.check_object(members, &mut problems, finish);
        let value = value.filter(|_| !problems.any_error());
        (value, problems.into_list(name.as_deref(), |pointer| spelling.as_written(pointer)))
    }

    fn check_object<T>(
        &self,
        mut members: Map<String, Value>,
        problems: &mut Problems,
        finish: impl FnOnce(Definition, Option<Compiled>, &mut Problems) -> Option<T>,
    ) -> (Option<T>, Spelling) {
        let spelling = split_form::unite(&mut members);
        for (pointer, ours) in &spelling.twice {
            problems
                .error(pointer, format!("means the same as {ours:?}, which is there too; keep one of them"));
        }
        self.infer_kind(&mut members);
        let mut document = Value::Object(members);
        for pointer in self.structural_faults(&document, problems) {
            remove(&mut document, &pointer);
        }
        if let Some(members) = document.as_object_mut() {
            unapplied::take_out(members, &self.unapplied, problems);
        }
        if document.get("type").is_none() && !problems.any_error() {
            problems.error("", self.no_kind(&document));
        }
        let value = self.definition(document, problems).and_then(|(definition, has_block)| {
            let kind = self.kinds.iter().find(|kind| has_block && kind.name() == definition.kind);
            let compiled = kind.and_then(|kind| kind.compile(&definition, problems));
            finish(definition, compiled, problems)
        });
        (value, spelling)
    }

    /// A definition with just one kind's block needs no `type`.
    fn infer_kind(&self, members: &mut Map<String, Value>) {
        if members.contains_key("type") {
            return;
        }
        let mut blocks = self.kinds.iter().filter(|kind| members.contains_key(kind.name()));
        if let (Some(kind), None) = (blocks.next(), blocks.next()) {
            members.insert("type".into(), kind.name().into());
        }
    }

    /// What to say to a definition that does not tell its kind.
    fn no_kind(&self, document: &Value) -> String {
        let names: Vec<&str> = self.kinds.iter().map(|kind| kind.name()).collect();
        let blocks: Vec<&str> = names.iter().filter(|name| document.get(**name).is_some()).copied().collect();
        if !blocks.is_empty() {
            return format!(
                "has the blocks {}; keep one, or say with \"type\" which counts",
                blocks.join(", ")
            );
        }
        format!(
            "does not say what it does: add one of the blocks {}; the smallest is \"http\": {{\"url\": \"https://api.example.com/\"}}",
            names.join(", ")
        )
    }

    /// Notes what has the wrong form, and returns where: without those parts the rest can still be searched for faults.
    fn structural_faults(&self, document: &Value, problems: &mut Problems) -> Vec<String> {
        let Some(validator) = &self.validator else {
            problems.error("", "the schema of definitions could not be built; this is a fault of Toolrail");
            return Vec::new();
        };
        let reasons = match validator.reasons(document, EFFORT, MOST_FAULTS) {
            Ok(reasons) => reasons,
            Err(overrun) => {
                problems.error("", overrun.to_string());
                return Vec::new();
            }
        };
        let mut places = Vec::new();
        for reason in reasons {
            self.describe(&reason, document, problems);
            if reason.fault != Fault::Missing {
                places.push(reason.violation.pointer);
            }
        }
        places
    }

    fn describe(&self, reason: &Reason, document: &Value, problems: &mut Problems) {
        let pointer = reason.violation.pointer.as_str();
        let (parent, field) = split_pointer(pointer);
        let form = self.form_at(pointer);
        let said = |keyword: &str| form.and_then(|form| form.get(keyword)).unwrap_or(&Value::Null);
        let found = document.pointer(pointer).unwrap_or(&Value::Null);
        match reason.fault {
            Fault::Unknown => {
                problems.error(pointer, self.unknown_field(parent, &field, &self.fields_at(parent)));
            }
            Fault::Missing => problems.error(parent, format!("the field {field:?} is missing; add it")),
            Fault::Choice => problems.error(pointer, unknown_value(pointer, found, said("enum"))),
            Fault::Type => problems.error(pointer, wrong_type(said("type"), found)),
            Fault::Other => problems.error(pointer, reason.violation.message.clone()),
        }
    }

    /// What the form says of the value at that place.
    fn form_at(&self, pointer: &str) -> Option<&Value> {
        let mut form = self.referred(&self.checked)?;
        for step in pointer.split('/').skip(1).map(unescaped) {
            let named = form.get("properties").and_then(|fields| fields.get(&step));
            let others = || form.get("additionalProperties").or_else(|| form.get("items"));
            form = self.referred(named.or_else(others)?)?;
        }
        Some(form)
    }

    fn referred<'f>(&'f self, form: &'f Value) -> Option<&'f Value> {
        match form.get("$ref").and_then(Value::as_str) {
            Some(target) => self.checked.pointer(target.strip_prefix('#')?),
            None => Some(form),
        }
    }

    /// The fields that are known at that place.
    fn fields_at(&self, pointer: &str) -> Vec<String> {
        let fields = self.form_at(pointer).and_then(|form| form.get("properties")).and_then(Value::as_object);
        fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    }

    /// The blocks of a definition in which that field would be known.
    fn homes(&self, field: &str) -> Vec<&str> {
        let blocks = self.checked.get("properties").and_then(Value::as_object);
        let is_home = |block: &Value| {
            let fields = self.referred(block).and_then(|block| block.get("properties"));
            fields.is_some_and(|fields| fields.get(field).is_some())
        };
        let blocks = blocks.into_iter().flatten().filter(|(_, block)| is_home(block));
        blocks.map(|(name, _)| name.as_str()).collect()
    }

    /// The field of the definition itself that was written into the block of a kind.
    fn top_level_field(&self, base: &str, field: &str) -> Option<&str> {
        let is_kind = |name: &str| self.kinds.iter().any(|kind| kind.name() == name);
        base.strip_prefix('/').filter(|block| is_kind(block))?;
        let plain = |text: &str| text.replace('_', "").to_ascii_lowercase();
        let fields = self.checked.get("properties").and_then(Value::as_object)?;
        let mut fields = fields.keys().filter(|name| !is_kind(name));
        fields.find(|name| plain(name) == plain(field)).map(String::as_str)
    }

    fn unknown_field(&self, base: &str, field: &str, known: &[String]) -> String {
        let listed = NOT_YET.iter().any(|(place, fields)| *place == base && fields.contains(&field));
        if listed {
            return format!("{field:?} is not supported yet; remove it");
        }
        if let Some(home) = self.top_level_field(base, field) {
            return format!("unknown field {field:?} here; it belongs at the top level, as {home:?}");
        }
        let other_word = OTHER_WORDS.iter().find(|(word, _)| base.is_empty() && *word == field);
        if let Some((_, meant)) = other_word {
            return format!("unknown field {field:?}; did you mean {meant:?}?");
        }
        let homes = if base.is_empty() { self.homes(field) } else { Vec::new() };
        match did_you_mean(field, known.iter().map(String::as_str)) {
            Some(question) => format!("unknown field {field:?}; {question}"),
            None if !homes.is_empty() => {
                format!("unknown field {field:?}; it belongs into the block {}", homes.join(" or "))
            }
            None => format!("unknown field {field:?}; known here: {}", known.join(", ")),
        }
    }

    /// The definition, and whether it has the block of its kind.
    fn definition(&self, document: Value, problems: &mut Problems) -> Option<(Definition, bool)> {
        let mut document = document;
        let members = document.as_object_mut()?;
        let kind = members.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let settings = self.take_blocks(members, &kind, problems);
        let name = checked_name(members, &kind, problems);
        // Structural faults were told in better words than serde's; here they only mean that there is no definition.
        let document: Document = serde_json::from_value(document).ok()?;
        let auth = document.auth.and_then(|auth| auth_of(auth, "/auth", problems));
        let response_mapping = document
            .response_mapping
            .map_or(Some(ResponseMapping::Passthrough), |mapping| mapping_of(mapping, problems));
        let has_block = settings.is_some();
        check_tags(document.tags.as_deref().unwrap_or_default(), problems);
        let definition = Definition {
            name,
            title: document.title,
            description: document.description,
            input_schema: document.input_schema.map(|schema| object_root(schema, &kind, problems)),
            kind,
            output_schema: document.output_schema,
            annotations: document.annotations,
            category: document.category,
            tags: document.tags.unwrap_or_default(),
            defer_loading: document.defer_loading,
            settings: settings.unwrap_or_default(),
            auth,
            response_mapping: response_mapping.unwrap_or_default(),
            policy: Policy { timeout_ms: document.policy.and_then(|policy| policy.timeout_ms) },
            approval: document.approval.as_ref().and_then(|written| approval_of(written, problems)),
            enabled: document.enabled.unwrap_or(true),
            registered_by: document.registered_by,
        };
        Some((definition, has_block))
    }

    /// Takes the kinds' blocks out of the document and returns the one that `type` names.
    fn take_blocks(
        &self,
        members: &mut Map<String, Value>,
        kind: &str,
        problems: &mut Problems,
    ) -> Option<Value> {
        let mut settings = None;
        for candidate in &self.kinds {
            let name = candidate.name();
            match members.shift_remove(name) {
                Some(block) if name == kind => settings = Some(block),
                Some(_) if !kind.is_empty() => {
                    problems.error(
                        format!("/{name}"),
                        format!("has no effect in a tool of type {kind:?}; remove it or change the type"),
                    );
                }
                _ => {}
            }
        }
        if settings.is_none() && self.kinds.iter().any(|candidate| candidate.name() == kind) {
            problems.error(
                format!("/{kind}"),
                format!("a tool of type {kind:?} needs the block {kind:?} with its settings"),
            );
        }
        settings
    }
}

/// Tags are words to find a tool by; they stand in every answer about it.
fn check_tags(tags: &[String], problems: &mut Problems) {
    const MOST: usize = 100;
    const LONGEST: usize = 200;
    if tags.len() > MOST {
        problems.error("/tags", format!("has {} tags; keep the {MOST} that matter at most", tags.len()));
    }
    for (at, tag) in tags.iter().enumerate().take(MOST) {
        if tag.chars().nth(LONGEST).is_some() {
            problems.error(format!("/tags/{at}"), format!("is longer than {LONGEST} characters; shorten it"));
        }
    }
}

/// The name; a stand-in if it is wrong, so that the rest is still searched for faults.
fn checked_name(members: &mut Map<String, Value>, kind: &str, problems: &mut Problems) -> ToolName {
    let parse = if kind == METADATA { ToolName::described } else { ToolName::defined };
    let given = members.get("name").and_then(Value::as_str).map(parse);
    match given {
        Some(Ok(name)) => name,
        Some(Err(invalid)) => {
            problems.error("/name", invalid.to_string());
            ToolName::stand_in()
        }
        None => {
            members.insert("name".into(), ToolName::stand_in().as_str().into());
            ToolName::stand_in()
        }
    }
}

fn definition_schema(kinds: &[Arc<dyn AnyKind>]) -> Value {
    let mut schema = schema_of::<Document>();
    let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
    if let Some(root) = schema.as_object_mut() {
        root.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        root.insert("title".into(), "Toolrail tool definition".into());
        root.insert("required".into(), json!(["name"]));
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        if let Some(Value::Object(kind)) = properties.get_mut("type") {
            kind.insert("type".into(), "string".into());
            kind.insert("enum".into(), json!(names));
        }
        properties.insert("approval".into(), approval::form());
        for kind in kinds {
            properties.insert(kind.name().into(), kind.schema());
        }
    }
    schema
}

/// The root of an input schema is an object schema (MCP); a missing `type` is filled in. That of a tool that is only described
/// stays as it is: nothing is checked by it, and it is shown as it was given.
fn object_root(mut schema: Value, kind: &str, problems: &mut Problems) -> Value {
    if let Some(members) = schema.as_object_mut().filter(|_| kind != METADATA) {
        match members.get("type") {
            None => {
                members.shift_insert(0, "type".into(), "object".into());
            }
            Some(kind) if kind == "object" => {}
            Some(kind) => {
                problems.error(
                    "/inputSchema/type",
                    format!("the root of an input schema must be \"object\", not {kind}; put the value into a property"),
                );
                // Told; the rest of the schema is still looked at.
                members.insert("type".into(), "object".into());
            }
        }
    }
    schema
}

fn wrong_type(expected: &Value, found: &Value) -> String {
    let names = expected.as_array().map_or(std::slice::from_ref(expected), Vec::as_slice);
    let expected: Vec<&str> = names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect();
    // YAML takes words such as `n` and `off` for booleans.
    let quotable = found.is_boolean() && expected.contains(&"string");
    let hint = if quotable { "; quote it" } else { "" };
    format!("must be of type {}, not {}{hint}", expected.join(" or "), type_name(found))
}

fn unknown_value(pointer: &str, found: &Value, options: &Value) -> String {
    let options: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(word) = found.as_str() else {
        return format!("must be one of {}, not {}", options.join(", "), type_name(found));
    };
    if pointer == "/type" && KINDS_NOT_YET.contains(&word) {
        return format!("{word:?} is not supported yet; use one of {}", options.join(", "));
    }
    match did_you_mean(word, options.iter().copied()) {
        Some(question) => format!("{word:?} is not one of {}; {question}", options.join(", ")),
        None => format!("{word:?} is not one of {}", options.join(", ")),
    }
}

/// Takes one member out of a tree.
fn remove(document: &mut Value, pointer: &str) {
    let Some((parent, field)) = pointer.rsplit_once('/') else {
        return;
    };
    if let Some(Value::Object(members)) = document.pointer_mut(parent) {
        members.shift_remove(&unescaped(field));
    }
}

/// The object around a place, and the name of the place in it.
fn split_pointer(pointer: &str) -> (&str, String) {
    pointer.rsplit_once('/').map_or(("", String::new()), |(parent, field)| (parent, unescaped(field)))
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
