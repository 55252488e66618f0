//! The discovery tools: what an agent finds, looks at and calls tools with when it cannot read the whole list (R59–R73).
//! They are tools like others, but belong to the gateway: no definition has them, and no search finds them.

mod arguments;
mod asked;
mod call;
mod categories;
mod definition;
mod failure;
mod register;
mod resources;
mod search;
mod unregister;

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolrail_core::{
    ArgumentCheck, Call, CallError, ErrorCode, Executor, Offer, OfferedTool, Outcome, Preview, TaskSupport,
    ToolName,
};
use toolrail_registry::Registry;

use asked::Asked;

/// One discovery tool.
struct Tool {
    /// Its entry in `tools/list`.
    entry: fn() -> Value,
    /// Carries it out.
    run: for<'a> fn(Asked<'a>) -> Running<'a>,
}

type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// In the order in which they are listed: what is used first comes first.
const TOOLS: &[Tool] = &[
    Tool { entry: search::entry, run: |asked| Box::pin(search::among_all(asked)) },
    Tool { entry: definition::entry, run: |asked| Box::pin(definition::run(asked)) },
    Tool { entry: call::entry, run: |_| Box::pin(ready(call::run())) },
    Tool { entry: categories::entry, run: |asked| Box::pin(ready(categories::run(&asked))) },
    Tool { entry: search::hot_entry, run: |asked| Box::pin(search::among_hot(asked)) },
    Tool { entry: register::entry, run: |asked| Box::pin(register::run(asked)) },
    Tool { entry: unregister::entry, run: |asked| Box::pin(unregister::run(asked)) },
];

/// The discovery tools and resources of a registry. It has them itself, so they must not hold it.
pub fn offer(registry: &Weak<Registry>) -> Offer {
    let tools = TOOLS.iter().filter_map(|tool| {
        let entry = (tool.entry)();
        let name = ToolName::parse(entry.get("name")?.as_str()?).ok()?;
        let executor = Arc::new(Discovery { registry: Weak::clone(registry), run: tool.run });
        // Models send "5" for 5 and null for nothing; that is no reason to have them ask again.
        let (arguments, tasks) = (ArgumentCheck::There, TaskSupport::Never);
        Some(OfferedTool { name, entry, executor, arguments, tasks })
    });
    let (resources, templates) = resources::offered(registry);
    Offer { tools: tools.collect(), resources, templates, prompts: Vec::new() }
}

/// Carries out one of them.
struct Discovery {
    registry: Weak<Registry>,
    run: for<'a> fn(Asked<'a>) -> Running<'a>,
}

#[async_trait]
impl Executor for Discovery {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        (self.run)(Asked::new(&self.registry, call)?).await
    }

    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        let message = format!("{:?} sends nothing: the gateway answers it itself", call.tool);
        Err(CallError::new(ErrorCode::InvalidRequest, message))
    }
}

/// The schema of the arguments of a discovery tool.
fn takes(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The hints about a tool that only looks.
fn only_looks() -> Value {
    json!({"readOnlyHint": true, "openWorldHint": false})
}
