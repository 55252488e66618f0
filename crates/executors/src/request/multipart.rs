//! Multipart bodies: texts, and files given as base64, as `data:` URIs, as embedded resources or as links that are
//! fetched through the same client, from hosts that the definition lists.

use std::hash::{BuildHasher, Hasher, RandomState};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Uri};
use serde_json::{Map, Value};
use toolrail_core::{CallError, ErrorCode, did_you_mean};

use super::body::decode_value;
use super::headers::AGENT;
use super::resource::{Data, FileContent};
use super::scalar_text;
use crate::outbound::{Bound, Client, Outgoing, SendLimits, Sensitive};
use crate::template::{Compiler, Evaluated, Place, Placement, Rendering, Template, child, text_of};

/// The most bytes that one linked file may have.
const MAX_LINKED_BYTES: usize = 16 * 1024 * 1024;
const FILE_FIELDS: &[&str] = &["filename", "contentType", "base64", "resource", "hosts"];

/// One part, compiled.
#[derive(Debug)]
pub(super) struct PartTemplate {
    name: String,
    value: PartValue,
}

#[derive(Debug)]
enum PartValue {
    Field(Template),
    File(FileTemplate),
}

#[derive(Debug)]
struct FileTemplate {
    filename: Option<Template>,
    content_type: Option<Template>,
    source: FileSource,
}

#[derive(Debug)]
enum FileSource {
    Base64(Template),
    /// A `data:` URI, an embedded resource or a link, and the hosts that may be linked to.
    Resource(Template, Vec<String>),
}

/// One part with its values filled in.
#[derive(Debug)]
pub(super) struct MultipartPart {
    /// The name of the field.
    pub(super) name: String,
    /// The name of the file, if it is one.
    pub(super) filename: Option<String>,
    /// Its media type, if it has one.
    pub(super) mime: Option<String>,
    /// What it holds.
    pub(super) data: Data,
}

