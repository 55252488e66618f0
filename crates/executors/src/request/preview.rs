//! What a request looks like to a reader: the exact bytes where they are text, secrets masked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Map, Value, json};
use toolrail_core::{CallError, Preview};

use super::body::FilledBody;
use super::multipart::MultipartPart;
use super::resource::Data;
use super::{RequestTemplate, Target};
use crate::runtime::Runtime;
use crate::template::Rendering;

/// The longest binary that is shown in full.
const SHOWN_BYTES: usize = 4096;

/// The preview of a request to `target`.
pub(crate) fn shown(
    request: &RequestTemplate,
    target: &Target,
    arguments: &Map<String, Value>,
    runtime: &Runtime,
) -> Result<Preview, CallError> {
    let mut rendering = Rendering::to_show(arguments, &runtime.secrets);
    let mut draft = request.draft(&mut rendering)?;
    runtime.client.mark(&mut draft.headers);
    let rest = draft.rest.as_deref().or(request.fixed()).unwrap_or_default();
    let mut shown = Map::new();
    shown.insert("method".into(), draft.method.as_str().into());
    shown.insert("url".into(), target.shown(rest, &mut rendering)?.into());
    let mut headers = headers_shown(&draft.headers);
    let body = match draft.content {
        FilledBody::None => None,
        FilledBody::Bytes(bytes) => Some(bytes_shown(&bytes, draft.headers.get(http::header::CONTENT_TYPE))),
        FilledBody::Parts(parts) => {
            headers.insert("content-type".into(), "multipart/form-data".into());
            Some(parts.iter().map(part_shown).collect())
        }
    };
    shown.insert("headers".into(), Value::Object(headers));
    if let Some(body) = body {
        shown.insert("body".into(), body);
    }
    let trail = rendering.into_trail();
    let values = request.filled.iter().cloned().chain(trail.values).collect();
    Ok(Preview { request: Value::Object(shown), values, notes: trail.notes })
}

fn headers_shown(headers: &HeaderMap) -> Map<String, Value> {
    let text =
        |value: &http::HeaderValue| Value::from(String::from_utf8_lossy(value.as_bytes()).into_owned());
    headers
        .keys()
        .map(|name| {
            let mut values: Vec<Value> = headers.get_all(name).iter().map(text).collect();
            let shown = if values.len() == 1 { values.swap_remove(0) } else { Value::Array(values) };
            (name.as_str().to_owned(), shown)
        })
        .collect()
}

fn bytes_shown(bytes: &Bytes, content_type: Option<&http::HeaderValue>) -> Value {
    let is_json = content_type.is_some_and(|kind| kind.as_bytes().windows(4).any(|word| word == b"json"));
    if is_json && let Ok(value) = serde_json::from_slice(bytes) {
        return value;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) if bytes.len() <= SHOWN_BYTES => json!({"base64": STANDARD.encode(bytes)}),
        Err(_) => json!({"bytes": bytes.len()}),
    }
}

fn part_shown(part: &MultipartPart) -> Value {
    let mut shown = Map::new();
    shown.insert("name".into(), part.name.as_str().into());
    for (field, value) in [("filename", &part.filename), ("contentType", &part.mime)] {
        if let Some(value) = value {
            shown.insert(field.into(), value.as_str().into());
        }
    }
    match &part.data {
        Data::Bytes(bytes) => shown.insert("value".into(), bytes_shown(bytes, None)),
        Data::Link(uri) => shown.insert("resource".into(), uri.to_string().into()),
    };
    Value::Object(shown)
}
