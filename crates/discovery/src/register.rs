//! `register_tool`: a new tool, described or whole. It goes the way of every registration: checked, written,
//! noted in the audit record, and published before the answer goes out.

use serde_json::{Map, Value, json};
use toolrail_core::{
    Author, CallError, Caller, ErrorCode, Expected, METADATA, Outcome, Problem, RegisteredBy, Severity, Way,
    author_name,
};
use toolrail_registry::{BatchMode, Registered, Registration, Tool, WriteError, Written, is_discovery_tool};

use crate::arguments::Arguments;
use crate::discovery_call::{DiscoveryCall, good};
use crate::failure::{exists, invalid, may_not_change, not_for_agents, not_of_group, not_written};
use crate::takes;

/// The most characters of a description: real ones have some thousands.
const LONGEST_DESCRIPTION: usize = 20_000;
/// The most problems that are told.
const MOST_TOLD: usize = 8;
/// The kinds that an agent may register, with the names of their blocks. Each makes a tool under its own name, and nothing
/// else: a server, a resource or a prompt could come to stand before what an operator offers under other names.
const KINDS: [(&str, &[&str]); 3] =
    [("http", &["http", "http_spec"]), ("feign", &["feign", "feign_spec"]), (METADATA, &[METADATA])];

pub(crate) fn entry() -> Value {
    let properties = json!({
        "name": {"type": "string", "description": "The unique name, such as \"github.create_issue\"", "maxLength": 200},
        "description": {
            "type": "string", "maxLength": LONGEST_DESCRIPTION,
            "description": "What the tool does and when to use it; tools are found by this"
        },
        "category": {"type": "string", "description": "The group it belongs to"},
        "tags": {"type": "array", "items": {"type": "string"}, "default": [], "description": "Words to find it by"},
        "input_schema": {"type": "object", "description": "The JSON Schema of its arguments"},
        "output_schema": {"type": "object", "description": "The JSON Schema of its result"},
        "mcp_server": {"type": "string", "description": "The MCP server that has the tool"},
        "defer_loading": {"type": "boolean", "default": true, "description": "Whether clients load it only when it was searched for"},
        "use_frequency": {"type": "integer", "minimum": 0, "default": 0, "description": "How often it was used elsewhere"},
        "last_used": {"type": "string", "description": "When it was last used elsewhere, RFC 3339"},
        "definition": {
            "type": "object",
            "description": "A whole Toolrail definition of type \"http\" or \"feign\" instead of the other arguments; the tool can \
                then be called"
        },
    });
    json!({
        "name": "register_tool",
        "title": "Register a tool",
        "description": "Adds a tool to the registry, for everybody to find. With name and description it is only described: found by \
            search_tools, but not callable here. With a whole definition it can be called at once. Refuses a name that exists.",
        "inputSchema": takes(properties, &[]),
        "annotations": {
            "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false
        },
    })
}

pub(crate) async fn run(asked: DiscoveryCall<'_>) -> Outcome {
    if !asked.call.caller.may_change() {
        return Err(may_not_change("register_tool"));
    }
    let Proposed { document, base } = Proposed::read(Arguments::of(asked.call)?)?;
    let name = document.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    // Not only among what is seen here: names are the same at every endpoint. Nor may one take the name of a shared tool, or
    // of one that is built in, and so come to stand before it.
    let catalogue = asked.registry.catalogue(asked.call.principal);
    if catalogue.entry(&name).is_some() || is_discovery_tool(&name) {
        return Err(exists(&name));
    }
    if let Some(group) = group_without(&asked, &document) {
        return Err(not_of_group(group, &name));
    }
    let registration = Registration {
        tenant: asked.tenant(),
        expected: Expected::Absent,
        ..Registration::bare(document, base)
    };
    let author = author(asked.call.caller);
    let written =
        asked.registry.changes().register(vec![registration], BatchMode::AllOrNothing, &author).await;
    let (results, _) = written.map_err(|error| match error {
        WriteError::Conflict(_) => exists(&name),
        other => not_written(&other),
    })?;
    match results.into_iter().next() {
        Some(Registered {
            written: Written::Created | Written::Updated | Written::Unchanged,
            problems,
            ..
        }) => good(&registered(&asked, &name, &problems)),
        Some(Registered { problems, .. }) => Err(refused(&problems)),
        None => Err(CallError::new(ErrorCode::Internal, "the registry gave no result")),
    }
}

/// The group at which it is registered, if that would not have it. What is seen in a group is all that can be changed there.
fn group_without<'a>(asked: &'a DiscoveryCall<'_>, document: &Value) -> Option<&'a str> {
    let endpoint = asked.snapshot.endpoint()?;
    let (group, choice) = (endpoint.group.as_deref()?, endpoint.choice.as_ref()?);
    let text = |field: &str| document.get(field).and_then(Value::as_str);
    let tags = document.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let fits = choice.fits_words(text("name").unwrap_or_default(), text("category"), tags);
    (!fits).then_some(group)
}

