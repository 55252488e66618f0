//! `POST /mcp/tools/call`: one call of a tool, named by `tool` or `name`, its result as raw JSON.

use std::borrow::Cow;
use std::net::IpAddr;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolrail_core::{
    Caller, CallerToken, ErrorCode, ForeignPage, Payload, PeerAddress, PlainAnswer, Share, ToolResult,
    write_json_string,
};
use toolrail_registry::{Entry, Item, Resolved, Snapshot, Unresolved};

use crate::advice::{Advice, NextStep};
use crate::failure::{Failure, json_bytes};
use crate::requester::Requester;
use crate::unknown::{Sought, unknown};
use crate::{Admin, body};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallRequest<'a> {
    #[serde(borrow, default)]
    tool: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

pub(crate) async fn call(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    foreign_page: Option<Extension<ForeignPage>>,
    address: Option<Extension<PeerAddress>>,
    token: Option<Extension<CallerToken>>,
    request: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let request: CallRequest<'_> = body::parse_object(&bytes)?;
    let name = match (&request.tool, &request.name) {
        (Some(tool), Some(name)) if tool != name => {
            return Err(Failure::bad_request(
                "\"tool\" and \"name\" mean the same but differ; send one of them",
            ));
        }
        (Some(name), _) | (None, Some(name)) => name,
        (None, None) => {
            return Err(Failure::bad_request("\"tool\" is missing: the name of the tool to call"));
        }
    };
    let tenant = principal.tenant();
    // As at /mcp: what is built in is there only if it is there.
    let snapshot = admin.registry.catalogue_at(&principal, admin.registry.endpoints().main());
    let address = address.map(|Extension(PeerAddress(address))| address);
    let caller = RestCaller {
        may_change: foreign_page.is_none(),
        address,
        token: token.map(|Extension(token)| token),
    };
    let resolved = admin.registry.finder().resolve(&snapshot, name, request.arguments).await;
    let Resolved { tool, arguments, .. } = resolved.map_err(|unresolved| match unresolved {
        Unresolved::Unknown => not_callable(&snapshot, name),
        Unresolved::Failed(error) => error.into(),
    })?;
    let outcome = tool.call(arguments.as_deref(), &principal, &caller).await;
    tracing::debug!(name = %tool.name, revision = snapshot.revision, tenant, ok = outcome.as_ref().is_ok_and(|result| !result.is_error), "tool called");
    answer(outcome?)
}

/// A client that can be told and asked nothing.
struct RestCaller {
    may_change: bool,
    address: Option<IpAddr>,
    token: Option<CallerToken>,
}

impl Caller for RestCaller {
    fn may_change(&self) -> bool {
        self.may_change
    }

    fn address(&self) -> Option<IpAddr> {
        self.address
    }

    fn token(&self) -> Option<&CallerToken> {
        self.token.as_ref()
    }
}

/// Why no tool can be called under that name, with the name that was probably meant.
fn not_callable(snapshot: &Snapshot, name: &str) -> Failure {
    let advice = match snapshot.entry(name).map(|entry| &**entry) {
        Some(Entry { name, item: Some(item), .. }) if !matches!(item, Item::Tool(_)) => {
            let fault = format!("{name:?} is {}, not a tool", item.word());
            Advice::new(fault, NextStep::ListTools, "lists the tools")
        }
        Some(Entry { name, item, tenant, .. }) => {
            let (name, tenant) = (name.clone(), tenant.as_deref().map(str::to_owned));
            if item.is_some() {
                let fault = format!("the tool {name:?} is switched off");
                Advice::new(fault, NextStep::EnableTool { name, tenant }, "switches it on")
            } else {
                let fault = format!("the definition of {name:?} has errors");
                Advice::new(fault, NextStep::ShowDefinition { name }, "shows them")
            }
        }
        None => {
            let names = snapshot.tools().iter().map(|tool| tool.name.as_str());
            return unknown(Sought::Tool, name, names);
        }
    };
    Failure::advised(ErrorCode::NotFound, advice)
}

fn answer(result: ToolResult) -> Result<Response, Failure> {
    let result = result.into_good()?;
    let mut body = b"{\"ok\":true,\"result\":".to_vec();
    write_payload(&mut body, &result.payload);
    if !result.notes.is_empty() {
        body.extend_from_slice(b",\"notes\":[");
        write_list(&mut body, &result.notes, |body, note| write_json_string(body, note));
        body.push(b']');
    }
    body.push(b'}');
    let body = Share::current().keep(body.into()).map_err(body::no_room)?;
    Ok(json_bytes(StatusCode::OK, body))
}

fn write_payload(body: &mut Vec<u8>, payload: &Payload) {
    match payload {
        Payload::Json(json) => body.extend_from_slice(json.bytes()),
        Payload::Whole(json) => write_plain(body, &PlainAnswer::of(json)),
        Payload::Text(text) => write_json_string(body, text),
        Payload::Blocks(blocks) => {
            body.extend_from_slice(b"{\"content\":[");
            write_list(body, blocks, |body, block| block.write(body));
            body.extend_from_slice(b"]}");
        }
        // Refused before this.
        Payload::Empty | Payload::InputRequired(_) => body.extend_from_slice(b"null"),
    }
}

fn write_plain(body: &mut Vec<u8>, answer: &PlainAnswer<'_>) {
    match answer {
        PlainAnswer::Json(json) => body.extend_from_slice(json.as_bytes()),
        PlainAnswer::Text(text) => write_json_string(body, text),
        PlainAnswer::Content(blocks) => {
            body.extend_from_slice(b"{\"content\":");
            body.extend_from_slice(blocks.as_bytes());
            body.push(b'}');
        }
        PlainAnswer::Nothing => body.extend_from_slice(b"null"),
    }
}

fn write_list<T>(body: &mut Vec<u8>, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write(body, item);
    }
}
