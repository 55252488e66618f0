//! A tool that an upstream offers becomes an entry like that of a definition: its list entry is kept as it was offered, and
//! what would make clients drop it is told instead.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use toolrail_core::{ArgumentCheck, OfferedTool, Problems, SaidHints};

use super::offerer::Offerer;
use crate::calls::{UseCount, UseLog};
use crate::catalog::{Arguments, Entry, Item, LazyValidator, Tool, ToolExecutor, header_params, listing};
use crate::intake::compile::{checked, checked_arguments};

/// Whose an offered tool is.
pub(crate) struct Owner<'a> {
    /// The kind that carries it out.
    pub(crate) kind: &'a str,
    /// Everybody's if absent.
    pub(crate) tenant: Option<&'a Arc<str>>,
    /// Hears that it is called.
    pub(crate) uses: &'a Arc<UseLog>,
}

/// The entry of an offered tool; that of an earlier offer, if nothing about it changed.
pub(crate) fn entry_of(offered: &OfferedTool, by: &Offerer, before: Option<&Arc<Entry>>) -> Arc<Entry> {
    let document = Arc::clone(offered.entry.text());
    if let Some(before) = before.filter(|before| is_same(before, &document, offered)) {
        return Arc::clone(before);
    }
    let mut problems = Problems::default();
    let owner = Owner { kind: &by.kind, tenant: by.key.tenant.as_ref(), uses: &by.uses };
    let tool = tool_of(offered, &owner, &document, &mut problems).filter(|_| !problems.any_error());
    let tool = tool.map(|tool| Tool { approval: by.needed_approval(&document), ..tool });
    let name = offered.name.to_string();
    let mut problems = problems.into_list(Some(&name), str::to_owned);
    for problem in &mut problems {
        problem.origin = Some(by.name.clone());
    }
    Arc::new(Entry {
        tenant: by.key.tenant.clone(),
        name,
        source: by.source,
        origin: by.name.clone(),
        enabled: true,
        switched_on: true,
        document,
        item: tool.map(|tool| Item::Tool(Arc::new(tool))),
        serving: None,
        problems,
        version: None,
        updated_at: None,
        updated_by: None,
    })
}

fn is_same(before: &Entry, document: &Arc<str>, offered: &OfferedTool) -> bool {
    let same_tool = |tool: &Arc<Tool>| {
        let executor = match &tool.executor {
            ToolExecutor::Ready(executor) => Arc::ptr_eq(executor, &offered.executor),
            ToolExecutor::Lazy(_) => false,
        };
        let arguments = match tool.arguments {
            Arguments::Checked(_) => ArgumentCheck::Here,
            Arguments::PassedOn => ArgumentCheck::There,
        };
        executor && arguments == offered.arguments && tool.tasks == offered.tasks
    };
    before.document == *document && before.tool().is_some_and(same_tool)
}

/// The tool itself; `text` is its entry in the list.
pub(crate) fn tool_of(
    offered: &OfferedTool,
    by: &Owner<'_>,
    text: &Arc<str>,
    problems: &mut Problems,
) -> Option<Tool> {
    let Some(members) = offered.entry.as_object() else {
        problems.error("", "its entry in the list is not an object");
        return None;
    };
    let any = json!({"type": "object"});
    let input_schema = members.get("inputSchema").unwrap_or(&any);
    let output_schema = members.get("outputSchema");
    let entry = Bytes::copy_from_slice(text.as_bytes());
    let header_params = header_params::find(input_schema, problems);
    let (arguments, output) = match offered.arguments {
        ArgumentCheck::There => (Arguments::PassedOn, None),
        ArgumentCheck::Here => {
            let arguments = checked_arguments(input_schema, &entry, problems);
            let output = output_schema.map(|schema| {
                checked(schema, "/outputSchema", problems).map(|_| LazyValidator::of(schema, &entry))
            });
            (arguments?, output.flatten())
        }
    };
    let text_at = |pointer: &str| offered.entry.pointer(pointer).and_then(Value::as_str).map(Into::into);
    let tags = offered.entry.pointer("/_meta/toolrail~1tags").and_then(Value::as_array);
    Some(Tool {
        legacy_entry: output_schema.and_then(listing::wrapped).map(|schema| {
            let mut members = members.clone();
            members.insert("outputSchema".into(), schema);
            Value::Object(members).to_string().into()
        }),
        entry,
        header_params,
        described: None,
        arguments,
        output,
        has_output_schema: output_schema.is_some(),
        executor: ToolExecutor::Ready(Arc::clone(&offered.executor)),
        limit: None,
        approval: None,
        uses: UseCount::new(Arc::clone(by.uses)),
        tenant: by.tenant.cloned(),
        tasks: offered.tasks,
        hints: offered.entry.get("annotations").map(SaidHints::from_mcp).unwrap_or_default(),
        name: offered.name.clone(),
        description: text_at("/description"),
        kind: by.kind.into(),
        defer_loading: offered.entry.pointer("/_meta/toolrail~1deferLoading").and_then(Value::as_bool),
        category: text_at("/_meta/toolrail~1category"),
        tags: tags.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
    })
}
