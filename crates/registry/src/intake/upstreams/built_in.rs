//! What the gateway has by itself is offered like what an upstream has, and made of that once.

use std::sync::Arc;

use toolrail_core::{Offer, Offered, Problems};

use super::offered_tool::{Owner, tool_of};
use crate::calls::UseLog;
use crate::catalog::{BuiltIns, DISCOVERY, Made, Resource, Shelf, Shelves};

/// What is offered there, but for tools that have faults.
pub(crate) fn built_ins(offer: &Offer) -> BuiltIns {
    // Calls of them are no use of a tool, so nobody hears of them.
    let uses = Arc::<UseLog>::default();
    let owner = Owner { kind: DISCOVERY, tenant: None, uses: &uses };
    let mut tools = Vec::new();
    for offered in &offer.tools {
        let mut problems = Problems::default();
        let tool = tool_of(offered, &owner, offered.entry.text(), &mut problems);
        if let Some(tool) = tool.filter(|_| !problems.any_error()) {
            tools.push(Arc::new(tool));
        } else {
            tracing::error!(tool = %offered.name, ?problems, "built-in tool left out");
        }
    }
    let shelves = Shelves {
        resources: shelf(&offer.resources, |offered| Resource::new(offered).of_the_gateway()),
        templates: shelf(&offer.templates, |offered| Resource::template(offered).of_the_gateway()),
        ..Shelves::default()
    };
    BuiltIns::new(tools, Arc::new(shelves))
}

fn shelf(offered: &[Offered], make: fn(&Offered) -> Resource) -> Shelf<Resource> {
    let mut things: Vec<Made<Resource>> =
        offered.iter().map(|offered| (Arc::new(make(offered)), Arc::from(""))).collect();
    things.sort_by(|(one, _), (another, _)| one.key.cmp(&another.key));
    Shelf::new(things)
}
