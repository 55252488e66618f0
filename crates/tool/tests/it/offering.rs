//! Prompts, resources, and an offer that changes while running.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use toolrail_core::{
    Call, Changed, Completing, Executor, Mute, Offered, Outcome, Payload, Principal, Upstream,
};
use toolrail_tool::{Message, Offering, Prompt, Resource, ResourceTemplate, Tool, ToolError};

fn offering() -> Offering {
    let offering = Offering::new();
    let prompt = Prompt::new("greeting", |ctx| {
        Box::pin(async move { vec![Message::user(format!("Greet {}", ctx.argument("name").unwrap_or("-")))] })
    })
    .description("Greets.")
    .required_argument("name", "Whom.")
    .completes("name", |typed| (0..150).map(|number| format!("{typed}{number}")).collect());
    offering.add(prompt).unwrap();
    offering
        .add(Resource::new("x://text", "text", |_| Box::pin(async { "hello" })).mime("text/markdown"))
        .unwrap();
    offering
        .add(ResourceTemplate::new("x://{id}", "many", |ctx| {
            Box::pin(async move {
                match ctx.argument("id") {
                    Some(id) => Ok(id.as_bytes().to_vec()),
                    None => Err(ToolError::invalid_params("no id")),
                }
            })
        }))
        .unwrap();
    offering
}

async fn execute(executor: &dyn Executor, name: &str, arguments: Value) -> Outcome {
    let arguments = arguments.as_object().unwrap();
    let principal = &Principal::Anonymous;
    executor.execute(&Call { tool: name, arguments, raw: None, principal, caller: &Mute }).await
}

async fn used(offered: &Offered, name: &str, arguments: Value) -> Value {
    match execute(&*offered.executor, name, arguments).await.unwrap().payload {
        Payload::Whole(json) => json.to_value(),
        other => panic!("not whole: {other:?}"),
    }
}

#[tokio::test]
async fn a_prompt_gives_its_messages() {
    let offer = offering().offer();
    let offering = offering();
    let prompt = &offering.offer().prompts[0];
    let argument = json!({"name": "name", "description": "Whom.", "required": true});
    assert_eq!(
        offer.prompts[0].entry,
        json!({"name": "greeting", "description": "Greets.", "arguments": [argument]})
    );
    let message = json!({"role": "user", "content": {"type": "text", "text": "Greet Ada"}});
    assert_eq!(used(prompt, "greeting", json!({"name": "Ada"})).await, json!({"messages": [message]}));
    let refused = execute(&*prompt.executor, "greeting", json!({})).await.unwrap_err();
    assert_eq!(refused.rpc.unwrap().code, -32602);
    assert_eq!(refused.message, "the prompt greeting needs the argument \"name\"");
}

#[tokio::test]
async fn completions_are_at_most_a_hundred() {
    let settled = Map::new();
    let asked = Completing {
        of: "greeting",
        argument: "name",
        value: "n",
        settled: &settled,
        principal: &Principal::Anonymous,
        caller: &Mute,
    };
    let offering = offering();
    let prompt = &offering.offer().prompts[0];
    let completion = prompt.executor.complete(&asked).await.unwrap();
    assert_eq!(
        (completion.values.len(), completion.total, completion.has_more),
        (100, Some(150), Some(true))
    );
    let nothing = prompt.executor.complete(&Completing { argument: "other", ..asked }).await.unwrap();
    assert!(nothing.values.is_empty());
}

#[tokio::test]
async fn resources_give_text_or_bytes() {
    let offering = offering();
    let offer = offering.offer();
    let expected = json!({"uri": "x://text", "name": "text", "mimeType": "text/markdown"});
    assert_eq!(offer.resources[0].entry, expected);
    let contents = json!([{"uri": "x://text", "mimeType": "text/markdown", "text": "hello"}]);
    assert_eq!(used(&offer.resources[0], "x://text", json!({})).await, json!({"contents": contents}));
    assert_eq!(offer.templates[0].entry, json!({"uriTemplate": "x://{id}", "name": "many"}));
    let contents = json!([{"uri": "x://7", "mimeType": "application/octet-stream", "blob": "Nw=="}]);
    assert_eq!(used(&offer.templates[0], "x://7", json!({"id": "7"})).await, json!({"contents": contents}));
}

#[test]
fn whoever_follows_hears_of_every_change() {
    let offering = offering();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&heard);
    offering.start(Arc::new(move |changed| noted.lock().unwrap().push(changed)));
    let tool = || Tool::new("new", |_| Box::pin(async {}));
    offering.add(tool()).unwrap();
    assert_eq!(offering.offer().tools.len(), 1);
    assert_eq!(
        offering.add(tool()).unwrap_err().to_string(),
        "there are two native tools \"new\"; rename one"
    );
    assert!(offering.remove_tool("new"));
    assert!(!offering.remove_tool("new"));
    assert!(offering.remove_prompt("greeting"));
    assert!(offering.remove_resource("x://{id}"));
    offering.resource_changed("x://text");
    let resource = Changed::Resource { uri: "x://text".into(), conversation: None };
    assert_eq!(
        *heard.lock().unwrap(),
        [Changed::Offer, Changed::Offer, Changed::Offer, Changed::Offer, resource]
    );
}

#[test]
fn a_name_that_clients_would_refuse_is_not_offered() {
    let refused = Offering::new().add(Tool::new("no spaces", |_| Box::pin(async {}))).unwrap_err();
    assert!(refused.to_string().starts_with("the native tool \"no spaces\" is not offered"), "{refused}");
}
