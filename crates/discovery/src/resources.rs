//! The resources `registry://stats`, `registry://categories` and `registry://tools/{name}`, as the one who reads
//! them sees the registry.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolrail_core::{
    Call, CallError, Completing, Completion, ErrorCode, Executor, Offered, Outcome, Preview, ToolName,
};
use toolrail_registry::{Registry, Statistics};

use crate::definition::described;
use crate::discovery_call::{DiscoveryCall, catalogue, good};
use crate::failure::unknown;

/// The most names that complete the beginning of one.
const MOST_COMPLETIONS: usize = 100;

/// The resources, and the templates.
pub(crate) fn offered(registry: &Weak<Registry>) -> (Vec<Offered>, Vec<Offered>) {
    let make = |(uri, name, title, description): (&str, &str, &str, &str), content| {
        let field = if uri.contains('{') { "uriTemplate" } else { "uri" };
        let entry = json!({
            field: uri, "name": name, "title": title, "description": description, "mimeType": "application/json",
        });
        let executor = Arc::new(Reading { registry: Weak::clone(registry), content });
        Offered { key: uri.to_owned(), entry: entry.into(), executor }
    };
    let stats = "How many tools and categories there are, the tools used most, and what listing them costs";
    let resources = vec![
        make(("registry://stats", "stats", "Registry statistics", stats), Content::Statistics),
        make(
            ("registry://categories", "categories", "Tool categories", "The categories that tools are in"),
            Content::Categories,
        ),
    ];
    let one = "All there is to know about one tool, as get_tool_definition returns it";
    let templates =
        vec![make(("registry://tools/{name}", "tool", "Definition of a tool", one), Content::Tool)];
    (resources, templates)
}

/// What a resource has.
#[derive(Clone, Copy)]
enum Content {
    Statistics,
    Categories,
    Tool,
}

/// Reads one of them.
struct Reading {
    registry: Weak<Registry>,
    content: Content,
}

#[async_trait]
impl Executor for Reading {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        let asked = DiscoveryCall::new(&self.registry, call)?;
        match self.content {
            Content::Statistics => {
                asked.registry.usage().ready_uses().await;
                good(&statistics(&asked))
            }
            Content::Categories => {
                let categories = asked.snapshot.categories();
                good(&json!({"count": categories.len(), "categories": categories}))
            }
            Content::Tool => {
                let name = call.arguments.get("name").and_then(Value::as_str).unwrap_or_default();
                match asked.snapshot.find(name) {
                    Some(tool) => good(&described(&asked, tool)),
                    None => Err(unknown(&asked, name).await),
                }
            }
        }
    }

    fn preview(&self, _: &Call<'_>) -> Result<Preview, CallError> {
        Err(CallError::new(ErrorCode::InvalidRequest, "reading this sends nothing"))
    }

    async fn complete(&self, asked: &Completing<'_>) -> Result<Completion, CallError> {
        let Some(registry) = self.registry.upgrade() else {
            return Ok(Completion::default());
        };
        let begun = ToolName::fold(asked.value);
        let snapshot = catalogue(&registry, asked.principal, asked.caller);
        let fits = |name: &&str| ToolName::fold(name).starts_with(&begun);
        let mut names = snapshot.tools().iter().map(|tool| tool.name.as_str()).filter(fits);
        let values = names.by_ref().take(MOST_COMPLETIONS).map(str::to_owned).collect();
        Ok(Completion { values, total: None, has_more: Some(names.next().is_some()) })
    }
}

fn statistics(asked: &DiscoveryCall<'_>) -> Value {
    let mut answer =
        json!(Statistics::of(&asked.snapshot, asked.call.principal.tenant(), asked.registry.usage()));
    // What is listed is a matter of the endpoint, pinned tools for one.
    let endpoint = asked.snapshot.endpoint().unwrap_or(asked.registry.endpoints().main());
    let seen = asked.registry.catalogue_at(asked.call.principal, endpoint);
    answer["context"] = json!(seen.context_cost());
    answer
}
