//! Tools that speak to the client while they run.

use std::time::Duration;

use tokio::time::sleep;
use toolrail_tool::{Context, tool};

/// What the suites expect between two notifications.
const PAUSE: Duration = Duration::from_millis(50);

/// Tells how far it has got.
#[tool]
async fn test_tool_with_progress(ctx: &Context) -> &'static str {
    ctx.progress_with(0.0, 100.0, "Completed step 0 of 100");
    sleep(PAUSE).await;
    ctx.progress_with(50.0, 100.0, "Completed step 50 of 100");
    sleep(PAUSE).await;
    ctx.progress_with(100.0, 100.0, "Completed step 100 of 100");
    "Tool with progress executed successfully"
}

/// Sends three log messages.
#[tool]
async fn test_tool_with_logging(ctx: &Context) -> &'static str {
    ctx.info("Tool execution started");
    sleep(PAUSE).await;
    ctx.info("Tool processing data");
    sleep(PAUSE).await;
    ctx.info("Tool execution completed");
    "Tool with logging executed successfully"
}

/// Logs, for clients that asked for it with the request.
#[tool]
fn test_logging_tool(ctx: &Context) -> &'static str {
    ctx.info("Logged by test_logging_tool");
    "Logging tool executed"
}

/// Closes the stream, so that the client must come back for the result (SEP-1699).
#[tool]
async fn test_reconnection(ctx: &Context) -> &'static str {
    sleep(PAUSE).await;
    ctx.hang_up();
    sleep(2 * PAUSE).await;
    "Reconnection test completed successfully. If you received this, the client properly reconnected after stream closure."
}
