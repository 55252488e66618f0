//! `completion/complete`: values that could complete an argument of a prompt or a variable of a resource template.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolrail_core::{CallError, Completing, Completion, shortened};

use super::prompts_get::unknown_prompt;
use super::{Context, fault_of};
use crate::reply::{Code, Fault, Reply};

/// The most values one answer may have.
const MOST_VALUES: usize = 100;

/// What an argument belongs to.
#[derive(Deserialize)]
#[serde(tag = "type")]
enum Reference {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

#[derive(Deserialize)]
struct Argument<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    value: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
struct Settled {
    #[serde(default)]
    arguments: Map<String, Value>,
}

pub(super) async fn handle(context: Context<'_>) -> Reply {
    let asked = context.params;
    let reference: Reference =
        read("ref", asked.reference, "{type: \"ref/prompt\", name} or {type: \"ref/resource\", uri}")?;
    let argument: Argument<'_> = read("argument", asked.argument, "{name, value}, both strings")?;
    let settled: Settled = match asked.context {
        Some(_) => read("context", asked.context, "{arguments}")?,
        None => Settled::default(),
    };
    let of = match &reference {
        Reference::Prompt { name } => name,
        Reference::Resource { uri } => uri,
    };
    let completing = Completing {
        of,
        argument: &argument.name,
        value: &argument.value,
        settled: &settled.arguments,
        principal: context.peer.principal,
        caller: context.caller,
    };
    let completion = match complete(&context, &reference, &completing).await? {
        Ok(completion) => limited(completion),
        Err(CallError { rpc: Some(rpc), .. }) => return Err(context.told(*rpc)),
        Err(error) => return Err(fault_of(&error)),
    };
    Ok(context.object(&json!({"completion": completion})))
}

async fn complete(
    context: &Context<'_>,
    reference: &Reference,
    completing: &Completing<'_>,
) -> Result<Result<Completion, CallError>, Fault> {
    let snapshot = context.snapshot();
    match reference {
        Reference::Prompt { name } => match snapshot.prompt(name) {
            Some(prompt) => Ok(prompt.complete(completing).await),
            None => Err(unknown_prompt(name)),
        },
        Reference::Resource { uri } => match snapshot.template(uri).or_else(|| snapshot.resource(uri)) {
            Some(resource) => Ok(resource.complete(completing).await),
            None => Err(Fault::new(
                Code::InvalidParams,
                format!(
                    "unknown resource template {:?}; resources/templates/list has those there are",
                    shortened(uri)
                ),
            )),
        },
    }
}

fn read<'a, T: Deserialize<'a>>(
    field: &str,
    raw: Option<&'a serde_json::value::RawValue>,
    form: &str,
) -> Result<T, Fault> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .ok_or_else(|| Fault::new(Code::InvalidParams, format!("\"{field}\" must be {form}")))
}

/// Cut to what an answer may have, saying so.
fn limited(mut completion: Completion) -> Completion {
    let found = completion.values.len();
    if found > MOST_VALUES {
        completion.values.truncate(MOST_VALUES);
        completion.total = completion.total.or(u64::try_from(found).ok());
        completion.has_more = Some(true);
    }
    completion
}
