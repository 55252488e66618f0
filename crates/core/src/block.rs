//! Content blocks, and how MCP writes them. Both faces show them in that form.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::write_json_string;

/// One content block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
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
    /// A text with an address, as an embedded resource.
    TextResource {
        /// Its address.
        uri: String,
        /// Its media type.
        mime: String,
        /// The text.
        text: String,
    },
    /// Any other binary, as an embedded resource.
    Resource {
        /// Where it came from.
        uri: String,
        /// Its media type.
        mime: String,
        /// The raw bytes.
        data: Bytes,
    },
}

impl Block {
    /// Writes it as MCP does.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Block::Text(text) => write_text_block(out, text),
            Block::Image { data, mime } => write_media(out, "image", data, mime),
            Block::Audio { data, mime } => write_media(out, "audio", data, mime),
            Block::TextResource { uri, mime, text } => {
                open_resource(out, uri, mime);
                out.extend_from_slice(b",\"text\":");
                write_json_string(out, text);
                out.extend_from_slice(b"}}");
            }
            Block::Resource { uri, mime, data } => {
                open_resource(out, uri, mime);
                out.extend_from_slice(b",\"blob\":");
                write_base64(out, data);
                out.extend_from_slice(b"}}");
            }
        }
    }
}

/// Writes an embedded resource up to its content.
fn open_resource(out: &mut Vec<u8>, uri: &str, mime: &str) {
    out.extend_from_slice(b"{\"type\":\"resource\",\"resource\":{\"uri\":");
    write_json_string(out, uri);
    out.extend_from_slice(b",\"mimeType\":");
    write_json_string(out, mime);
}

/// Writes a block of text.
pub fn write_text_block(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
    write_json_string(out, text);
    out.push(b'}');
}

fn write_media(out: &mut Vec<u8>, kind: &str, data: &Bytes, mime: &str) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"data\":");
    write_base64(out, data);
    out.extend_from_slice(b",\"mimeType\":");
    write_json_string(out, mime);
    out.push(b'}');
}

/// Writes bytes as a JSON string in base64.
pub fn write_base64(out: &mut Vec<u8>, data: &[u8]) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + data.len().div_ceil(3) * 4, 0);
    // The slice has just been made long enough.
    let written = STANDARD.encode_slice(data, &mut out[start..]).unwrap_or(0);
    out.truncate(start + written);
    out.push(b'"');
}
