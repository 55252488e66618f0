//! Questions to the client: the same tool works for clients that answer at once and for those that make the request again.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolrail_core::Payload;
use toolrail_tool::{Action, Context, ToolError, schemars, serde, tool};

use crate::client::{Client, Era, call, call_as, everything, text};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct Name {
    name: String,
}

/// Asks one thing after the other.
#[tool]
async fn introduce(ctx: &Context) -> Result<String, ToolError> {
    let Some(Name { name }) = ctx.elicit_as("name", "What is your name?").await? else {
        return Err(ToolError::failed("nobody is there"));
    };
    let said = ctx.sample("greeting", json!({"messages": [], "maxTokens": 10})).await?.text();
    let roots = ctx.roots("roots").await?;
    Ok(format!("{said} {name} {}", roots[0].uri))
}

/// Asks everything at once.
#[tool]
async fn interview(ctx: &Context) -> Result<String, ToolError> {
    let schema = json!({"type": "object", "properties": {}});
    let answers = ctx
        .questions()
        .elicit("name", "What is your name?", schema)
        .sample("greeting", json!({}))
        .remember(json!({"step": 1}))
        .ask()
        .await?;
    let step = ctx.remembered()?;
    Ok(format!("{:?} {} {step:?}", answers.elicited("name")?.action, answers.sampled("greeting")?.text()))
}

/// Asks through two others.
#[tool]
async fn meeting(ctx: &Context) -> Result<String, ToolError> {
    let first = ctx.call("introduce", json!({})).await?.text();
    let second = ctx.call("introduce", json!({})).await?.text();
    Ok(format!("{first}, {second}"))
}

#[test]
fn an_answer_is_read_in_every_form_that_clients_write() {
    let action = |text| serde_json::from_str::<toolrail_tool::Elicited>(text).unwrap().action;
    assert_eq!(action(r#"{"action": "accept", "content": {"a": 1}}"#), Action::Accept);
    assert_eq!(action(r#"{"action": "decline", "content": null}"#), Action::Decline);
    assert_eq!(action(r#"{"action": "cancel"}"#), Action::Cancel);
}

fn answers() -> serde_json::Value {
    json!({
        "name": {"action": "accept", "content": {"name": "Ada"}},
        "greeting": {"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"},
        "roots": {"roots": [{"uri": "file:///a"}]},
    })
}

#[tokio::test]
async fn questions_one_after_the_other_work_in_both_eras() {
    for (era, expected_rounds) in [(Era::Legacy, 1), (Era::Modern, 4)] {
        let mut client = Client::new(era, answers());
        let (result, rounds) = client.finish(everything(), "introduce", json!({})).await;
        assert_eq!((text(Ok(result)).as_str(), rounds), ("Hi Ada file:///a", expected_rounds));
    }
}

#[tokio::test]
async fn questions_at_once_take_one_round() {
    for (era, expected_rounds) in [(Era::Legacy, 1), (Era::Modern, 2)] {
        let mut client = Client::new(era, answers());
        let (result, rounds) = client.finish(everything(), "interview", json!({})).await;
        let told = text(Ok(result));
        assert_eq!(
            (told.as_str(), rounds),
            (r#"Accept Hi Some(Object {"step": Number(1)})"#, expected_rounds)
        );
    }
}

#[tokio::test]
async fn a_called_tool_asks_through_its_caller() {
    let mut keyed = serde_json::Map::new();
    for call in ["1.introduce", "2.introduce"] {
        for (key, answer) in answers().as_object().unwrap() {
            keyed.insert(format!("{call}.{key}"), answer.clone());
        }
    }
    keyed["2.introduce.name"]["content"]["name"] = json!("Alan");
    for (era, expected_rounds) in [(Era::Legacy, 1), (Era::Modern, 7)] {
        let mut client = Client::new(era, keyed.clone().into());
        let (result, rounds) = client.finish(everything(), "meeting", json!({})).await;
        assert_eq!(text(Ok(result)), "Hi Ada file:///a, Hi Alan file:///a");
        assert_eq!(rounds, expected_rounds);
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_told_what_it_lacks() {
    let error = call(everything(), "introduce", json!({})).await.unwrap_err();
    assert_eq!(error.rpc.unwrap().code, -32021);
}

#[tokio::test]
async fn the_first_run_ends_with_the_question() {
    let client = Client::new(Era::Modern, json!({}));
    let result = call_as(everything(), "introduce", json!({}), &client).await.unwrap();
    let Payload::InputRequired(input) = result.payload else { panic!("not asked") };
    let question = &input.requests["name"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["requestedSchema"]["properties"]["name"]["type"], "string");
    assert_eq!(input.state, None);
}
