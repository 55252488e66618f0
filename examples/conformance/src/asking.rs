//! Tools that ask once, as clients of 2026-07-28 answer: by making the request again (SEP-2322).

use toolrail_tool::serde_json::{Map, Value, json};
use toolrail_tool::{Context, ToolError, tool};

/// A form with one text that must be filled in.
pub(crate) fn text_form(field: &str) -> Value {
    json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]})
}

/// A question to the model.
pub(crate) fn to_model(text: &str, most_tokens: u32) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    json!({"messages": [message], "maxTokens": most_tokens})
}

/// Needs a client that can be asked for samples.
#[tool]
fn test_missing_capability(ctx: &Context) -> Result<String, ToolError> {
    if !ctx.client_can("sampling") {
        return Err(ToolError::missing_capability("sampling"));
    }
    Ok("The client has declared sampling".to_owned())
}

/// Asks for a name on a stream.
#[tool]
async fn test_streaming_elicitation(ctx: &Context) -> Result<String, ToolError> {
    let answer = ctx.elicit("user_name", "What is your name?", text_form("name")).await?;
    Ok(format!("Hello, {}!", name(&answer.content)))
}

/// Asks for a name.
#[tool]
async fn test_input_required_result_elicitation(ctx: &Context) -> Result<String, ToolError> {
    let answer = ctx.elicit("user_name", "What is your name?", text_form("name")).await?;
    Ok(format!("Hello, {}!", name(&answer.content)))
}

/// Asks the model.
#[tool]
async fn test_input_required_result_sampling(ctx: &Context) -> Result<String, ToolError> {
    let question = to_model("What is the capital of France?", 100);
    Ok(ctx.sample("capital_question", question).await?.text())
}

/// Asks for roots.
#[tool]
async fn test_input_required_result_list_roots(ctx: &Context) -> Result<String, ToolError> {
    let roots = ctx.roots("client_roots").await?;
    let uris: Vec<String> = roots.into_iter().map(|root| root.uri).collect();
    Ok(format!("Roots: {}", uris.join(", ")))
}

/// Asks only what the client declared it can be asked.
#[tool]
async fn test_input_required_result_capabilities(ctx: &Context) -> Result<String, ToolError> {
    let mut questions = ctx.questions();
    if ctx.client_can("sampling") {
        questions = questions.sample("capital_question", to_model("What is the capital of France?", 100));
    }
    if ctx.client_can("elicitation") {
        questions = questions.elicit("user_name", "What is your name?", text_form("name"));
    }
    questions.ask().await?;
    Ok("Asked what the client can be asked".to_owned())
}

pub(crate) fn name(content: &Map<String, Value>) -> &str {
    content.get("name").and_then(Value::as_str).unwrap_or("stranger")
}
