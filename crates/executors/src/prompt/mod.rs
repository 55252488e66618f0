//! Kind `prompt`: messages that a user can start a conversation with, written in the definition or fetched.

mod arguments;
mod fetched;
mod message;
mod settings;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolrail_core::{
    Call, CallError, Compiled, Completing, Completion, Definition, ErrorCode, Executor, Json, Kind, Made,
    Offered, Outcome, Payload, Preview, Problems, ToolResult, async_trait,
};

use crate::http::HttpBlock;
use crate::offered::{Fetch, Wanted, check_fields, check_one_of, check_used, entry, publish_http};
use crate::runtime::Runtime;
use crate::template::Compiler;
use arguments::Arguments;
use fetched::FetchedAnswer;
use message::PromptMessage;
use settings::{MessageSettings, PromptSettings};

const MESSAGES: &str = "/prompt/messages";
/// The most messages of a prompt.
const MOST_MESSAGES: usize = 64;

/// The kind `prompt`.
#[derive(Debug)]
pub(crate) struct Prompt {
    runtime: Runtime,
}

impl Prompt {
    /// The kind, fetching with `runtime`.
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime }
    }
}

impl Kind for Prompt {
    const NAME: &'static str = "prompt";
    type Settings = PromptSettings;

    fn publish(schema: &mut Value) {
        publish_http(schema);
    }

    fn compile(
        &self,
        settings: PromptSettings,
        definition: &Definition,
        problems: &mut Problems,
    ) -> Option<Compiled> {
        check_fields(definition, settings.http.as_ref(), problems);
        let sources = [("messages", settings.messages.is_some()), ("http", settings.http.is_some())];
        check_one_of("/prompt", &sources, problems);
        let declared = settings.arguments.as_deref().unwrap_or_default();
        let arguments = Arguments::compile(declared, problems);
        let mut compiler = Compiler::of(definition, problems, &self.runtime).declaring(&arguments.names);
        let source = self.source(&settings, definition, &mut compiler);
        let (needs, used) = (compiler.needs(), compiler.arguments);
        check_used(&used, &arguments.names, "\"arguments\" of the prompt", problems);
        let mut entry = entry(definition);
        if !declared.is_empty() {
            entry.insert("arguments".into(), arguments::listed(declared));
        }
        let description = definition.description.clone();
        let executor = Arc::new(Prompter { arguments, source: source?, description });
        let key = definition.name.as_str().to_owned();
        let made = Made::Prompt(Offered { key, entry: Value::Object(entry).into(), executor });
        Some(Compiled { made, arguments: Vec::new(), uses_other_arguments: false, needs })
    }
}

impl Prompt {
    fn source(
        &self,
        settings: &PromptSettings,
        definition: &Definition,
        compiler: &mut Compiler<'_>,
    ) -> Option<Source> {
        if let Some(messages) = &settings.messages {
            return compile_messages(messages, compiler).map(Source::Messages);
        }
        let block = HttpBlock { settings: settings.http.as_ref()?, place: "prompt/http" };
        let fetch = Fetch::compile(&block, definition, &self.runtime, compiler)?;
        Some(Source::Fetched(Box::new(fetch)))
    }
}

fn compile_messages(messages: &[MessageSettings], compiler: &mut Compiler<'_>) -> Option<Vec<PromptMessage>> {
    if messages.is_empty() {
        compiler.problems.error(MESSAGES, "is empty; add a message such as {role: user, text: …}");
    }
    if messages.len() > MOST_MESSAGES {
        compiler.problems.error(
            MESSAGES,
            format!("has {} messages; at most {MOST_MESSAGES} are supported, so join some", messages.len()),
        );
    }
    // Collected first, so that every message is compiled and every fault noted.
    let compiled: Vec<_> = messages
        .iter()
        .enumerate()
        .map(|(index, message)| PromptMessage::compile(message, &format!("{MESSAGES}/{index}"), compiler))
        .collect();
    compiled.into_iter().collect()
}

struct Prompter {
    arguments: Arguments,
    source: Source,
    description: Option<String>,
}

/// Where the messages come from.
enum Source {
    Messages(Vec<PromptMessage>),
    Fetched(Box<Fetch>),
}

impl Prompter {
    fn result(&self, messages: &[Value]) -> Json {
        let mut result = Map::new();
        if let Some(description) = &self.description {
            result.insert("description".into(), description.as_str().into());
        }
        result.insert("messages".into(), json!(messages));
        Json::from_value(&Value::Object(result))
    }

    fn written(&self, messages: &[PromptMessage], call: &Call<'_>) -> Result<Json, CallError> {
        let mut wanted = Wanted::new(call.arguments);
        let mut rendered = Vec::with_capacity(messages.len());
        for message in messages {
            rendered.extend(message.render(&mut wanted)?);
        }
        if rendered.is_empty() {
            return Err(CallError::invalid_params(format!(
                "the prompt {:?} has no message without more arguments; give some of {}",
                call.tool,
                self.arguments.names.join(", ")
            )));
        }
        Ok(self.result(&rendered))
    }

    async fn fetched(&self, fetch: &Fetch, call: &Call<'_>) -> Result<Json, CallError> {
        let mut result = fetch.run(call, ErrorCode::UpstreamStatus).await?.result;
        let notes = std::mem::take(&mut result.notes);
        let content = match fetched::answered(result)? {
            FetchedAnswer::Whole(whole) => return Ok(whole),
            FetchedAnswer::Content(content) => content,
        };
        let mut messages = vec![json!({"role": "user", "content": content})];
        messages.extend(
            notes.into_iter().map(|note| json!({"role": "user", "content": {"type": "text", "text": note}})),
        );
        Ok(self.result(&messages))
    }
}

#[async_trait]
impl Executor for Prompter {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        self.arguments.check(call)?;
        let result = match &self.source {
            Source::Messages(messages) => self.written(messages, call)?,
            Source::Fetched(fetch) => self.fetched(fetch, call).await?,
        };
        Ok(ToolResult::good(Payload::Whole(result)))
    }

    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        self.arguments.check(call)?;
        match &self.source {
            Source::Fetched(fetch) => fetch.preview(call),
            Source::Messages(_) => Ok(Preview {
                request: json!({}),
                values: Vec::new(),
                notes: vec!["nothing is sent: the messages stand in the definition".into()],
            }),
        }
    }

    async fn complete(&self, asked: &Completing<'_>) -> Result<Completion, CallError> {
        self.arguments.choices.complete(asked)
    }
}