fn registered(asked: &DiscoveryCall<'_>, name: &str, problems: &[Problem]) -> Value {
    let catalogue = asked.registry.catalogue(asked.call.principal);
    let entry = catalogue.entry(name);
    let tool = entry.and_then(|entry| entry.tool());
    let shown = |tool: &Tool| {
        json!({
            "name": tool.name, "description": tool.description.as_deref().unwrap_or_default(),
            "category": tool.category, "tags": tool.tags,
        })
    };
    let is_callable =
        |tool: &Tool| &*tool.kind != METADATA && entry.is_some_and(|entry| entry.live().is_some());
    let callable = tool.is_some_and(|tool| is_callable(tool));
    let can = if callable {
        "it can be called at once"
    } else {
        "it is found by search_tools, but cannot be called here"
    };
    let mut answer = json!({
        "success": true,
        "message": format!("工具已注册: {name}"),
        "note": format!("the tool {name:?} is registered; {can}"),
        // What makes no tool, such as a prompt, or could not be read back yet, has a name at least.
        "tool": tool.map_or_else(|| json!({"name": name}), |tool| shown(tool)),
        "callable": callable,
    });
    let warnings: Vec<Value> = problems.iter().take(MOST_TOLD).map(warning).collect();
    if !warnings.is_empty() {
        answer["warnings"] = warnings.into();
    }
    answer
}

/// A problem that does not keep the tool from being registered.
fn warning(problem: &Problem) -> Value {
    json!({"pointer": problem.pointer, "message": problem.message})
}

fn refused(problems: &[Problem]) -> CallError {
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    let told: Vec<String> = errors.take(MOST_TOLD).map(told).collect();
    let message = format!("the tool was not registered: {}", told.join("; "));
    CallError::new(ErrorCode::InvalidDefinition, message)
}

fn told(problem: &Problem) -> String {
    match problem.pointer.as_str() {
        "" => problem.message.clone(),
        pointer => format!("{pointer}: {}", problem.message),
    }
}

/// Who registers, as the client introduced itself. Nobody is asked for a proof yet.
pub(crate) fn author(caller: &dyn Caller) -> Author {
    let said = caller.client_info().and_then(|info| info.get("name")).and_then(Value::as_str);
    Author {
        who: author_name(said.unwrap_or_default()),
        address: caller.address().map(|address| address.to_string()),
        via: Way::Mcp.word().to_owned(),
    }
}

/// What is to be registered.
struct Proposed {
    document: Value,
    /// Where it stands among the arguments, for problems.
    base: &'static str,
}

impl Proposed {
    fn read(mut arguments: Arguments) -> Result<Self, CallError> {
        let (name, description) = (arguments.text("name")?, arguments.text("description")?);
        let definition = arguments.object("definition")?;
        let others = Others {
            category: arguments.text("category")?,
            tags: arguments.texts("tags")?,
            input_schema: arguments.object("input_schema")?,
            output_schema: arguments.object("output_schema")?,
            mcp_server: arguments.text("mcp_server")?,
            defer_loading: arguments.flag("defer_loading")?,
            use_frequency: arguments.count("use_frequency")?,
            last_used: arguments.text("last_used")?,
        };
        arguments.finish()?;
        let proposed = match definition {
            Some(definition) => whole(definition, (name, description), &others),
            None => others.describe(name, description),
        }?;
        proposed.with_short_description()
    }

    /// Written into the definition, so that it stays true wherever that goes: after a restart, on other replicas, in exports,
    /// and when somebody goes back to this version.
    fn by_agent(mut document: Map<String, Value>, base: &'static str) -> Self {
        document.insert(RegisteredBy::FIELD.to_owned(), RegisteredBy::Agent.word().into());
        Self { document: Value::Object(document), base }
    }

    fn with_short_description(self) -> Result<Self, CallError> {
        let description = self.document.get("description").and_then(Value::as_str).unwrap_or_default();
        if description.chars().nth(LONGEST_DESCRIPTION).is_some() {
            return Err(invalid(format!(
                "工具描述长度超过限制 ({LONGEST_DESCRIPTION} 字符)\nthe description has more than {LONGEST_DESCRIPTION} characters; shorten it"
            )));
        }
        Ok(self)
    }
}

