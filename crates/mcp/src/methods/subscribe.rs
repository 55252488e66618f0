//! `resources/subscribe` and `resources/unsubscribe`: which resources a legacy session watches.

use serde_json::json;

use super::Context;
use super::resources_read::named;
use crate::envelope::Params;
use crate::reply::{Code, Fault, Reply};

pub(super) fn subscribe(context: Context<'_>) -> Reply {
    let uri = uri_of(&context)?;
    let Some(watch) = context.snapshot().watch(&uri) else {
        let message = format!("unknown resource {:?}", toolrail_core::shortened(&uri));
        return Err(Fault::new(Code::ResourceNotFound, message).with_data(named(&uri)));
    };
    let Some(live) = &context.peer.session.live else {
        let message = "subscribing needs a session; send initialize and name the session it opens";
        return Err(Fault::new(Code::InvalidRequest, message));
    };
    if !live.watch(&uri, || Some(Box::new(watch))) {
        return Err(Fault::new(Code::InvalidParams, "this session watches too many resources already"));
    }
    Ok(context.object(&json!({})))
}

pub(super) fn unsubscribe(context: Context<'_>) -> Reply {
    let uri = uri_of(&context)?;
    if let Some(live) = &context.peer.session.live {
        live.unwatch(&uri);
    }
    Ok(context.object(&json!({})))
}

fn uri_of(context: &Context<'_>) -> Result<String, Fault> {
    let uri = Params::text("uri", context.params.uri)?;
    let missing = || Fault::new(Code::InvalidParams, "\"uri\" is missing: the URI of a resource, a string");
    uri.map(std::borrow::Cow::into_owned).ok_or_else(missing)
}
