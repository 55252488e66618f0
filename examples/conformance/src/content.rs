//! Tools that answer with every kind of content.

use toolrail_tool::serde_json::{Value, json};
use toolrail_tool::{Content, Context, ResourceContents, ToolError, tool};

/// One red pixel.
pub(crate) const PIXEL: &[u8] = include_bytes!("pixel.png");
/// A millisecond of silence.
const SILENCE: &[u8] = include_bytes!("silence.wav");

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
    ResourceContents::text(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
    )
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
