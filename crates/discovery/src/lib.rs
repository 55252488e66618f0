//! The discovery tools: what an agent finds, looks at and calls tools with when it cannot read the whole list.
//! They are tools like others, but belong to the gateway: no definition has them, and no search finds them.

mod arguments;
mod call;
mod categories;
mod definition;
mod discovery_call;
mod failure;
mod language;
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
use toolrail_registry::{Registry, SearchMethod};

use discovery_call::DiscoveryCall;
pub use language::Language;

/// One discovery tool.
struct Tool {
    /// Its entry in `tools/list`, where that is the method of searches that name none.
    entry: fn(SearchMethod) -> Value,
    /// Carries it out.
    run: for<'a> fn(DiscoveryCall<'a>) -> Running<'a>,
}

type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// In the order in which they are listed: what is used first comes first.
const TOOLS: &[Tool] = &[
    Tool { entry: search::entry, run: |asked| Box::pin(search::among_all(asked)) },
    Tool { entry: |_| definition::entry(), run: |asked| Box::pin(definition::run(asked)) },
    Tool { entry: |_| call::entry(), run: |_| Box::pin(ready(call::run())) },
    Tool { entry: |_| categories::entry(), run: |asked| Box::pin(ready(categories::run(&asked))) },
    Tool { entry: search::hot_entry, run: |asked| Box::pin(search::among_hot(asked)) },
    Tool { entry: |_| register::entry(), run: |asked| Box::pin(register::run(asked)) },
    Tool { entry: |_| unregister::entry(), run: |asked| Box::pin(unregister::run(asked)) },
];

/// The discovery tools and resources of a registry whose searches go by that method where none is named. It has them itself, so
/// they must not hold it. What goes wrong is told in that language first.
pub fn offer(registry: &Weak<Registry>, default_method: SearchMethod, language: Language) -> Offer {
    let tools = TOOLS.iter().filter_map(|tool| {
        let entry = (tool.entry)(default_method);
        let name = ToolName::parse(entry.get("name")?.as_str()?).ok()?;
        let executor = Arc::new(Discovery { registry: Weak::clone(registry), language, run: tool.run });
        // Models send "5" for 5 and null for nothing; that is no reason to have them ask again.
        let (arguments, tasks) = (ArgumentCheck::There, TaskSupport::Never);
        Some(OfferedTool { name, entry: entry.into(), executor, arguments, tasks })
    });
    let (resources, templates) = resources::offered(registry);
    Offer { tools: tools.collect(), resources, templates, ..Offer::default() }
}

/// Carries out one of them.
struct Discovery {
    registry: Weak<Registry>,
    language: Language,
    run: for<'a> fn(DiscoveryCall<'a>) -> Running<'a>,
}

#[async_trait]
impl Executor for Discovery {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        let ended = (self.run)(DiscoveryCall::new(&self.registry, call)?).await;
        ended.map_err(|error| CallError { message: self.language.first(error.message), ..error })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_knows_the_discovery_tools_by_name() {
        let offer = offer(&Weak::new(), SearchMethod::Hybrid, Language::English);
        let names: Vec<&str> = offer.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, toolrail_registry::DISCOVERY_TOOLS);
    }

    #[test]
    fn the_schema_names_the_method_that_is_configured() {
        let offer = offer(&Weak::new(), SearchMethod::Hybrid, Language::English);
        for name in ["search_tools", "search_hot_tools"] {
            let tool = offer.tools.iter().find(|tool| tool.name.as_str() == name).unwrap();
            let method = tool.entry.pointer("/inputSchema/properties/search_method").unwrap();
            assert_eq!(method["default"], "hybrid", "{method}");
        }
    }
}
