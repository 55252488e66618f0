//! The messages of a prompt as `prompts/get` writes them, where its executor does not speak MCP itself: each part of the
//! answer is something the user says.

use toolrail_core::{Payload, ToolResult, write_text_block};

use crate::reply::Outcome;

/// Writes the result up to, but not including, its last brace.
pub(crate) fn write(result: &ToolResult) -> Outcome {
    let mut out = b"{\"messages\":[".to_vec();
    match &result.payload {
        Payload::Json(json) => message(&mut out, |out| write_text_block(out, json.text())),
        Payload::Text(text) => message(&mut out, |out| write_text_block(out, text)),
        Payload::Blocks(blocks) => {
            for block in blocks {
                message(&mut out, |out| block.write(out));
            }
        }
        Payload::Empty | Payload::Whole(_) | Payload::InputRequired(_) => {}
    }
    for note in &result.notes {
        message(&mut out, |out| write_text_block(out, note));
    }
    out.push(b']');
    Outcome::whole(out)
}

fn message(out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    if out.last() == Some(&b'}') {
        out.push(b',');
    }
    out.extend_from_slice(b"{\"role\":\"user\",\"content\":");
    content(out);
    out.push(b'}');
}