/// Compiles the parts, noting what is wrong.
pub(super) fn compile(
    parts: &Map<String, Value>,
    pointer: &str,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<PartTemplate>> {
    let mut compiled = Vec::new();
    let mut whole = Some(());
    for (name, value) in parts {
        let place = child(pointer, name);
        compiler.check_key(name, &place);
        let items: Vec<(String, &Value)> = match value {
            Value::Array(items) => {
                items.iter().enumerate().map(|(index, item)| (format!("{place}/{index}"), item)).collect()
            }
            other => vec![(place, other)],
        };
        for (place, item) in items {
            let value = match item {
                Value::Object(file) => compile_file(file, &place, compiler).map(PartValue::File),
                other => scalar_text(other, &place, compiler.problems)
                    .and_then(|text| compiler.template(&text, &place, Place::Text))
                    .map(PartValue::Field),
            };
            match value {
                Some(value) => compiled.push(PartTemplate { name: name.clone(), value }),
                None => whole = None,
            }
        }
    }
    whole.map(|()| compiled)
}

fn compile_file(
    file: &Map<String, Value>,
    pointer: &str,
    compiler: &mut Compiler<'_>,
) -> Option<FileTemplate> {
    for field in file.keys().filter(|field| !FILE_FIELDS.contains(&field.as_str())) {
        let hint = did_you_mean(field, FILE_FIELDS.iter().copied())
            .unwrap_or_else(|| format!("a file has {}", FILE_FIELDS.join(", ")));
        compiler.problems.error(child(pointer, field), format!("unknown field {field:?} of a file; {hint}"));
    }
    let mut text = |field: &str, place: Place| match file.get(field) {
        None => Some(None),
        Some(value) => {
            let place_of_field = child(pointer, field);
            let text = scalar_text(value, &place_of_field, compiler.problems)?;
            compiler.template(&text, &place_of_field, place).map(Some)
        }
    };
    let filename = text("filename", Place::Text);
    let content_type = text("contentType", Place::Header);
    let base64 = text("base64", Place::Text);
    let resource = text("resource", Place::Text);
    let hosts = compile_hosts(file, pointer, compiler);
    let source = match (base64?, resource?) {
        (Some(template), None) => FileSource::Base64(template),
        (None, Some(template)) if template.whole().is_some() => FileSource::Resource(template, hosts?),
        (None, Some(_)) => {
            compiler
                .problems
                .error(child(pointer, "resource"), "must be one whole expression, such as {{args.file}}");
            return None;
        }
        (Some(_), Some(_)) => {
            compiler.problems.error(pointer, "a file has base64 or resource, not both; keep one of them");
            return None;
        }
        (None, None) => {
            compiler
                .problems
                .error(pointer, "a file needs base64 or resource; add one of them, such as {{args.data}}");
            return None;
        }
    };
    Some(FileTemplate { filename: filename?, content_type: content_type?, source })
}

fn compile_hosts(
    file: &Map<String, Value>,
    pointer: &str,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<String>> {
    let Some(hosts) = file.get("hosts") else {
        return Some(Vec::new());
    };
    let pointer = child(pointer, "hosts");
    let listed: Option<Vec<String>> = hosts.as_array().and_then(|hosts| {
        hosts
            .iter()
            .map(|host| host.as_str().filter(|host| !host.contains('/')).map(str::to_ascii_lowercase))
            .collect()
    });
    if listed.is_none() {
        compiler.problems.error(&pointer, "must be a list of host names, such as [\"files.example.com\"]");
    } else if !file.contains_key("resource") {
        compiler.problems.error(&pointer, "has no effect without resource; remove it");
    }
    listed
}

/// Fills the values in; absent parts are left out.
pub(super) fn render(
    parts: &[PartTemplate],
    rendering: &mut Rendering<'_>,
) -> Result<Vec<MultipartPart>, CallError> {
    let mut rendered = Vec::with_capacity(parts.len());
    for part in parts {
        match &part.value {
            PartValue::Field(template) => render_field(&part.name, template, rendering, &mut rendered)?,
            PartValue::File(file) => rendered.extend(render_file(&part.name, file, rendering)?),
        }
    }
    Ok(rendered)
}

fn render_field(
    name: &str,
    template: &Template,
    rendering: &mut Rendering<'_>,
    rendered: &mut Vec<MultipartPart>,
) -> Result<(), CallError> {
    let mut add = |text: &str, mime: Option<&str>| {
        let data = Data::Bytes(Bytes::copy_from_slice(text.as_bytes()));
        rendered.push(MultipartPart {
            name: name.to_owned(),
            filename: None,
            mime: mime.map(str::to_owned),
            data,
        });
    };
    let Some(expression) = template.whole() else {
        let mut text = String::new();
        if template.write(rendering, &mut text)? == Placement::Placed {
            add(&text, None);
        }
        return Ok(());
    };
    let value = rendering.evaluate(expression, template.pointer())?;
    if matches!(value, Evaluated::Absent) || value.is_null() {
        rendering.note(|| format!("{} is left out: {} is absent", template.pointer(), expression.label()));
        return Ok(());
    }
    match value.items() {
        Some(items) => {
            for item in items.iter().filter(|item| !item.is_null()) {
                add(&text_of(item), item.is_object().then_some("application/json"));
            }
        }
        None => add(&value.text(), value.json().is_some_and(Value::is_object).then_some("application/json")),
    }
    Ok(())
}

fn render_file(
    name: &str,
    file: &FileTemplate,
    rendering: &mut Rendering<'_>,
) -> Result<Option<MultipartPart>, CallError> {
    let resource = match &file.source {
        FileSource::Base64(template) => {
            let mut text = String::new();
            if template.write(rendering, &mut text)? == Placement::Dropped {
                return Ok(None);
            }
            let masked = rendering.is_shown() && template.names_secret();
            let bytes = if masked { Bytes::from(text) } else { decode_value(&text, template)? };
            FileContent { data: Data::Bytes(bytes), mime: None, name: None }
        }
        FileSource::Resource(template, hosts) => match render_resource(template, hosts, rendering)? {
            Some(resource) => resource,
            None => return Ok(None),
        },
    };
    let filename =
        written(file.filename.as_ref(), rendering)?.or(resource.name).unwrap_or_else(|| name.to_owned());
    let mime = written(file.content_type.as_ref(), rendering)?
        .or(resource.mime)
        .unwrap_or_else(|| "application/octet-stream".into());
    Ok(Some(MultipartPart {
        name: name.to_owned(),
        filename: Some(filename),
        mime: Some(mime),
        data: resource.data,
    }))
}

fn written(template: Option<&Template>, rendering: &mut Rendering<'_>) -> Result<Option<String>, CallError> {
    let Some(template) = template else {
        return Ok(None);
    };
    let mut text = String::new();
    Ok((template.write(rendering, &mut text)? == Placement::Placed).then_some(text))
}

fn render_resource(
    template: &Template,
    hosts: &[String],
    rendering: &mut Rendering<'_>,
) -> Result<Option<FileContent>, CallError> {
    let Some(expression) = template.whole() else {
        return Ok(None);
    };
    let value = rendering.evaluate(expression, template.pointer())?;
    if matches!(value, Evaluated::Absent) || value.is_null() {
        rendering.note(|| format!("{} is left out: {} is absent", template.pointer(), expression.label()));
        return Ok(None);
    }
    let fault = |words: String| {
        let words = format!("{} {words}", expression.label());
        CallError::at_field(ErrorCode::InvalidArguments, template.pointer(), words)
    };
    let resource = match value.json() {
        Some(Value::Object(block)) => FileContent::of_block(block, hosts).map_err(fault)?,
        _ => FileContent::of_uri(&value.text(), hosts).map_err(fault)?,
    };
    if let Data::Link(uri) = &resource.data {
        rendering.note(|| format!("the file at {uri} would be fetched and sent as {}", template.pointer()));
    }
    Ok(Some(resource))
}

/// Fetches what is linked and puts the body together; gives its `Content-Type` too.
pub(super) async fn assemble(
    parts: Vec<MultipartPart>,
    client: &Client,
    limits: SendLimits,
) -> Result<(Bytes, HeaderValue), CallError> {
    let boundary = boundary();
    let deadline = tokio::time::Instant::now() + limits.total;
    let mut body = Vec::new();
    for part in parts {
        let data = match part.data {
            Data::Bytes(bytes) => bytes,
            Data::Link(uri) => {
                let total = deadline.saturating_duration_since(tokio::time::Instant::now());
                fetch(
                    uri,
                    client,
                    SendLimits {
                        total,
                        connect: limits.connect.min(total),
                        max_response_bytes: MAX_LINKED_BYTES,
                        redirects: 0,
                    },
                )
                .await?
            }
        };
        body.extend_from_slice(
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quotable(&part.name))
                .as_bytes(),
        );
        if let Some(filename) = &part.filename {
            body.extend_from_slice(format!("; filename=\"{}\"", quotable(filename)).as_bytes());
        }
        if let Some(mime) = part.mime.as_deref().filter(|mime| !mime.contains(|c: char| c.is_ascii_control()))
        {
            body.extend_from_slice(format!("\r\nContent-Type: {mime}").as_bytes());
        }
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(&data);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok((Bytes::from(body), super::header_value(&format!("multipart/form-data; boundary={boundary}"))))
}

/// Redirects are not followed, since they could lead away from the listed hosts.
async fn fetch(uri: Uri, client: &Client, limits: SendLimits) -> Result<Bytes, CallError> {
    let mut headers = HeaderMap::new();
    headers.insert(http::header::USER_AGENT, HeaderValue::from_static(AGENT));
    let shown = uri.clone();
    let request = Outgoing {
        method: Method::GET,
        uri,
        headers,
        body: Bytes::new(),
        secret_body: false,
        limits,
        sensitive: Sensitive::default(),
        bound: Bound::default(),
    };
    let incoming = client.send(request).await?;
    if !incoming.status.is_success() {
        return Err(CallError::new(
            ErrorCode::InvalidArguments,
            format!(
                "the linked file {shown} cannot be fetched: the host answered {}; check the link",
                incoming.status
            ),
        ));
    }
    if incoming.cut.is_some() {
        return Err(CallError::new(
            ErrorCode::TooLarge,
            format!("the linked file {shown} has more than {MAX_LINKED_BYTES} bytes; link a smaller one"),
        ));
    }
    Ok(incoming.body)
}

/// A text that no file holds by accident and no caller can foresee.
fn boundary() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("toolrail-{:016x}{:016x}", random(), random())
}

/// A name inside quotes, as browsers escape it.
fn quotable(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
