//! Content blocks, and the contents of resources.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use toolrail_core::Block;

/// One content block of a result or a message.
///
/// ```
/// use toolrail_tool::{Content, tool};
///
/// /// Draws a dot.
/// #[tool]
/// async fn dot() -> Vec<Content> {
///     vec![Content::text("Here it is:"), Content::image(vec![0x89, b'P', b'N', b'G'], "image/png")]
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// The raw bytes.
        data: Bytes,
        /// For example `image/png`.
        mime: String,
    },
    /// A sound.
    Audio {
        /// The raw bytes.
        data: Bytes,
        /// For example `audio/wav`.
        mime: String,
    },
    /// The contents of a resource.
    Resource(ResourceContents),
    /// A resource that the client may read.
    Link {
        /// Its URI.
        uri: String,
        /// Its name.
        name: String,
        /// Its media type.
        mime: Option<String>,
    },
    /// Any block as MCP writes it, for instance with annotations.
    Raw(Value),
}

/// The contents of a resource.
///
/// ```
/// use toolrail_tool::{Content, ResourceContents};
///
/// let note = ResourceContents::text("notes://today", "text/plain", "Buy milk.");
/// let block: Content = note.into();
/// assert!(matches!(block, Content::Resource(_)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceContents {
    uri: String,
    mime: String,
    body: Body,
}

#[derive(Clone, Debug, PartialEq)]
enum Body {
    Text(String),
    Blob(Bytes),
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A picture.
    pub fn image(data: impl Into<Bytes>, mime: impl Into<String>) -> Self {
        Self::Image { data: data.into(), mime: mime.into() }
    }

    /// A sound.
    pub fn audio(data: impl Into<Bytes>, mime: impl Into<String>) -> Self {
        Self::Audio { data: data.into(), mime: mime.into() }
    }

    /// A resource that the client may read.
    pub fn link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::Link { uri: uri.into(), name: name.into(), mime: None }
    }

    /// The block as MCP writes it.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Image { data, mime } => {
                json!({"type": "image", "data": STANDARD.encode(data), "mimeType": mime})
            }
            Self::Audio { data, mime } => {
                json!({"type": "audio", "data": STANDARD.encode(data), "mimeType": mime})
            }
            Self::Resource(contents) => json!({"type": "resource", "resource": contents.to_json()}),
            Self::Link { uri, name, mime } => {
                let mut link = json!({"type": "resource_link", "uri": uri, "name": name});
                if let Some(mime) = mime {
                    link["mimeType"] = json!(mime);
                }
                link
            }
            Self::Raw(block) => block.clone(),
        }
    }

    /// The block as every face can write it, unless only MCP can.
    pub(crate) fn to_block(&self) -> Option<Block> {
        Some(match self {
            Self::Text(text) => Block::Text(text.clone()),
            Self::Image { data, mime } => Block::Image { data: data.clone(), mime: mime.clone() },
            Self::Audio { data, mime } => Block::Audio { data: data.clone(), mime: mime.clone() },
            Self::Resource(contents) => contents.to_block(),
            Self::Link { .. } | Self::Raw(_) => return None,
        })
    }

    pub(crate) fn of_block(block: Block) -> Self {
        match block {
            Block::Text(text) => Self::Text(text),
            Block::Image { data, mime } => Self::Image { data, mime },
            Block::Audio { data, mime } => Self::Audio { data, mime },
            Block::TextResource { uri, mime, text } => {
                Self::Resource(ResourceContents { uri, mime, body: Body::Text(text) })
            }
            Block::Resource { uri, mime, data } => {
                Self::Resource(ResourceContents { uri, mime, body: Body::Blob(data) })
            }
        }
    }

    /// The block that MCP writes like that.
    pub(crate) fn of_json(block: Value) -> Self {
        match (block["type"].as_str(), block["text"].as_str()) {
            (Some("text"), Some(text)) => Self::Text(text.to_owned()),
            _ => Self::Raw(block),
        }
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<ResourceContents> for Content {
    fn from(contents: ResourceContents) -> Self {
        Self::Resource(contents)
    }
}

impl ResourceContents {
    /// A text at that URI.
    pub fn text(uri: impl Into<String>, mime: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime: mime.into(), body: Body::Text(text.into()) }
    }

    /// Bytes at that URI.
    pub fn blob(uri: impl Into<String>, mime: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self { uri: uri.into(), mime: mime.into(), body: Body::Blob(data.into()) }
    }

    pub(crate) fn to_json(&self) -> Value {
        let Self { uri, mime, body } = self;
        match body {
            Body::Text(text) => json!({"uri": uri, "mimeType": mime, "text": text}),
            Body::Blob(data) => json!({"uri": uri, "mimeType": mime, "blob": STANDARD.encode(data)}),
        }
    }

    fn to_block(&self) -> Block {
        let (uri, mime) = (self.uri.clone(), self.mime.clone());
        match &self.body {
            Body::Text(text) => Block::TextResource { uri, mime, text: text.clone() },
            Body::Blob(data) => Block::Resource { uri, mime, data: data.clone() },
        }
    }
}
