//! The resources.

use toolrail_tool::serde_json::json;
use toolrail_tool::{Offering, Refused, Resource, ResourceTemplate};

use crate::changes::changes;
use crate::content::PIXEL;

/// The resource that changes.
pub(crate) const WATCHED: &str = "test://watched-resource";

pub(crate) fn add(offering: &Offering) -> Result<(), Refused> {
    offering.add(
        Resource::new("test://static-text", "Static text resource", |_| {
            Box::pin(async { "This is the content of the static text resource." })
        })
        .description("A text that never changes")
        .mime("text/plain"),
    )?;
    offering.add(
        Resource::new("test://static-binary", "Static binary resource", |_| {
            Box::pin(async { PIXEL.to_vec() })
        })
        .description("A picture that never changes")
        .mime("image/png"),
    )?;
    offering.add(
        Resource::new(WATCHED, "Watched resource", |_| {
            Box::pin(async { format!("Change number {}.", changes()) })
        })
        .description("A text that changes when a tool says so")
        .mime("text/plain"),
    )?;
    offering.add(template())
}

fn template() -> ResourceTemplate {
    ResourceTemplate::new("test://template/{id}/data", "Resource template", |ctx| {
        Box::pin(async move {
            let id = ctx.argument("id").unwrap_or_default();
            json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string()
        })
    })
    .description("Data for any id")
    .mime("application/json")
    .completes("id", |typed| {
        ["1", "12", "123"].iter().filter(|id| id.starts_with(typed)).map(ToString::to_string).collect()
    })
}
