//! One message of a prompt, compiled, and how MCP writes it.

use serde_json::{Map, Value, json};
use toolrail_core::CallError;

use super::settings::{EmbeddedSettings, MediaSettings, MessageSettings};
use crate::offered::{Wanted, check_one_of, client_text, encoded, is_absolute, media_type, render};
use crate::template::{Compiler, Template};

/// A compiled message.
#[derive(Debug)]
pub(super) struct PromptMessage {
    role: String,
    content: MessageContent,
}

#[derive(Debug)]
enum MessageContent {
    Text(Template),
    /// A picture or a sound as it is written.
    Fixed(Value),
    Resource {
        uri: Template,
        mime: Option<String>,
        body: EmbeddedBody,
    },
}

#[derive(Debug)]
enum EmbeddedBody {
    Text(Template),
    Blob(String),
}

impl PromptMessage {
    /// Compiles the message at `pointer`, noting every fault.
    pub(super) fn compile(
        settings: &MessageSettings,
        pointer: &str,
        compiler: &mut Compiler<'_>,
    ) -> Option<Self> {
        let contents = [
            ("text", settings.text.is_some()),
            ("image", settings.image.is_some()),
            ("audio", settings.audio.is_some()),
            ("resource", settings.resource.is_some()),
        ];
        check_one_of(pointer, &contents, compiler.problems);
        let content = if let Some(text) = &settings.text {
            client_text(text, &format!("{pointer}/text"), compiler).map(MessageContent::Text)
        } else if let Some(image) = &settings.image {
            media(image, pointer, "image", compiler)
        } else if let Some(audio) = &settings.audio {
            media(audio, pointer, "audio", compiler)
        } else {
            settings
                .resource
                .as_ref()
                .and_then(|resource| embedded(resource, &format!("{pointer}/resource"), compiler))
        };
        Some(Self { role: settings.role.clone(), content: content? })
    }

    /// The message with its arguments filled in; nothing if one of them is absent.
    pub(super) fn render(&self, wanted: &mut Wanted<'_>) -> Result<Option<Value>, CallError> {
        let content = match &self.content {
            MessageContent::Text(template) => {
                render(template, wanted)?.map(|text| json!({"type": "text", "text": text}))
            }
            MessageContent::Fixed(block) => Some(block.clone()),
            MessageContent::Resource { uri, mime, body } => resource(uri, mime.as_deref(), body, wanted)?
                .map(|resource| json!({"type": "resource", "resource": resource})),
        };
        Ok(content.map(|content| json!({"role": self.role, "content": content})))
    }
}

fn media(
    settings: &MediaSettings,
    pointer: &str,
    kind: &'static str,
    compiler: &mut Compiler<'_>,
) -> Option<MessageContent> {
    let mime = media_type(&settings.mime_type, &format!("{pointer}/{kind}/mimeType"), compiler.problems);
    let (data, _) = encoded(&settings.data, &format!("{pointer}/{kind}/data"), compiler.problems)?;
    mime.map(|()| MessageContent::Fixed(json!({"type": kind, "data": data, "mimeType": settings.mime_type})))
}

fn embedded(
    settings: &EmbeddedSettings,
    pointer: &str,
    compiler: &mut Compiler<'_>,
) -> Option<MessageContent> {
    let bodies = [("text", settings.text.is_some()), ("blob", settings.blob.is_some())];
    check_one_of(pointer, &bodies, compiler.problems);
    let place = format!("{pointer}/uri");
    let uri = client_text(&settings.uri, &place, compiler);
    if let Some(written) = uri.as_ref().and_then(Template::literal)
        && let Err(fault) = is_absolute(written)
    {
        compiler.problems.error(place, format!("{written:?} {fault}"));
    }
    if let Some(mime) = &settings.mime_type {
        media_type(mime, &format!("{pointer}/mimeType"), compiler.problems);
    }
    let body = match (&settings.text, &settings.blob) {
        (Some(text), _) => client_text(text, &format!("{pointer}/text"), compiler).map(EmbeddedBody::Text),
        (None, Some(blob)) => encoded(blob, &format!("{pointer}/blob"), compiler.problems)
            .map(|(blob, _)| EmbeddedBody::Blob(blob)),
        (None, None) => None,
    };
    Some(MessageContent::Resource { uri: uri?, mime: settings.mime_type.clone(), body: body? })
}

fn resource(
    uri: &Template,
    mime: Option<&str>,
    body: &EmbeddedBody,
    wanted: &mut Wanted<'_>,
) -> Result<Option<Value>, CallError> {
    let Some(uri) = render(uri, wanted)? else {
        return Ok(None);
    };
    if let Err(fault) = is_absolute(&uri) {
        return Err(CallError::invalid_params(format!("the address of an embedded resource {fault}")));
    }
    let (field, content) = match body {
        EmbeddedBody::Blob(blob) => ("blob", blob.clone()),
        EmbeddedBody::Text(template) => match render(template, wanted)? {
            Some(text) => ("text", text),
            None => return Ok(None),
        },
    };
    let mut resource = Map::new();
    resource.insert("uri".into(), uri.into());
    if let Some(mime) = mime {
        resource.insert("mimeType".into(), mime.into());
    }
    resource.insert(field.into(), content.into());
    Ok(Some(Value::Object(resource)))
}
