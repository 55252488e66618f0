//! The prompts.

use toolrail_tool::{Content, Message, Offering, Prompt, Refused, ResourceContents, ToolError};

use crate::asking::text_form;
use crate::content::PIXEL;

pub(crate) fn add(offering: &Offering) -> Result<(), Refused> {
    offering.add(
        Prompt::new("test_simple_prompt", |_| Box::pin(async { "This is a simple prompt for testing." }))
            .title("Simple test prompt")
            .description("A prompt without arguments"),
    )?;
    offering.add(with_arguments())?;
    offering.add(with_resource())?;
    offering.add(with_image())?;
    offering.add(asking())
}

fn with_arguments() -> Prompt {
    const WORDS: [&str; 4] = ["paris", "park", "party", "test"];
    Prompt::new("test_prompt_with_arguments", |ctx| {
        Box::pin(async move {
            let argument = |name| ctx.argument(name).unwrap_or_default();
            format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2"))
        })
    })
    .title("Prompt with arguments")
    .description("A prompt that repeats its arguments")
    .required_argument("arg1", "First test argument")
    .required_argument("arg2", "Second test argument")
    .completes("arg1", |typed| {
        WORDS.iter().filter(|word| word.starts_with(typed)).map(ToString::to_string).collect()
    })
}

fn with_resource() -> Prompt {
    Prompt::new("test_prompt_with_embedded_resource", |ctx| {
        Box::pin(async move {
            let uri = ctx.argument("resourceUri").unwrap_or_default();
            let text = "Embedded resource content for testing.";
            vec![
                Message::user(ResourceContents::text(uri, "text/plain", text)),
                Message::user("Please process the embedded resource above."),
            ]
        })
    })
    .description("A prompt that embeds a resource")
    .required_argument("resourceUri", "URI of the resource to embed")
}

fn with_image() -> Prompt {
    Prompt::new("test_prompt_with_image", |_| {
        Box::pin(async {
            vec![
                Message::user(Content::image(PIXEL, "image/png")),
                Message::user("Please analyze the image above."),
            ]
        })
    })
    .description("A prompt with a picture")
}

fn asking() -> Prompt {
    Prompt::new("test_input_required_result_prompt", |ctx| {
        Box::pin(async move {
            let form = text_form("context");
            let answer = ctx.elicit("user_context", "What context should the prompt use?", form).await?;
            let context = answer.content.get("context").cloned().unwrap_or_default();
            Ok::<_, ToolError>(format!("Use this context: {context}"))
        })
    })
    .description("A prompt that asks for its context")
}
