//! From a server's lists to what is offered here: names get the prefix, everything else of an entry stays as it came.

use std::sync::Arc;

use serde_json::Value;
use toolrail_core::{ArgumentCheck, Executor, Offer, Offered, OfferedTool, TaskSupport, ToolName};

use super::executor::{Remote, Thing};
use super::header_params;
use super::hub::Hub;
use super::lists::Lists;
use super::settings::Selection;

/// The most names that a message lists.
const MOST_NAMED: usize = 5;

/// What is offered, and what had to be left out, in words.
pub(super) fn build(lists: Lists, selection: &Selection, hub: &Arc<Hub>) -> (Offer, Option<String>) {
    let mut left_out = Vec::new();
    let mut offer = Offer::default();
    for entry in lists.tools {
        let Some(name) = text(&entry, "name").filter(|name| selection.lists(name)).map(str::to_owned) else {
            continue;
        };
        match ToolName::parse(&format!("{}{name}", selection.prefix)) {
            Ok(here) => offer.tools.push(tool(name, here, entry, hub)),
            Err(_) => left_out.push(name),
        }
    }
    for entry in lists.prompts {
        let Some(name) = text(&entry, "name").map(str::to_owned) else { continue };
        let key = format!("{}{name}", selection.prefix);
        let entry = renamed(entry, &key);
        offer.prompts.push(offered(key, entry, remote(hub, Thing::Prompt { name })));
    }
    for entry in lists.resources {
        let Some(key) = text(&entry, "uri").map(str::to_owned) else { continue };
        offer.resources.push(offered(key, entry, remote(hub, Thing::Resource)));
    }
    for entry in lists.templates {
        let Some(key) = text(&entry, "uriTemplate").map(str::to_owned) else { continue };
        let thing = Thing::Template { template: key.clone() };
        offer.templates.push(offered(key, entry, remote(hub, thing)));
    }
    (offer, in_words(&left_out))
}

fn tool(name: String, here: ToolName, entry: Value, hub: &Arc<Hub>) -> OfferedTool {
    let header_params = entry.get("inputSchema").map(header_params::find).unwrap_or_default();
    let entry = renamed(entry, here.as_str());
    let executor = remote(hub, Thing::Tool { name, header_params });
    OfferedTool { name: here, entry, executor, arguments: ArgumentCheck::There, tasks: TaskSupport::Never }
}

fn offered(key: String, entry: Value, executor: Arc<dyn Executor>) -> Offered {
    Offered { key, entry, executor }
}

fn remote(hub: &Arc<Hub>, thing: Thing) -> Arc<dyn Executor> {
    Arc::new(Remote { hub: Arc::clone(hub), thing })
}

fn text<'e>(entry: &'e Value, key: &str) -> Option<&'e str> {
    entry.get(key).and_then(Value::as_str)
}

fn renamed(mut entry: Value, name: &str) -> Value {
    if let Some(place) = entry.get_mut("name") {
        *place = name.into();
    }
    entry
}

fn in_words(left_out: &[String]) -> Option<String> {
    if left_out.is_empty() {
        return None;
    }
    let named: Vec<String> = left_out.iter().take(MOST_NAMED).map(|name| format!("{name:?}")).collect();
    let more = left_out.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "tools whose names would be longer than {} characters or have others than A-Z a-z 0-9 _ . - are left out: {}{more}; \
         shorten mcp.prefix or exclude them",
        ToolName::MAX_LENGTH,
        named.join(", ")
    ))
}
