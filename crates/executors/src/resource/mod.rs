//! Kind `resource`: something that clients can read at a URI, or at every URI of a template.

mod address;
mod content;
mod settings;

use std::sync::Arc;

use serde_json::Value;
use toolrail_core::{
    Call, CallError, Compiled, Completing, Completion, Definition, Executor, Kind, Made, Offered, Outcome,
    Payload, Preview, Problems, ToolResult, async_trait, did_you_mean,
};

use crate::offered::{Choices, check_fields, check_one_of, check_used, entry, media_type, publish_http};
use crate::runtime::Runtime;
use crate::template::{Compiler, child};
use address::Address;
use content::ResourceContent;
use settings::ResourceSettings;

/// The kind `resource`.
#[derive(Debug)]
pub(crate) struct Resource {
    runtime: Runtime,
}

impl Resource {
    /// The kind, fetching with `runtime`.
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime }
    }
}

impl Kind for Resource {
    const NAME: &'static str = "resource";
    type Settings = ResourceSettings;

    fn publish(schema: &mut Value) {
        publish_http(schema);
    }

    fn compile(
        &self,
        settings: ResourceSettings,
        definition: &Definition,
        problems: &mut Problems,
    ) -> Option<Compiled> {
        check_form(&settings, definition, problems);
        let address = Address::compile(&settings, problems);
        let variables = address.as_ref().map(Address::variables).unwrap_or_default();
        let choices = choices(&settings, address.as_ref(), problems);
        let mut compiler = Compiler::of(definition, problems, &self.runtime).declaring(variables);
        let source = (definition, &self.runtime);
        let content = ResourceContent::compile(&settings, address.as_ref(), source, &mut compiler);
        let (needs, used) = (compiler.needs(), compiler.arguments);
        if address.is_some() {
            check_used(&used, variables, "the variables of \"uriTemplate\"", problems);
        }
        let (address, content) = (address?, content?);
        let entry = list_entry(&address, &settings, content.size(), definition).into();
        let executor = Arc::new(ResourceReader { content, mime: settings.mime_type, choices });
        let made = match address {
            Address::Uri(key) => Made::Resource(Offered { key, entry, executor }),
            Address::Template(key, _) => Made::Template(Offered { key, entry, executor }),
        };
        Some(Compiled { made, arguments: Vec::new(), uses_other_arguments: false, needs })
    }
}

fn check_form(settings: &ResourceSettings, definition: &Definition, problems: &mut Problems) {
    check_fields(definition, settings.http.as_ref(), problems);
    let addresses = [("uri", settings.uri.is_some()), ("uriTemplate", settings.uri_template.is_some())];
    check_one_of("/resource", &addresses, problems);
    let contents = [
        ("text", settings.text.is_some()),
        ("blob", settings.blob.is_some()),
        ("http", settings.http.is_some()),
    ];
    check_one_of("/resource", &contents, problems);
    if let Some(mime) = &settings.mime_type {
        media_type(mime, "/resource/mimeType", problems);
    }
}

/// The values of each variable; those without any can be asked for too.
fn choices(settings: &ResourceSettings, address: Option<&Address>, problems: &mut Problems) -> Choices {
    const COMPLETE: &str = "/resource/complete";
    let mut choices = Choices::default();
    let given = settings.complete.as_ref();
    let variables = match address {
        None => return choices,
        Some(Address::Uri(_)) => {
            if given.is_some() {
                problems.error(COMPLETE, "has no effect without \"uriTemplate\"; remove it");
            }
            return choices;
        }
        Some(Address::Template(_, variables)) => variables,
    };
    for name in variables {
        let values = given.and_then(|given| given.get(name)).map(Vec::as_slice).unwrap_or_default();
        choices.add(name, values, &child(COMPLETE, name), problems);
    }
    for name in given.into_iter().flat_map(|given| given.keys()).filter(|name| !variables.contains(name)) {
        let hint = did_you_mean(name, variables.iter().map(String::as_str))
            .unwrap_or_else(|| format!("it has {}", variables.join(", ")));
        problems
            .error(child(COMPLETE, name), format!("{name:?} is not a variable of \"uriTemplate\"; {hint}"));
    }
    choices
}

fn list_entry(
    address: &Address,
    settings: &ResourceSettings,
    size: Option<usize>,
    definition: &Definition,
) -> Value {
    let mut entry = entry(definition);
    let (field, text) = match address {
        Address::Uri(uri) => ("uri", uri),
        Address::Template(template, _) => ("uriTemplate", template),
    };
    entry.shift_insert(0, field.into(), text.as_str().into());
    if let Some(mime) = &settings.mime_type {
        entry.insert("mimeType".into(), mime.as_str().into());
    }
    if let (Address::Uri(_), Some(size)) = (address, size) {
        entry.insert("size".into(), size.into());
    }
    Value::Object(entry)
}

struct ResourceReader {
    content: ResourceContent,
    mime: Option<String>,
    choices: Choices,
}

#[async_trait]
impl Executor for ResourceReader {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        let reading = self.content.read(call).await?;
        let result = reading.into_result(call.tool, self.mime.as_deref());
        Ok(ToolResult::good(Payload::Whole(result)))
    }

    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        self.content.preview(call)
    }

    async fn complete(&self, asked: &Completing<'_>) -> Result<Completion, CallError> {
        self.choices.complete(asked)
    }
}
