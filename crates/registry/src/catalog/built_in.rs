//! What the gateway has by itself, such as the discovery tools: no definitions, so they are neither counted nor exported nor
//! found by a search, and a definition of the same name wins over them.

use std::collections::HashMap;
use std::sync::Arc;

use toolrail_core::{Offer, Offered, OfferedTool, Problems, ToolName};

use super::endpoint::Discovery;
use super::offered::Resource;
use super::shelf::{Made, Shelf, Shelves};
use super::snapshot::{Published, Snapshot};
use super::tools::Tool;
use crate::intake::{Owner, tool_of};
use crate::registry::Registry;
use crate::usage::UseLog;

/// The kind of the discovery tools.
pub const DISCOVERY: &str = "discovery";

/// The discovery tool that calls another. It is never carried out: see [`Registry::resolve`].
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
    pub(crate) shelves: Shelves,
}

impl BuiltIns {
    fn new(offer: &Offer) -> Self {
        let reading = |tool: &OfferedTool| !CHANGING.contains(&tool.name.as_str());
        Self { all: Kept::of(offer, |_| true), reading: Kept::of(offer, reading), none: Kept::default() }
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
    fn of(offer: &Offer, wanted: impl Fn(&OfferedTool) -> bool) -> Self {
        // Calls of them are no use of a tool, so nobody hears of them.
        let uses = Arc::<UseLog>::default();
        let owner = Owner { kind: DISCOVERY, tenant: None, uses: &uses };
        let mut tools = Vec::new();
        for offered in offer.tools.iter().filter(|tool| wanted(tool)) {
            let mut problems = Problems::default();
            let tool = tool_of(offered, &owner, offered.entry.text(), &mut problems);
            if let Some(tool) = tool.filter(|_| !problems.any_error()) {
                tools.push(Arc::new(tool));
            } else {
                tracing::error!(tool = %offered.name, ?problems, "built-in tool left out");
            }
        }
        let by_name = tools.iter().map(|tool| (tool.name.folded(), Arc::clone(tool))).collect();
        let shelves = Shelves {
            resources: shelf(&offer.resources, Resource::new),
            templates: shelf(&offer.templates, Resource::template),
            ..Shelves::default()
        };
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

fn shelf(offered: &[Offered], make: fn(&Offered) -> Resource) -> Shelf<Resource> {
    let mut things: Vec<Made<Resource>> =
        offered.iter().map(|offered| (Arc::new(make(offered)), Arc::from(""))).collect();
    things.sort_by(|(one, _), (another, _)| one.key.cmp(&another.key));
    Shelf::new(things)
}

impl Registry {
    /// The same with what the gateway has by itself. To be said after [`Registry::with_endpoints`].
    #[must_use]
    pub fn with_built_ins(mut self, offer: &Offer) -> Self {
        self.built_ins = Arc::new(BuiltIns::new(offer));
        let discovery = self.endpoints().main().discovery;
        let built_ins = Arc::clone(&self.built_ins);
        let nothing = Published { built_ins, discovery, ..Published::default() };
        self.current.store(Arc::new(Snapshot::shared(Arc::new(nothing))));
        self
    }
}
