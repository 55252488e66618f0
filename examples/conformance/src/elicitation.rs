//! Tools that ask the client's user or model while they run, as clients up to 2025-11-25 answer; newer clients make the
//! request again, and the same functions serve them.

use toolrail_tool::serde_json::{Value, json};
use toolrail_tool::{Context, Elicited, ToolError, tool};

/// Asks the client's model.
#[tool]
async fn test_sampling(
    /// The prompt to send to the model.
    prompt: String,
    ctx: &Context,
) -> Result<String, ToolError> {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let answer = ctx.sample("sampling", json!({"messages": [message], "maxTokens": 100})).await?;
    Ok(format!("LLM response: {}", answer.text()))
}

/// Asks the user for a name and an address.
#[tool]
async fn test_elicitation(
    /// The message to show the user.
    message: String,
    ctx: &Context,
) -> Result<String, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    });
    let Elicited { action, content } = ctx.elicit("user", &message, schema).await?;
    Ok(format!("User response: <action: {}, content: {}>", action.word(), json!(content)))
}

/// Asks with a form whose fields have defaults (SEP-1034).
#[tool]
async fn test_elicitation_sep1034_defaults(ctx: &Context) -> Result<String, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string", "description": "User status",
                "enum": ["active", "inactive", "pending"], "default": "active",
            },
            "verified": {"type": "boolean", "description": "Verification status", "default": true},
        },
        "required": [],
    });
    completed(ctx, "Please review and update the form fields with defaults", schema).await
}

/// Asks with every sort of choice (SEP-1330).
#[tool]
async fn test_elicitation_sep1330_enums(ctx: &Context) -> Result<String, ToolError> {
    let titled = |words: [&str; 3]| -> Vec<Value> {
        let numbered = words.iter().zip(1..);
        numbered.map(|(title, number)| json!({"const": format!("value{number}"), "title": title})).collect()
    };
    let options = json!(["option1", "option2", "option3"]);
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {
                "type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"]),
            },
            "legacyEnum": {
                "type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {
                "type": "array", "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])},
            },
        },
        "required": [],
    });
    completed(ctx, "Please select options from the enum fields", schema).await
}

async fn completed(ctx: &Context<'_>, message: &str, schema: Value) -> Result<String, ToolError> {
    let Elicited { action, content } = ctx.elicit("form", message, schema).await?;
    Ok(format!("Elicitation completed: action={}, content={}", action.word(), json!(content)))
}
