//! `prompts/get`: the messages of a prompt for some arguments.

use toolrail_core::shortened;

use super::Context;
use crate::content;
use crate::envelope::Params;
use crate::finish::Cache;
use crate::reply::{Code, Fault, Reply};

pub(super) async fn handle(context: Context<'_>) -> Reply {
    let Some(name) = Params::text("name", context.params.name)? else {
        return Err(Fault::new(Code::InvalidParams, "\"name\" is missing: the name of the prompt, a string"));
    };
    let arguments = context.params.arguments.filter(|raw| raw.get() != "null");
    if arguments.is_some_and(|raw| !raw.get().starts_with('{')) {
        return Err(Fault::new(Code::InvalidParams, "\"arguments\" must be an object"));
    }
    let snapshot = context.snapshot();
    let Some(prompt) = snapshot.prompt(&name) else {
        return Err(unknown_prompt(&name));
    };
    let outcome = prompt.get(arguments, context.peer.principal, context.caller).await;
    match context.settle_strictly(outcome, Cache::Silent) {
        Ok(result) => Ok(context.close(content::messages::write(&result))),
        Err(reply) => reply,
    }
}

pub(super) fn unknown_prompt(name: &str) -> Fault {
    Fault::new(
        Code::InvalidParams,
        format!("unknown prompt {:?}; prompts/list has those there are", shortened(name)),
    )
}
