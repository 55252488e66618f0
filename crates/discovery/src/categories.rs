//! `list_tools_by_category`: the tools of a category, or the categories there are.

use serde_json::{Value, json};
use toolrail_core::{METADATA, Outcome, shortened};
use toolrail_registry::Snapshot;

use crate::arguments::{Arguments, MOST_TOOLS};
use crate::discovery_call::{DiscoveryCall, good};
use crate::{only_looks, takes};

/// How many tools are listed unless something else is said.
const USUAL_TOOLS: usize = 20;

pub(crate) fn entry() -> Value {
    let properties = json!({
        "category": {
            "type": "string", "description": "The category, in any case; \"all\" lists the categories there are"
        },
        "limit": {
            "type": "integer", "minimum": 1, "maximum": MOST_TOOLS, "default": USUAL_TOOLS,
            "description": "The most tools to return"
        },
    });
    json!({
        "name": "list_tools_by_category",
        "title": "List tools by category",
        "description": "Lists the tools of one category, or with category \"all\" the categories there are. Use it to look around; to \
            find a tool for a task, search_tools is better.",
        "inputSchema": takes(properties, &["category"]),
        "annotations": only_looks(),
    })
}

pub(crate) fn run(asked: &DiscoveryCall<'_>) -> Outcome {
    let mut arguments = Arguments::of(asked.call)?;
    let category = arguments.needed("category", "类别名称不能为空")?;
    let limit = arguments.limit(USUAL_TOOLS)?;
    arguments.finish()?;
    if category.trim().eq_ignore_ascii_case("all") {
        return good(&json!({"categories": asked.snapshot.categories()}));
    }
    good(&listed(&asked.snapshot, category.trim(), limit))
}

fn listed(snapshot: &Snapshot, category: &str, limit: usize) -> Value {
    let Some(found) = snapshot.tools_in_category(category, limit) else {
        let message =
            format!("there is no category {:?}; \"categories\" has those there are", shortened(category));
        let categories = snapshot.categories();
        return json!({"category": category, "count": 0, "tools": [], "message": message, "categories": categories});
    };
    let tools: Vec<Value> = found
        .tools
        .iter()
        .map(|tool| {
            let mut shown = json!({"name": tool.name, "description": tool.description, "tags": tool.tags});
            if &*tool.kind == METADATA {
                shown["callable"] = false.into();
            }
            shown
        })
        .collect();
    let mut answer = json!({"category": found.name, "count": tools.len(), "tools": tools});
    if found.count > found.tools.len() {
        answer["total"] = found.count.into();
    }
    answer
}
