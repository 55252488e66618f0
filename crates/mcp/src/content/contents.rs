//! The content of a resource as `resources/read` writes it, where its executor does not speak MCP itself.

use bytes::Bytes;
use serde_json::json;
use toolrail_core::{Block, Payload, ToolResult, write_base64, write_json_string};

use crate::reply::Outcome;

/// Writes the result up to, but not including, its last brace.
pub(crate) fn write(result: &ToolResult, uri: &str, mime: Option<&str>) -> Outcome {
    let mut contents = Contents { out: Outcome::whole(&b"{\"contents\":["[..]), uri, notes: &result.notes };
    match &result.payload {
        Payload::Json(json) => contents.text(mime.unwrap_or("application/json"), json.text()),
        Payload::Text(text) => contents.text(mime.unwrap_or("text/plain"), text),
        Payload::Blocks(blocks) => {
            for block in blocks {
                contents.block(block, mime);
            }
        }
        Payload::Empty | Payload::Whole(_) | Payload::InputRequired(_) => {
            contents.text(mime.unwrap_or("text/plain"), "");
        }
    }
    contents.out.out.push(b']');
    contents.out
}

struct Contents<'a> {
    out: Outcome,
    uri: &'a str,
    /// What a reader must know; told once.
    notes: &'a [String],
}

impl Contents<'_> {
    fn block(&mut self, block: &Block, mime: Option<&str>) {
        match block {
            Block::Text(text) => self.text(mime.unwrap_or("text/plain"), text),
            Block::TextResource { mime, text, .. } => self.text(mime, text),
            Block::Image { data, mime }
            | Block::Audio { data, mime }
            | Block::Resource { data, mime, .. } => {
                self.blob(mime, data);
            }
        }
    }

    fn text(&mut self, mime: &str, text: &str) {
        self.open(mime);
        let out = &mut self.out.out;
        out.extend_from_slice(b",\"text\":");
        write_json_string(out, text);
        self.close();
    }

    fn blob(&mut self, mime: &str, data: &Bytes) {
        self.open(mime);
        let out = &mut self.out.out;
        out.extend_from_slice(b",\"blob\":");
        write_base64(out, data);
        self.close();
    }

    fn open(&mut self, mime: &str) {
        let out = &mut self.out.out;
        if out.last() == Some(&b'}') {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"uri\":");
        write_json_string(out, self.uri);
        out.extend_from_slice(b",\"mimeType\":");
        write_json_string(out, mime);
    }

    fn close(&mut self) {
        let notes = std::mem::take(&mut self.notes);
        if !notes.is_empty() {
            let meta = format!(",\"_meta\":{}", json!({"toolrail/notes": notes}));
            self.out.out.extend_from_slice(meta.as_bytes());
        }
        self.out.out.push(b'}');
    }
}
