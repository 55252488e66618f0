//! What the kinds `prompt` and `resource` share: their entry in a list, the checks of their blocks, texts that clients
//! read (`text`), content that is fetched (`fetch`) and values to choose from (`choices`).

mod choices;
mod fetch;
mod text;

use serde_json::{Map, Value};
use toolrail_core::{
    ArgumentUse, CallError, Definition, ErrorCode, Problems, ResponseMapping, RpcError, did_you_mean_written,
};

use crate::http::HttpSettings;

pub(crate) use choices::Choices;
pub(crate) use fetch::{Fetch, Fetched};
pub(crate) use text::{Wanted, check_length, client_text, encoded, is_absolute, media_type, render};

/// What every entry in a list has: `name`, `title` and `description`.
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

/// Notes fields that only a request has where there is none. Those that only tools have are the registry's business.
pub(crate) fn check_fields(definition: &Definition, http: Option<&HttpSettings>, problems: &mut Problems) {
    if http.is_some() {
        return;
    }
    let kind = &definition.kind;
    let of_requests = [
        ("auth", definition.wants_auth()),
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
        let declared = declared.iter().map(String::as_str);
        let hint = did_you_mean_written(&usage.name, declared, |meant| format!("args.{meant}"))
            .unwrap_or_else(|| "declare it there, or remove it here".to_owned());
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
