//! Tools that carry a state from one round of questions to the next (SEP-2322).

use toolrail_tool::serde_json::{Value, json};
use toolrail_tool::{Context, ToolError, tool};

use crate::asking::{name, text_form, to_model};

/// Asks for a confirmation and remembers something meanwhile.
#[tool]
async fn test_input_required_result_request_state(ctx: &Context) -> Result<String, ToolError> {
    confirm(ctx).await?;
    match ctx.remembered()? {
        Some(state) if state == json!("confirming") => Ok("state-ok: confirmed".to_owned()),
        _ => Err(ToolError::invalid_params("the request state is missing")),
    }
}

/// Refuses a state that was tampered with.
#[tool]
async fn test_input_required_result_tampered_state(ctx: &Context) -> Result<String, ToolError> {
    confirm(ctx).await?;
    Ok("The state came back as it was".to_owned())
}

async fn confirm(ctx: &Context<'_>) -> Result<(), ToolError> {
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
    let questions = ctx.questions().elicit("confirm", "Please confirm", schema);
    questions.remember("confirming").ask().await?;
    Ok(())
}

/// Asks for a name, a greeting and roots at once.
#[tool]
async fn test_input_required_result_multiple_inputs(ctx: &Context) -> Result<String, ToolError> {
    let answers = ctx
        .questions()
        .elicit("user_name", "What is your name?", text_form("name"))
        .sample("greeting", to_model("Generate a greeting", 50))
        .roots("client_roots")
        .remember("asked for everything")
        .ask()
        .await?;
    let greeting = answers.sampled("greeting")?.text();
    let roots = answers.roots("client_roots")?.len();
    Ok(format!("{greeting} {}, with {roots} roots", name(&answers.elicited("user_name")?.content)))
}

/// Asks for a name, then for a colour.
#[tool]
async fn test_input_required_result_multi_round(ctx: &Context) -> Result<String, ToolError> {
    let first = ctx.questions().elicit("step1", "Step 1: What is your name?", text_form("name"));
    let first = first.remember(1).ask().await?.elicited("step1")?;
    let second = ctx.questions().elicit("step2", "Step 2: What is your favorite color?", text_form("color"));
    let second = second.remember(2).ask().await?.elicited("step2")?;
    let color = second.content.get("color").and_then(Value::as_str).unwrap_or("no color");
    Ok(format!("{} likes {color}", name(&first.content)))
}
