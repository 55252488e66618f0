//! `resources/read`: the content of a resource.

use std::borrow::Cow;

use serde_json::{Value, json};
use toolrail_core::{CallError, ErrorCode, Outcome as CallOutcome, shortened};
use toolrail_registry::Resource;

use super::Context;
use crate::content;
use crate::dialect::Dialect;
use crate::envelope::Params;
use crate::finish::Cache;
use crate::reply::{Code, Fault, Reply};

pub(super) async fn handle(context: Context<'_>) -> Reply {
    let Some(uri) = Params::text("uri", context.params.uri)? else {
        return Err(Fault::new(Code::InvalidParams, "\"uri\" is missing: the URI of the resource, a string"));
    };
    let snapshot = context.snapshot();
    let Some(resource) = snapshot.resource(&uri) else {
        return unlisted(&context, &snapshot.unlisted(&uri), &uri).await;
    };
    let outcome = resource.read(&uri, context.peer.principal, context.caller).await;
    answer(&context, resource, &uri, outcome)
}

/// Asks those who may have a resource that nobody lists, one after the other. The only one gives its own answer, whatever it
/// is; of several, those that refuse have it not.
async fn unlisted(context: &Context<'_>, owners: &[Resource], uri: &str) -> Reply {
    for owner in owners {
        let outcome = owner.read(uri, context.peer.principal, context.caller).await;
        if outcome.is_ok() || owners.len() == 1 {
            return answer(context, owner, uri, outcome);
        }
    }
    Err(unknown_resource(context, uri))
}

fn answer(context: &Context<'_>, resource: &Resource, uri: &str, outcome: CallOutcome) -> Reply {
    if let Err(CallError { code: ErrorCode::NotFound, message, rpc: None, .. }) = outcome {
        return Err(missing(context, uri, message));
    }
    match context.settle_strictly(outcome, Cache::Never) {
        Ok(result) => {
            let contents = content::contents::write(&result, uri, resource.mime.as_deref());
            Ok(context.finish().close_cached(contents, Cache::Never))
        }
        Err(reply) => reply,
    }
}

/// Which resource it is about; of an address that nobody can have meant, only its beginning.
pub(super) fn named(uri: &str) -> Value {
    const LONGEST: usize = 2_048;
    json!({"uri": if uri.len() > LONGEST { shortened(uri) } else { Cow::Borrowed(uri) }})
}

pub(super) fn unknown_resource(context: &Context<'_>, uri: &str) -> Fault {
    let message = format!("unknown resource {:?}; resources/list has those there are", shortened(uri));
    missing(context, uri, message)
}

/// −32602 since 2026-07-28, −32002 before.
fn missing(context: &Context<'_>, uri: &str, message: String) -> Fault {
    let code = match context.dialect {
        Dialect::Modern => Code::InvalidParams,
        Dialect::Legacy | Dialect::Plain => Code::ResourceNotFound,
    };
    Fault::new(code, message).with_data(named(uri))
}
