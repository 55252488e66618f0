//! Tools that run as tasks (extension `io.modelcontextprotocol/tasks`). A question that comes before anything is waited for
//! is asked by the request itself; a later one belongs to the task.

use std::time::Duration;

use tokio::time::sleep;
use toolrail_tool::serde_json::json;
use toolrail_tool::{Action, Context, ToolError, tool};

use crate::asking::{name, text_form};

/// Greets somebody at once.
#[tool]
fn greet(
    /// Whom to greet.
    name: String,
) -> String {
    format!("Hello, {name}!")
}

/// Computes for a while.
#[tool(task = "optional")]
async fn slow_compute(
    /// How long.
    #[arg(default = 1.0)]
    seconds: f64,
    /// What to call the result.
    #[arg(default = "result")]
    label: String,
) -> String {
    sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default()).await;
    format!("Computed {label} in {seconds} s")
}

/// Fails after a second.
#[tool(task = "required")]
async fn failing_job() -> Result<(), ToolError> {
    sleep(Duration::from_secs(1)).await;
    Err(ToolError::failed("The job failed"))
}

/// Ends with a JSON-RPC error.
#[tool(task = "optional")]
async fn protocol_error_job() -> Result<(), ToolError> {
    sleep(Duration::from_millis(50)).await;
    Err(ToolError::rpc(-32603, "The job broke down", None))
}

/// Deletes nothing, after a confirmation.
#[tool(task = "optional")]
async fn confirm_delete(
    /// The name of a file.
    filename: String,
    ctx: &Context,
) -> Result<String, ToolError> {
    begin().await;
    let schema =
        json!({"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]});
    let answer = ctx.elicit("confirm", &format!("Delete {filename}?"), schema).await?;
    let confirmed = answer.action == Action::Accept && answer.content.get("confirm") == Some(&json!(true));
    Ok(if confirmed { format!("Deleted {filename}") } else { format!("Kept {filename}") })
}

/// Asks two things at once.
#[tool(task = "optional")]
async fn multi_input(ctx: &Context) -> Result<String, ToolError> {
    begin().await;
    let answers = ctx
        .questions()
        .elicit("first", "What is the first name?", text_form("name"))
        .elicit("second", "What is the second name?", text_form("name"))
        .ask()
        .await?;
    let (first, second) = (answers.elicited("first")?, answers.elicited("second")?);
    Ok(format!("{} and {}", name(&first.content), name(&second.content)))
}

/// Asks for a name, and then runs as a task.
#[tool(task = "required")]
async fn test_tool_with_task(ctx: &Context) -> Result<String, ToolError> {
    let answer = ctx.elicit("user_name", "What is your name?", text_form("name")).await?;
    begin().await;
    Ok(format!("Task completed for {}", name(&answer.content)))
}

/// Waits a little, which is what makes a call a task.
async fn begin() {
    sleep(Duration::from_millis(20)).await;
}
