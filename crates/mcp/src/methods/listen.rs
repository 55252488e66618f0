//! `subscriptions/listen`: a stream of changes that lasts until the client closes it or the server ends (2026-07-28).

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolrail_core::Kept;
use toolrail_protocol::meta::{SERVER_INFO, SUBSCRIPTION_ID};

use super::Context;
use super::as_task::{declared, missing_extension};
use crate::follower::{FollowedView, Follower, Wanted, Watched};
use crate::reply::{Code, Fault, Outcome, Reply};

/// The most resources one subscription may watch.
const MOST_WATCHED: usize = 1_000;
/// How many are asked for at the same time.
const MOST_AT_ONCE: usize = 16;
/// The longest URI that can be watched.
const LONGEST_URI: usize = 2 * 1024;

/// What may be listened to.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Filter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
    task_ids: Vec<String>,
}

pub(super) async fn handle(context: Context<'_>) -> Reply {
    let filter = filter_of(&context)?;
    let Some(outbox) = context.peer.outbox else {
        let message = "subscriptions/listen answers with a stream; accept text/event-stream";
        return Err(Fault::new(Code::InvalidRequest, message).with_status(406));
    };
    let mut accepted = json!({});
    for (asked, name) in [
        (filter.tools_list_changed, "toolsListChanged"),
        (filter.prompts_list_changed, "promptsListChanged"),
        (filter.resources_list_changed, "resourcesListChanged"),
    ] {
        if asked {
            accepted[name] = true.into();
        }
    }
    if !filter.resource_subscriptions.is_empty() {
        accepted["resourceSubscriptions"] = json!(filter.resource_subscriptions);
    }
    let mut tasks = context.server.tasks.follow(&filter.task_ids, context.peer.principal);
    if !filter.task_ids.is_empty() {
        accepted["taskIds"] = json!(tasks.ids());
    }
    let wanted = Wanted {
        tools: filter.tools_list_changed,
        prompts: filter.prompts_list_changed,
        resources: filter.resources_list_changed,
        watched: Watched::These(filter.resource_subscriptions.clone()),
        conversation: context.caller.conversation().map(str::to_owned),
        subscription: Some(context.id.to_owned()),
    };
    let view = FollowedView {
        registry: Arc::clone(&context.server.registry),
        principal: context.peer.principal.clone(),
        endpoint: Arc::clone(context.peer.endpoint),
    };
    let mut follower = Follower::new(view, wanted);
    let _watches = watches_of(&context, &filter.resource_subscriptions).await;
    let acknowledged = [("notifications", accepted)];
    outbox.push(follower.wanted.notification("notifications/subscriptions/acknowledged", &acknowledged));
    loop {
        tokio::select! {
            message = follower.next() => { outbox.push(message); }
            params = tasks.next(&context.server.me) => { outbox.push(told(params, context.id)); }
            () = context.server.closing.cancelled() => break,
        }
    }
    Ok(ended(&context))
}

fn filter_of(context: &Context<'_>) -> Result<Filter, Fault> {
    let invalid = |message: String| Fault::new(Code::InvalidParams, message);
    let Some(raw) = context.params.notifications else {
        return Err(invalid("\"notifications\" is missing: which changes to listen to, an object".into()));
    };
    if !raw.get().starts_with('{') {
        return Err(invalid("\"notifications\" must be an object".into()));
    }
    let filter: Filter = serde_json::from_str(raw.get())
        .map_err(|error| invalid(format!("\"notifications\" cannot be read: {error}")))?;
    if filter.resource_subscriptions.iter().any(|uri| uri.len() > LONGEST_URI) {
        return Err(invalid(format!("the URI of a watched resource has at most {LONGEST_URI} bytes")));
    }
    if filter.resource_subscriptions.len() > MOST_WATCHED || filter.task_ids.len() > MOST_WATCHED {
        return Err(invalid(format!("a subscription watches at most {MOST_WATCHED} resources and tasks")));
    }
    if !filter.task_ids.is_empty() && !declared(context) {
        return Err(missing_extension(context));
    }
    Ok(filter)
}

/// `notifications/tasks`, given its parameters without their last brace.
fn told(mut params: Vec<u8>, subscription: &RawValue) -> Bytes {
    let mut message = Vec::from(&b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":"[..]);
    message.append(&mut params);
    let meta = format!(",\"_meta\":{{\"{SUBSCRIPTION_ID}\":{}}}}}}}", subscription.get());
    message.extend_from_slice(meta.as_bytes());
    message.into()
}

/// Keeps upstream resources watched as long as what comes back lives; those that cannot be are not.
async fn watches_of(context: &Context<'_>, uris: &[String]) -> Vec<Kept> {
    let snapshot = context.snapshot();
    let (mut asked, mut watches) = (FuturesUnordered::new(), Vec::new());
    for uri in uris {
        asked.push(snapshot.watch(uri, context.peer.principal, context.caller));
        if asked.len() >= MOST_AT_ONCE {
            watches.extend(asked.next().await);
        }
    }
    watches.extend(asked.collect::<Vec<_>>().await);
    watches.into_iter().filter_map(Result::ok).flatten().flatten().collect()
}

/// The answer with which the stream ends when the server does.
fn ended(context: &Context<'_>) -> Outcome {
    let id: Value = serde_json::from_str(context.id.get()).unwrap_or_default();
    let result = json!({
        "resultType": "complete",
        "_meta": {
            SUBSCRIPTION_ID: id,
            SERVER_INFO: context.server.me.implementation(),
        },
    });
    Outcome::whole(result.to_string())
}
