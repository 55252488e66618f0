//! The content of a resource: what stands in the definition or is fetched, and how MCP writes it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use toolrail_core::{Block, Call, CallError, Definition, ErrorCode, Json, Payload, Preview};

use super::address::Address;
use super::settings::ResourceSettings;
use crate::http::HttpBlock;
use crate::offered::{Fetch, Fetched, Wanted, check_length, client_text, encoded, render};
use crate::runtime::Runtime;
use crate::template::{Compiler, Template};

const TEXT: &str = "/resource/text";

/// Compiled content.
#[derive(Debug)]
pub(super) enum ResourceContent {
    /// A text as it stands.
    Text(String),
    /// A text with variables.
    Template(Template),
    /// A file in base64, with its size.
    Blob(String, usize),
    /// What a request brings.
    Fetched(Box<Fetch>),
}

/// One reading: its only item, without `uri`.
#[derive(Debug)]
pub(super) struct Reading {
    /// What the content itself says it is.
    mime: Option<String>,
    field: &'static str,
    value: String,
    notes: Vec<String>,
}

impl ResourceContent {
    /// Compiles it, noting every fault.
    pub(super) fn compile(
        settings: &ResourceSettings,
        address: Option<&Address>,
        source: (&Definition, &Runtime),
        compiler: &mut Compiler<'_>,
    ) -> Option<Self> {
        if let Some(text) = &settings.text {
            return compile_text(text, address, compiler);
        }
        if let Some(blob) = &settings.blob {
            let (blob, size) = encoded(blob, "/resource/blob", compiler.problems)?;
            return Some(Self::Blob(blob, size));
        }
        let (definition, runtime) = source;
        let block = HttpBlock { settings: settings.http.as_ref()?, place: "resource/http" };
        let fetch = Fetch::compile(&block, definition, runtime, compiler)?;
        Some(Self::Fetched(Box::new(fetch)))
    }

    /// Its size in bytes, where that is known.
    pub(super) fn size(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.len()),
            Self::Blob(_, size) => Some(*size),
            Self::Template(_) | Self::Fetched(_) => None,
        }
    }

    /// Reads it.
    pub(super) async fn read(&self, call: &Call<'_>) -> Result<Reading, CallError> {
        match self {
            Self::Text(text) => Ok(Reading::text(text.clone())),
            Self::Template(template) => match render(template, &mut Wanted::new(call.arguments))? {
                Some(text) => Ok(Reading::text(text)),
                None => Err(incomplete(template, call)),
            },
            Self::Blob(blob, _) => Ok(Reading { field: "blob", ..Reading::text(blob.clone()) }),
            Self::Fetched(fetch) => fetch.run(call, ErrorCode::NotFound).await.and_then(Reading::of),
        }
    }

    /// What reading it would send.
    pub(super) fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        match self {
            Self::Fetched(fetch) => fetch.preview(call),
            Self::Text(_) | Self::Template(_) | Self::Blob(..) => Ok(Preview {
                request: json!({}),
                values: Vec::new(),
                notes: vec!["nothing is sent: the content stands in the definition".into()],
            }),
        }
    }
}

impl Reading {
    fn text(text: String) -> Self {
        Self { mime: None, field: "text", value: text, notes: Vec::new() }
    }

    fn of(fetched: Fetched) -> Result<Self, CallError> {
        let Fetched { result, media_type } = fetched;
        let (mime, field, value) = match result.payload {
            Payload::Json(json) => {
                (media_type.or_else(|| Some("application/json".into())), "text", json.text().to_owned())
            }
            Payload::Text(text) => (media_type, "text", text),
            Payload::Empty => (media_type, "text", String::new()),
            Payload::Blocks(blocks) => match blocks.into_iter().next() {
                Some(
                    Block::Image { data, mime }
                    | Block::Audio { data, mime }
                    | Block::Resource { data, mime, .. },
                ) => (Some(mime), "blob", STANDARD.encode(data)),
                Some(Block::Text(text) | Block::TextResource { text, .. }) => (media_type, "text", text),
                None => (media_type, "text", String::new()),
            },
            Payload::Whole(_) | Payload::InputRequired(_) => {
                return Err(CallError::new(ErrorCode::Internal, "a request brought no content"));
            }
        };
        Ok(Self { mime, field, value, notes: result.notes })
    }

    /// The result of `resources/read`. `mime` holds where the content says nothing about itself.
    pub(super) fn into_result(self, uri: &str, mime: Option<&str>) -> Json {
        let mut item = Map::new();
        item.insert("uri".into(), uri.into());
        if let Some(mime) = self.mime.as_deref().or(mime) {
            item.insert("mimeType".into(), mime.into());
        }
        item.insert(self.field.into(), Value::String(self.value));
        if !self.notes.is_empty() {
            item.insert("_meta".into(), json!({"toolrail/notes": self.notes}));
        }
        Json::from_value(&json!({"contents": [item]}))
    }
}

fn compile_text(
    text: &str,
    address: Option<&Address>,
    compiler: &mut Compiler<'_>,
) -> Option<ResourceContent> {
    if !matches!(address, Some(Address::Uri(_))) {
        return client_text(text, TEXT, compiler).map(ResourceContent::Template);
    }
    // Without variables there is nothing to fill in, and documents about templates have braces of their own.
    if text.contains("{{args.") || text.contains("{{secrets.") {
        compiler.problems.warning(
            TEXT,
            "has {{…}}, which stands as it is where there are no variables; use \"uriTemplate\" to have some",
        );
    }
    check_length(text, TEXT, compiler.problems)?;
    Some(ResourceContent::Text(text.to_owned()))
}

fn incomplete(template: &Template, call: &Call<'_>) -> CallError {
    let wanted: Vec<_> = template
        .expressions()
        .filter(|expression| expression.names_arguments())
        .map(|expression| format!("{{{{{}}}}}", expression.source()))
        .collect();
    CallError::invalid_params(format!(
        "{:?} lacks a variable that its text needs: {}; give it in the URI, or give the text a default",
        call.tool,
        wanted.join(", ")
    ))
}
