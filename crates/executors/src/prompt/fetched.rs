//! From the answer of an upstream to the messages of a prompt.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use toolrail_core::{Block, CallError, ErrorCode, Json, Payload, Root, ToolResult};

/// The whole result as MCP has it, or the one message that the answer becomes.
pub(super) enum FetchedAnswer {
    /// The upstream speaks MCP.
    Whole(Json),
    /// Content of one message of the user.
    Content(Value),
}

/// Reads the answer.
pub(super) fn answered(result: ToolResult) -> Result<FetchedAnswer, CallError> {
    let text = |text: &str| FetchedAnswer::Content(json!({"type": "text", "text": text}));
    Ok(match result.payload {
        Payload::Json(json) if has_messages(&json)? => FetchedAnswer::Whole(json),
        Payload::Json(json) => text(json.text()),
        Payload::Text(words) => text(&words),
        Payload::Empty => text(""),
        Payload::Blocks(blocks) => blocks.into_iter().next().map_or_else(|| text(""), content),
        Payload::Whole(_) | Payload::InputRequired(_) => {
            return Err(CallError::new(ErrorCode::Internal, "a request brought no messages"));
        }
    })
}

/// Whether it is an object with `messages`; if so, those must be messages.
fn has_messages(json: &Json) -> Result<bool, CallError> {
    if json.root() != Root::Object {
        return Ok(false);
    }
    let value = json.to_value();
    let Some(messages) = value.get("messages") else {
        return Ok(false);
    };
    let is_message = |message: &Value| {
        matches!(message["role"].as_str(), Some("user" | "assistant"))
            && message["content"]["type"].is_string()
    };
    if messages.as_array().is_some_and(|messages| messages.iter().all(is_message)) {
        return Ok(true);
    }
    Err(CallError::new(
        ErrorCode::UpstreamInvalid,
        "the upstream answered with \"messages\" that are not messages of MCP ({role, content: {type, …}}); correct it there, or map it with responseMapping",
    ))
}

fn content(block: Block) -> FetchedAnswer {
    FetchedAnswer::Content(match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Image { data, mime } => {
            json!({"type": "image", "data": STANDARD.encode(data), "mimeType": mime})
        }
        Block::Audio { data, mime } => {
            json!({"type": "audio", "data": STANDARD.encode(data), "mimeType": mime})
        }
        Block::TextResource { uri, mime, text } => {
            json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}})
        }
        Block::Resource { uri, mime, data } => {
            json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime, "blob": STANDARD.encode(data)}})
        }
    })
}
