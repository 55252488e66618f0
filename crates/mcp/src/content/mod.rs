//! Results as MCP writes them. Here a tool's: content blocks, structured content and the error flag.

pub(crate) mod contents;
pub(crate) mod messages;
pub(crate) mod whole;

use serde_json::Value;
use toolrail_core::{
    ErrorCode, InputRequired, Json, Outcome as CallOutcome, Payload, PlainAnswer, Root, ToolResult,
    shortened, write_json_string, write_text_block,
};
use toolrail_registry::Era;

use crate::finish::Finish;
use crate::reply::{Code, Fault, Outcome, Reply};

/// Writes a `tools/call` result up to, but not including, its last brace. A call that produced no result becomes an
/// error result, so that the model can read what went wrong; its code comes back.
pub(crate) fn write(
    outcome: &CallOutcome,
    promises_structure: bool,
    era: Era,
    out: &mut Outcome,
) -> Option<ErrorCode> {
    match outcome {
        Ok(result) => {
            write_result(result, promises_structure, era, out);
            None
        }
        Err(error) => {
            out.out.extend_from_slice(b"{\"content\":[");
            write_text_block(&mut out.out, &error.message);
            out.out.extend_from_slice(b"],\"isError\":true");
            Some(error.code)
        }
    }
}

fn write_result(result: &ToolResult, promises_structure: bool, era: Era, out: &mut Outcome) {
    out.out.reserve(match &result.payload {
        Payload::Json(json) if json.quoted().is_some() => 512,
        // Escaped text is a little longer than the JSON itself.
        Payload::Json(json) => json.bytes().len() * 2 + json.bytes().len() / 4 + 512,
        Payload::Text(text) => text.len() + text.len() / 8 + 512,
        Payload::Blocks(_) | Payload::Empty | Payload::Whole(_) | Payload::InputRequired(_) => 512,
    });
    out.out.extend_from_slice(b"{\"content\":[");
    match &result.payload {
        Payload::Json(json) => write_json_block(out, json),
        other => write_blocks(&mut out.out, other),
    }
    write_notes(&mut out.out, &result.notes, matches!(result.payload, Payload::Empty));
    out.out.push(b']');
    match &result.payload {
        Payload::Json(json) => write_structured(json, era, out),
        Payload::Text(text) if promises_structure => {
            let json = Json::from_value(&Value::String(text.clone()));
            write_structured(&json, era, out);
        }
        Payload::Text(_)
        | Payload::Blocks(_)
        | Payload::Empty
        | Payload::Whole(_)
        | Payload::InputRequired(_) => {}
    }
    let is_error: &[u8] = if result.is_error { b",\"isError\":true" } else { b",\"isError\":false" };
    out.out.extend_from_slice(is_error);
}

/// JSON as a text block; a large one comes with its text already quoted.
fn write_json_block(out: &mut Outcome, json: &Json) {
    let Some(quoted) = json.quoted() else {
        return write_text_block(&mut out.out, json.text());
    };
    out.out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
    out.share(quoted);
    out.out.push(b'}');
}

/// Structured content of legacy clients must be an object: anything else goes under `result`.
fn write_structured(json: &Json, era: Era, out: &mut Outcome) {
    let wrap = era == Era::Legacy && json.root() != Root::Object;
    out.out.extend_from_slice(if wrap {
        b",\"structuredContent\":{\"result\":"
    } else {
        b",\"structuredContent\":"
    });
    out.share(json.bytes());
    if wrap {
        out.out.push(b'}');
    }
}

fn write_blocks(out: &mut Vec<u8>, payload: &Payload) {
    match payload {
        Payload::Json(json) => write_text_block(out, json.text()),
        Payload::Text(text) => write_text_block(out, text),
        Payload::Blocks(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                block.write(out);
            }
        }
        Payload::Empty | Payload::Whole(_) | Payload::InputRequired(_) => {}
    }
}

fn write_notes(out: &mut Vec<u8>, notes: &[String], mut first: bool) {
    for note in notes {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        write_text_block(out, note);
    }
}

/// What the client must supply before the request can be carried out. Only modern clients are told so; others are asked
/// while the request is under way.
pub(crate) fn input_required(needed: &InputRequired, finish: Finish<'_>) -> Reply {
    if finish.dialect.era() == Era::Legacy {
        let message =
            "the call wants its client to answer questions in a way that this revision does not know";
        return Err(Fault::new(Code::Internal, message));
    }
    let mut out = b"{\"inputRequests\":".to_vec();
    out.extend_from_slice(Value::Object(needed.requests.clone()).to_string().as_bytes());
    if let Some(state) = &needed.state {
        out.extend_from_slice(b",\"requestState\":");
        write_json_string(&mut out, state);
    }
    Ok(finish.close_as(Outcome::whole(out), "input_required"))
}

/// The content blocks of a result, as JSON.
pub(crate) fn blocks_of(result: &ToolResult) -> Value {
    let written = if let Payload::Whole(json) = &result.payload {
        json.to_value()
    } else {
        let mut out = vec![b'['];
        write_blocks(&mut out, &result.payload);
        out.push(b']');
        return serde_json::from_slice(&out).unwrap_or_default();
    };
    written.get("content").cloned().unwrap_or_default()
}

/// A failure that the answer itself tells, where there are no error results.
pub(crate) fn failure_of(result: &ToolResult) -> Fault {
    let text = match &result.payload {
        Payload::Text(text) => text.as_str(),
        Payload::Json(json) => json.text(),
        Payload::Blocks(_) | Payload::Empty | Payload::Whole(_) | Payload::InputRequired(_) => "no details",
    };
    Fault::new(Code::Internal, format!("the upstream answered with an error: {}", shortened(text)))
}

/// The plain dialect: the answer itself under `content`.
pub(crate) fn write_plain(result: &ToolResult) -> Outcome {
    let mut outcome = Outcome::whole(&b"{\"content\":"[..]);
    match &result.payload {
        Payload::Json(json) => outcome.share(json.bytes()),
        Payload::Whole(json) => match PlainAnswer::of(json) {
            PlainAnswer::Json(part) | PlainAnswer::Content(part) => {
                outcome.share(&json.bytes().slice_ref(part.as_bytes()));
            }
            PlainAnswer::Text(text) => write_json_string(&mut outcome.out, &text),
            PlainAnswer::Nothing => outcome.out.extend_from_slice(b"null"),
        },
        Payload::Text(text) => write_json_string(&mut outcome.out, text),
        Payload::Empty | Payload::InputRequired(_) => outcome.out.extend_from_slice(b"null"),
        Payload::Blocks(_) => {
            outcome.out.push(b'[');
            write_blocks(&mut outcome.out, &result.payload);
            outcome.out.push(b']');
        }
    }
    if !result.notes.is_empty() {
        outcome.out.extend_from_slice(b",\"notes\":");
        outcome.out.extend_from_slice(serde_json::json!(result.notes).to_string().as_bytes());
    }
    outcome.out.push(b'}');
    outcome
}
