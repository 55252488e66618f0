//! What the gateway has by itself, such as the discovery tools: no definitions, so they are neither counted nor exported nor
//! found by a search, and a definition of the same name wins over them.

use std::collections::HashMap;
use std::sync::Arc;

use toolrail_core::ToolName;

use super::endpoint::Discovery;
use super::shelf::Shelves;
use super::tools::Tool;

/// The kind of the discovery tools.
pub const DISCOVERY: &str = "discovery";

/// The discovery tool that calls another. It is never carried out: see [`crate::Finder::resolve`].
pub const CALL_TOOL: &str = "call_tool";

/// The discovery tool that registers another.
pub(crate) const REGISTER_TOOL: &str = "register_tool";

/// The names of the discovery tools.
pub const DISCOVERY_TOOLS: [&str; 7] = [
    "search_tools",
    "get_tool_definition",
    CALL_TOOL,
    "list_tools_by_category",
    "search_hot_tools",
    REGISTER_TOOL,
    "unregister_tool",
];

/// Those of them that change what there is.
const CHANGING: [&str; 2] = [REGISTER_TOOL, "unregister_tool"];

/// Whether the name is that of a discovery tool, in any case.
pub fn is_discovery_tool(name: &str) -> bool {
    let folded = ToolName::fold(name);
    DISCOVERY_TOOLS.iter().any(|known| *known == folded)
}

/// Whether the discovery tool of that name changes what there is.
pub(crate) fn changes_definitions(name: &str) -> bool {
    CHANGING.contains(&name)
}

/// What the gateway has by itself.
#[derive(Default)]
pub(crate) struct BuiltIns {
    all: Kept,
    /// The same without what changes anything.
    reading: Kept,
    none: Kept,
}

/// Some of what the gateway has by itself.
#[derive(Default)]
pub(crate) struct Kept {
    /// In the order in which they are listed.
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<String, Arc<Tool>>,
    pub(crate) shelves: Arc<Shelves>,
}

impl BuiltIns {
    /// These tools, and what else there is.
    pub(crate) fn new(tools: Vec<Arc<Tool>>, shelves: Arc<Shelves>) -> Self {
        let is_reading = |tool: &&Arc<Tool>| !changes_definitions(tool.name.as_str());
        let reading = tools.iter().filter(is_reading).cloned().collect();
        Self {
            reading: Kept::new(reading, Arc::clone(&shelves)),
            all: Kept::new(tools, shelves),
            none: Kept::default(),
        }
    }

    /// What there is of it where so much is served.
    pub(crate) fn at(&self, discovery: Discovery) -> &Kept {
        match discovery {
            Discovery::Off => &self.none,
            Discovery::ReadOnly => &self.reading,
            Discovery::On => &self.all,
        }
    }
}

impl Kept {
    fn new(tools: Vec<Arc<Tool>>, shelves: Arc<Shelves>) -> Self {
        let by_name = tools.iter().map(|tool| (tool.name.folded(), Arc::clone(tool))).collect();
        Self { tools, by_name, shelves }
    }

    /// The tools, in the order in which they are listed.
    pub(crate) fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The tool of that name, in any case.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        // Most gateways that look here look for nothing that could be there.
        if self.tools.is_empty() { None } else { self.by_name.get(&ToolName::fold(name)) }
    }
}
