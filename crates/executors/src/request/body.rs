//! The body of a request, by `bodyType`.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Value;
use toolrail_core::{CallError, ErrorCode};

use super::multipart::{self, MultipartPart, PartTemplate};
use super::query::{self, Parameter, write_parameters};
use super::{BodyType, RequestSettings, json_text};
use crate::template::{Compiler, Place, Placement, Rendering, Template, Tree};

/// A compiled body.
#[derive(Debug)]
pub(super) enum BodyTemplate {
    None,
    Json(Tree),
    Form(Vec<Parameter>),
    Multipart(Vec<PartTemplate>),
    Text(Template),
    /// Base64 of what is sent.
    Binary(Template),
}

/// A body with its values filled in.
#[derive(Debug)]
pub(super) enum FilledBody {
    None,
    Bytes(Bytes),
    /// Parts whose files may still have to be fetched.
    Parts(Vec<MultipartPart>),
}

impl BodyTemplate {
    /// Compiles `body`, noting what is wrong.
    pub(super) fn compile(
        settings: &RequestSettings<'_>,
        method: Option<&Method>,
        compiler: &mut Compiler<'_>,
    ) -> Option<Self> {
        let pointer = settings.pointer("body");
        let Some(body) = settings.body else {
            if settings.body_type.is_some() {
                compiler.problems.error(
                    settings.pointer("bodyType"),
                    "has no effect without a body; add one or remove this",
                );
                return None;
            }
            return Some(Self::None);
        };
        if let Some(method @ (&Method::GET | &Method::HEAD)) = method {
            compiler.problems.error(
                &pointer,
                format!("a {method} request has no body; put the values into query, or use POST"),
            );
        }
        match settings.body_type.unwrap_or(BodyType::Json) {
            BodyType::Json => compile_json(body, &pointer, compiler).map(Self::Json),
            BodyType::Form => match body {
                Value::Object(fields) => query::fields(fields, &pointer, compiler).map(Self::Form),
                _ => wrong_shape("form", "an object of fields", &pointer, compiler),
            },
            BodyType::Multipart => match body {
                Value::Object(parts) => multipart::compile(parts, &pointer, compiler).map(Self::Multipart),
                _ => wrong_shape("multipart", "an object of parts", &pointer, compiler),
            },
            BodyType::Text => match body {
                Value::String(text) => compiler.template(text, &pointer, Place::Text).map(Self::Text),
                _ => wrong_shape("text", "a text", &pointer, compiler),
            },
            BodyType::Binary => match body {
                Value::String(text) => compile_binary(text, &pointer, compiler),
                _ => wrong_shape(
                    "binary",
                    "a text that yields base64, such as {{args.data}}",
                    &pointer,
                    compiler,
                ),
            },
        }
    }

    /// Fills the values in and says what they are.
    pub(super) fn render(
        &self,
        rendering: &mut Rendering<'_>,
        headers: &mut HeaderMap,
    ) -> Result<FilledBody, CallError> {
        let (bytes, mime) = match self {
            Self::None => return Ok(FilledBody::None),
            Self::Json(Tree::Fixed(text)) => (text.clone(), "application/json"),
            Self::Json(tree) => {
                let mut out = Vec::with_capacity(256);
                if tree.write(rendering, &mut out)? == Placement::Dropped {
                    return Ok(FilledBody::None);
                }
                (Bytes::from(out), "application/json")
            }
            Self::Form(fields) => {
                let mut out = String::new();
                write_parameters(fields, None, rendering, &mut out)?;
                (Bytes::from(out), "application/x-www-form-urlencoded")
            }
            Self::Multipart(parts) => return multipart::render(parts, rendering).map(FilledBody::Parts),
            Self::Text(template) => {
                let mut out = String::new();
                if template.write(rendering, &mut out)? == Placement::Dropped {
                    return Ok(FilledBody::None);
                }
                (Bytes::from(out), "text/plain; charset=utf-8")
            }
            Self::Binary(template) => match render_binary(template, rendering)? {
                Some(bytes) => (bytes, "application/octet-stream"),
                None => return Ok(FilledBody::None),
            },
        };
        if !headers.contains_key(CONTENT_TYPE) {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(mime));
        }
        Ok(FilledBody::Bytes(bytes))
    }
}

fn compile_json(body: &Value, pointer: &str, compiler: &mut Compiler<'_>) -> Option<Tree> {
    let Value::String(text) = body else {
        return compiler.tree(body, pointer);
    };
    match json_text::parse(text) {
        Ok(Some(value)) => compiler.tree_of_text(&value, pointer),
        Ok(None) => compiler.tree(body, pointer),
        Err(fault) => {
            compiler.problems.error(pointer, fault);
            None
        }
    }
}

fn compile_binary(text: &str, pointer: &str, compiler: &mut Compiler<'_>) -> Option<BodyTemplate> {
    let template = compiler.template(text, pointer, Place::Text)?;
    if let Some(literal) = template.literal()
        && let Err(fault) = decode(literal)
    {
        compiler.problems.error(pointer, format!("is not base64 ({fault}); correct it"));
        return None;
    }
    Some(BodyTemplate::Binary(template))
}

fn render_binary(template: &Template, rendering: &mut Rendering<'_>) -> Result<Option<Bytes>, CallError> {
    let mut text = String::new();
    if template.write(rendering, &mut text)? == Placement::Dropped {
        return Ok(None);
    }
    if rendering.is_shown() && template.names_secret() {
        return Ok(Some(Bytes::from(text)));
    }
    decode_value(&text, template).map(Some)
}

/// Decodes the base64 that a template yielded; a fault names the template's arguments, never the value.
pub(super) fn decode_value(text: &str, template: &Template) -> Result<Bytes, CallError> {
    decode(text).map_err(|fault| {
        let labels: Vec<_> = template.expressions().map(crate::template::Expression::label).collect();
        CallError::at_field(
            ErrorCode::InvalidArguments,
            template.pointer(),
            format_args!("{} is not base64 ({fault}); encode the bytes as base64", labels.join(" and ")),
        )
    })
}

/// Standard or URL-safe base64, with or without padding; line breaks are skipped, as mail and PEM have them.
fn decode(text: &str) -> Result<Bytes, base64::DecodeError> {
    const FORGIVING: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, FORGIVING);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, FORGIVING);
    let compact: String;
    let text = if text.contains(['\r', '\n', ' ']) {
        compact = text.chars().filter(|c| !matches!(c, '\r' | '\n' | ' ')).collect();
        compact.as_str()
    } else {
        text
    };
    let engine = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    engine.decode(text).map(Bytes::from)
}

/// Decodes base64 that no template of ours made.
pub(crate) fn decode_base64(text: &str) -> Option<Bytes> {
    decode(text).ok()
}

fn wrong_shape<T>(kind: &str, wanted: &str, pointer: &str, compiler: &mut Compiler<'_>) -> Option<T> {
    compiler
        .problems
        .error(pointer, format!("a body of type {kind:?} is {wanted}; write it so or change bodyType"));
    None
}
