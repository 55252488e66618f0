//! `resources/subscribe` and `resources/unsubscribe`: which resources a legacy session watches.

use serde_json::json;

use super::Context;
use super::resources_read::named;
use crate::envelope::Params;
use crate::reply::{Code, Fault, Reply};

pub(super) async fn subscribe(context: Context<'_>) -> Reply {
    let uri = uri_of(&context)?;
    let Some(live) = &context.peer.session.live else {
        let message = "subscribing needs a session; send initialize and name the session it opens";
        return Err(Fault::new(Code::InvalidRequest, message));
    };
    // Before anybody is asked: what changes from now on is to be told.
    if !live.watch(&uri) {
        return Err(Fault::new(Code::InvalidParams, "this session watches too many resources already"));
    }
    if live.keeps_watch(&uri) {
        return Ok(context.object(&json!({})));
    }
    match context.snapshot().watch(&uri, context.peer.principal, context.caller).await {
        Ok(Some(watches)) => {
            live.keep_watch(&uri, watches);
            Ok(context.object(&json!({})))
        }
        Ok(None) => {
            live.unwatch(&uri);
            let message = format!("unknown resource {:?}", toolrail_core::shortened(&uri));
            Err(Fault::new(Code::ResourceNotFound, message).with_data(named(&uri)))
        }
        Err(error) => {
            live.unwatch(&uri);
            Err(context.refused(error))
        }
    }
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
