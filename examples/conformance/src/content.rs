//! Tools that answer with every kind of content.

use toolrail_tool::serde_json::{Value, json};
use toolrail_tool::{Content, Context, ResourceContents, ToolError, tool};

/// One red pixel.
pub(crate) const PIXEL: &[u8] =
    b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\
      \x00\x00\x90wS\xde\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\
      \x92\xef\x00\x00\x00\x00IEND\xaeB`\x82";
/// A millisecond of silence.
const SILENCE: &[u8] =
    b"RIFF,\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00@\x1f\x00\x00\x01\
      \x00\x08\x00data\x08\x00\x00\x00\x80\x80\x80\x80\x80\x80\x80\x80";

/// Answers with a text.
#[tool]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Answers with a picture.
#[tool]
fn test_image_content() -> Content {
    Content::image(PIXEL, "image/png")
}

/// Answers with a sound.
#[tool]
fn test_audio_content() -> Content {
    Content::audio(SILENCE, "audio/wav")
}

/// Answers with a resource.
#[tool]
fn test_embedded_resource() -> ResourceContents {
    ResourceContents::text("test://embedded-resource", "text/plain", "This is an embedded resource content.")
}

/// Answers with several kinds of content.
#[tool]
fn test_multiple_content_types() -> Vec<Content> {
    let data = json!({"test": "data", "value": 123}).to_string();
    vec![
        "Multiple content types test:".into(),
        Content::image(PIXEL, "image/png"),
        ResourceContents::text("test://mixed-content-resource", "application/json", data).into(),
    ]
}

/// Always fails.
#[tool]
fn test_error_handling() -> Result<(), ToolError> {
    Err(ToolError::failed("This tool intentionally returns an error for testing"))
}

/// Answers with its arguments; its schema uses what JSON Schema 2020-12 has to offer.
#[tool(input_schema = schema_of_2020_12())]
fn json_schema_2020_12_tool(ctx: &Context) -> String {
    format!("JSON Schema 2020-12 tool called with: {}", json!(ctx.argument_map()))
}

fn schema_of_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// Answers with the argument that clients repeat in the header `Mcp-Param-Value`.
#[tool]
fn test_custom_header(
    /// Any text.
    #[arg(header = "Value")]
    value: String,
) -> String {
    format!("Received: {value}")
}