/// A whole definition, with which what stands beside it must agree.
fn whole(
    definition: Value,
    (name, description): (Option<String>, Option<String>),
    others: &Others,
) -> Result<Proposed, CallError> {
    let Value::Object(mut document) = definition else {
        return Err(invalid("参数类型错误: definition\n\"definition\" must be an object"));
    };
    if let Some(given) = others.given() {
        return Err(invalid(format!(
            "参数冲突: {given}\n{given:?} stands beside \"definition\"; put it into that"
        )));
    }
    for (field, value) in [("name", name), ("description", description)] {
        let Some(value) = value else { continue };
        match document.get(field).and_then(Value::as_str) {
            Some(inside) if inside == value => {}
            Some(_) => {
                return Err(invalid(format!(
                    "参数冲突: {field}\n{field:?} says something else than \"definition\" does; make them the same, or leave one out"
                )));
            }
            None => {
                document.insert(field.to_owned(), value.into());
            }
        }
    }
    if document.get("name").and_then(Value::as_str).unwrap_or_default().trim().is_empty() {
        return Err(no_name());
    }
    if !is_for_agents(&document) {
        return Err(not_for_agents());
    }
    Ok(Proposed::by_agent(document, "/definition"))
}

/// Whether it can only become what an agent may register. What contradicts itself, or has no type, is refused later.
fn is_for_agents(document: &Map<String, Value>) -> bool {
    let mut said =
        ["type", "transport"].into_iter().filter_map(|field| document.get(field)?.as_str()).peekable();
    if said.peek().is_some() {
        return said.all(|kind| KINDS.iter().any(|(known, _)| *known == kind));
    }
    let mut blocks = KINDS.iter().flat_map(|(_, blocks)| *blocks);
    blocks.any(|block| document.contains_key(*block))
}

fn no_name() -> CallError {
    invalid("工具名称不能为空\n\"name\" is missing: the unique name of the tool, a string")
}

/// What a description may have beside a name.
struct Others {
    category: Option<String>,
    tags: Vec<String>,
    input_schema: Option<Value>,
    output_schema: Option<Value>,
    mcp_server: Option<String>,
    defer_loading: Option<bool>,
    use_frequency: Option<u64>,
    last_used: Option<String>,
}

impl Others {
    /// One of them that is there.
    fn given(&self) -> Option<&'static str> {
        let given = [
            ("category", self.category.is_some()),
            ("tags", !self.tags.is_empty()),
            ("input_schema", self.input_schema.is_some()),
            ("output_schema", self.output_schema.is_some()),
            ("mcp_server", self.mcp_server.is_some()),
            ("defer_loading", self.defer_loading.is_some()),
            ("use_frequency", self.use_frequency.is_some()),
            ("last_used", self.last_used.is_some()),
        ];
        given.into_iter().find_map(|(name, there)| there.then_some(name))
    }

    /// The definition of a tool that is only described.
    fn describe(self, name: Option<String>, description: Option<String>) -> Result<Proposed, CallError> {
        let name =
            name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).ok_or_else(no_name)?;
        let Some(description) = description else {
            return Err(invalid(
                "工具描述不能为空\n\"description\" is missing: what the tool does; or give a whole \"definition\"",
            ));
        };
        let text = |text: Option<String>| text.filter(|text| !text.trim().is_empty()).map(Value::from);
        let mut metadata = Map::new();
        let used = [
            ("mcpServer", text(self.mcp_server)),
            ("useFrequency", self.use_frequency.map(Value::from)),
            ("lastUsed", text(self.last_used)),
        ];
        metadata.extend(used.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        let fields = [
            ("name", Some(name.into())),
            ("description", text(Some(description))),
            ("type", Some(METADATA.into())),
            ("category", text(self.category)),
            ("tags", Some(json!(self.tags)).filter(|_| !self.tags.is_empty())),
            ("inputSchema", self.input_schema),
            ("outputSchema", self.output_schema),
            ("deferLoading", self.defer_loading.map(Value::from)),
            (METADATA, Some(Value::Object(metadata))),
        ];
        let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Ok(Proposed::by_agent(fields.collect(), ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_register_tools_and_nothing_that_could_stand_before_others() {
        for (definition, allowed) in [
            (json!({"http": {}}), true),
            (json!({"type": "http", "http_spec": {}}), true),
            (json!({"transport": "feign", "feign_spec": {}}), true),
            (json!({"type": "metadata"}), true),
            (json!({"type": "mcp", "mcp": {}}), false),
            (json!({"transport": "mcp", "mcp": {}}), false),
            (json!({"type": "http", "transport": "mcp", "mcp": {}}), false),
            (json!({"mcp": {}}), false),
            (json!({"type": null, "mcp": {}}), false),
            (json!({"resource": {}}), false),
            (json!({"type": "resource", "http": {}}), false),
            (json!({"type": "prompt", "prompt": {}}), false),
        ] {
            let document = definition.as_object().unwrap();
            assert_eq!(is_for_agents(document), allowed, "{definition}");
        }
    }
}
