//! A tool's result as MCP writes it: content blocks, structured content and the error flag.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use toolrail_core::{
    Block, ErrorCode, Json, Outcome as CallOutcome, Payload, Root, ToolResult, write_json_string,
};
use toolrail_registry::Era;

use crate::reply::Outcome;

/// Writes a `tools/call` result up to, but not including, its last brace. A call that produced no result becomes an
/// error result, so that the model can read what went wrong (C7); its code comes back.
pub(crate) fn write(
    outcome: CallOutcome,
    promises_structure: bool,
    era: Era,
    out: &mut Outcome,
) -> Option<ErrorCode> {
    match outcome {
        Ok(result) => {
            write_result(&result, promises_structure, era, out);
            None
        }
        Err(error) => {
            out.head.extend_from_slice(b"{\"content\":[");
            write_text_block(&mut out.head, &error.message);
            out.head.push(b']');
            out.tail.extend_from_slice(b",\"isError\":true");
            Some(error.code)
        }
    }
}

fn write_result(result: &ToolResult, promises_structure: bool, era: Era, out: &mut Outcome) {
    out.head.reserve(match &result.payload {
        // Escaped text is a little longer than the JSON itself.
        Payload::Json(json) => json.bytes().len() + json.bytes().len() / 4 + 128,
        Payload::Text(text) => text.len() + text.len() / 8 + 128,
        Payload::Blocks(_) | Payload::Empty => 128,
    });
    out.head.extend_from_slice(b"{\"content\":[");
    write_blocks(&mut out.head, &result.payload, &result.notes);
    out.head.push(b']');
    match &result.payload {
        Payload::Json(json) => write_structured(json, era, out),
        Payload::Text(text) if promises_structure => {
            let json = Json::from_value(&serde_json::Value::String(text.clone()));
            write_structured(&json, era, out);
        }
        Payload::Text(_) | Payload::Blocks(_) | Payload::Empty => {}
    }
    let is_error: &[u8] = if result.is_error { b",\"isError\":true" } else { b",\"isError\":false" };
    out.tail.extend_from_slice(is_error);
}

/// Structured content of legacy clients must be an object: anything else goes under `result`.
fn write_structured(json: &Json, era: Era, out: &mut Outcome) {
    let wrap = era == Era::Legacy && json.root() != Root::Object;
    out.head.extend_from_slice(if wrap {
        b",\"structuredContent\":{\"result\":"
    } else {
        b",\"structuredContent\":"
    });
    out.shared = Some(json.bytes().clone());
    if wrap {
        out.tail.push(b'}');
    }
}

fn write_blocks(out: &mut Vec<u8>, payload: &Payload, notes: &[String]) {
    match payload {
        Payload::Json(json) => write_text_block(out, json.text()),
        Payload::Text(text) => write_text_block(out, text),
        Payload::Blocks(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_block(out, block);
            }
        }
        Payload::Empty => {}
    }
    for note in notes {
        if out.last() != Some(&b'[') {
            out.push(b',');
        }
        write_text_block(out, note);
    }
}

fn write_text_block(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
    write_json_string(out, text);
    out.push(b'}');
}

fn write_block(out: &mut Vec<u8>, block: &Block) {
    match block {
        Block::Text(text) => write_text_block(out, text),
        Block::Image { data, mime } => write_media(out, "image", data, mime),
        Block::Audio { data, mime } => write_media(out, "audio", data, mime),
        Block::Resource { uri, mime, data } => {
            out.extend_from_slice(b"{\"type\":\"resource\",\"resource\":{\"uri\":");
            write_json_string(out, uri);
            out.extend_from_slice(b",\"mimeType\":");
            write_json_string(out, mime);
            out.extend_from_slice(b",\"blob\":");
            write_base64(out, data);
            out.extend_from_slice(b"}}");
        }
    }
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

fn write_base64(out: &mut Vec<u8>, data: &[u8]) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + data.len().div_ceil(3) * 4, 0);
    // The slice has just been made long enough.
    let written = STANDARD.encode_slice(data, &mut out[start..]).unwrap_or(0);
    out.truncate(start + written);
    out.push(b'"');
}

/// The plain dialect: the answer itself under `content` (R10, C2).
pub(crate) fn write_plain(result: &ToolResult) -> Outcome {
    let mut head = b"{\"content\":".to_vec();
    let shared = match &result.payload {
        Payload::Json(json) => Some(json.bytes().clone()),
        Payload::Text(text) => {
            write_json_string(&mut head, text);
            None
        }
        Payload::Empty => {
            head.extend_from_slice(b"null");
            None
        }
        Payload::Blocks(_) => {
            head.push(b'[');
            write_blocks(&mut head, &result.payload, &[]);
            head.push(b']');
            None
        }
    };
    let mut tail = Vec::new();
    if !result.notes.is_empty() {
        tail.extend_from_slice(b",\"notes\":");
        tail.extend_from_slice(serde_json::json!(result.notes).to_string().as_bytes());
    }
    tail.push(b'}');
    Outcome { head, shared, tail }
}
