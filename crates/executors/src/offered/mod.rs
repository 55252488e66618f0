//! What the kinds `prompt` and `resource` share: their entry in a list, the fields that mean nothing for them, texts that
//! clients read (`text`), content that is fetched (`fetch`) and values to choose from (`choices`).

mod choices;
mod fetch;
mod text;

use serde_json::{Map, Value, json};
use toolrail_core::{
    ArgumentUse, Auth, CallError, Definition, ErrorCode, Problems, ResponseMapping, RpcError, closest,
};

use crate::http::HttpSettings;

pub(crate) use choices::Choices;
pub(crate) use fetch::{Fetch, Fetched};
pub(crate) use text::{Wanted, check_length, client_text, encoded, is_absolute, media_type, render};

/// The beginning of an entry in a list: `name`, `title` and `description`.
pub(crate) fn entry(definition: &Definition) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("name".into(), definition.name.as_str().into());
    for (field, text) in [("title", &definition.title), ("description", &definition.description)] {
        if let Some(text) = text {
            entry.insert(field.into(), text.as_str().into());
        }
    }
    entry
}

/// The end of an entry in a list: its `_meta`, if there is any.
pub(crate) fn with_meta(mut entry: Map<String, Value>, definition: &Definition) -> Value {
    let mut meta = Map::new();
    if let Some(category) = &definition.category {
        meta.insert("toolrail/category".into(), category.as_str().into());
    }
    if !definition.tags.is_empty() {
        meta.insert("toolrail/tags".into(), json!(definition.tags));
    }
    if !meta.is_empty() {
        entry.insert("_meta".into(), Value::Object(meta));
    }
    Value::Object(entry)
}

/// Notes fields that only tools have, and those that only a request has where there is none.
pub(crate) fn check_fields(definition: &Definition, http: Option<&HttpSettings>, problems: &mut Problems) {
    let kind = &definition.kind;
    let of_tools = [
        ("inputSchema", definition.input_schema.is_some()),
        ("outputSchema", definition.output_schema.is_some()),
        ("annotations", definition.annotations.is_some()),
        ("deferLoading", definition.defer_loading.is_some()),
    ];
    for (field, _) in of_tools.into_iter().filter(|(_, there)| *there) {
        problems.error(
            format!("/{field}"),
            format!("belongs to tools and has no effect in a definition of type {kind:?}; remove it"),
        );
    }
    if http.is_some() {
        return;
    }
    let of_requests = [
        ("auth", definition.auth != Auth::None),
        ("responseMapping", definition.response_mapping != ResponseMapping::Passthrough),
    ];
    for (field, _) in of_requests.into_iter().filter(|(_, there)| *there) {
        problems.error(
            format!("/{field}"),
            format!("has no effect without \"http\" in {kind:?}, because nothing is fetched; remove it"),
        );
    }
}

/// Notes it unless exactly one of these fields of the block at `pointer` is there.
pub(crate) fn check_one_of(pointer: &str, fields: &[(&str, bool)], problems: &mut Problems) {
    let there: Vec<_> = fields.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect();
    match there.as_slice() {
        [] => {
            let names: Vec<_> = fields.iter().map(|(name, _)| format!("{name:?}")).collect();
            problems.error(pointer, format!("needs one of {}; add it", names.join(", ")));
        }
        [_] => {}
        [first, others @ ..] => {
            for other in others {
                problems.error(
                    format!("{pointer}/{other}"),
                    format!("cannot stand beside {first:?}; keep one of them"),
                );
            }
        }
    }
}

/// Notes uses of arguments that nobody can give. `declared_in` says where one is declared.
pub(crate) fn check_used(
    used: &[ArgumentUse],
    declared: &[String],
    declared_in: &str,
    problems: &mut Problems,
) {
    for usage in used.iter().filter(|usage| !declared.contains(&usage.name)) {
        let hint = match closest(&usage.name, declared.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean args.{meant}?"),
            None => "declare it there, or remove it here".to_owned(),
        };
        problems.error(&usage.pointer, format!("args.{} is not in {declared_in}; {hint}", usage.name));
    }
}

/// Tells a fault of the arguments to MCP clients as one of the request: prompts and resources have no error results.
pub(crate) fn as_fault_of_request(error: CallError) -> CallError {
    let of_request = matches!(error.code, ErrorCode::InvalidArguments | ErrorCode::TooLarge);
    if error.rpc.is_some() || !of_request {
        return error;
    }
    let rpc = RpcError { code: RpcError::INVALID_PARAMS, message: error.message.clone(), data: None };
    error.with_rpc(rpc)
}

/// Names the methods in the published schema of a block inside a block.
pub(crate) fn publish_http(schema: &mut Value) {
    if let Some(http) = schema.pointer_mut("/properties/http") {
        crate::request::publish(http);
    }
}
