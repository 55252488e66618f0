//! A document becomes a tool, or whatever else its kind makes of it: form, kind, schemas, header annotations and warnings,
//! every fault collected.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use toolrail_core::{
    Compiled, Definition, DefinitionForm, Executor, METADATA, Made, Permission, Problem, Problems,
    SchemaCompiler, TaskSupport, ToolName, Validator,
};

use super::{lint, schema_lint};
use crate::approvals::{ApprovalDesk, NeededApproval};
use crate::calls::{UseCount, UseLog};
use crate::catalog::{
    Arguments, Described, Item, LazyExecutor, LazyValidator, MakeExecutor, Prompt, Resource, Running, Tool,
    ToolExecutor, defaults_of, header_params, listing,
};
use crate::source_id::SourceId;

/// Wraps an executor in the policies of its definition.
pub type Wrap = Box<dyn Fn(&Definition, Arc<dyn Executor>) -> Arc<dyn Executor> + Send + Sync>;

/// A definition that compiled.
pub(crate) struct Finished {
    /// What it has become.
    pub(crate) item: Item,
    /// Its name.
    pub(crate) name: ToolName,
    /// Whether its document enables it.
    pub(crate) enabled: bool,
}

/// Compiles documents into tools and the other things there are.
pub struct Compiler {
    form: DefinitionForm,
    wrap: Wrap,
    /// What the operator permits to every definition.
    permitted: Vec<Permission>,
    /// Hears which tools are called.
    pub(crate) uses: Arc<UseLog>,
    /// Where calls wait that a person must approve of.
    pub(crate) approvals: Arc<ApprovalDesk>,
}

impl Compiler {
    /// A compiler for definitions of that form; `wrap` adds the policies.
    pub fn new(form: DefinitionForm, wrap: Wrap) -> Self {
        Self { form, wrap, permitted: Vec::new(), uses: Arc::default(), approvals: Arc::default() }
    }

    /// The same, with this permitted to every definition.
    #[must_use]
    pub fn permitting(mut self, permission: Permission) -> Self {
        self.permitted.push(permission);
        self
    }

    /// The published JSON Schema of a file of definitions.
    pub fn schema(&self) -> &Value {
        self.form.schema()
    }

    /// What the document has become, unless something is wrong with it, with everything there is to say about it. `text`
    /// is the document's text, `source` where it comes from, on which depends what it may do.
    pub(crate) fn compile(
        self: &Arc<Self>,
        document: Value,
        text: &Arc<str>,
        source: SourceId,
    ) -> (Option<Finished>, Vec<Problem>) {
        if let Some(refused) = self.refuse_script(&document, source) {
            return (None, vec![refused]);
        }
        self.form.check_owned(document, |definition, compiled, problems| {
            self.refuse_unpermitted(compiled.as_ref(), (&definition, source), problems);
            let (name, enabled) = (definition.name.clone(), definition.enabled);
            let item = self.item_of(definition, compiled, text, problems)?;
            Some(Finished { item, name, enabled })
        })
    }

    fn item_of(
        self: &Arc<Self>,
        definition: Definition,
        compiled: Option<Compiled>,
        text: &Arc<str>,
        problems: &mut Problems,
    ) -> Option<Item> {
        let item = match compiled.as_ref().map(|compiled| &compiled.made) {
            // What has faults is looked through as a tool, which most definitions are.
            None | Some(Made::Tool(_)) => {
                let executor = LazyExecutor::new(Arc::<Self>::clone(self), Arc::clone(text));
                let uses = UseCount::new(Arc::clone(&self.uses));
                let needed = self.approval_of(&definition, text);
                let tool = tool_of(definition, compiled.as_ref(), (executor, uses), problems)?;
                let tool = Tool { approval: needed, ..tool };
                return Some(Item::Tool(Arc::new(tool)));
            }
            Some(Made::Prompt(offered)) => Item::Prompt(Arc::new(Prompt::new(offered))),
            Some(Made::Resource(offered)) => {
                Item::Resource(Arc::new(Resource::new(offered).defined_by(text)))
            }
            Some(Made::Template(offered)) => {
                Item::Template(Arc::new(Resource::template(offered).defined_by(text)))
            }
            Some(Made::Upstream(upstream)) => Item::Upstream {
                kind: definition.kind.as_str().into(),
                document: Arc::clone(text),
                upstream: Arc::clone(upstream),
                approval: definition.approval.clone(),
            },
        };
        refuse_tool_fields(&definition, &item, problems);
        Some(item)
    }

    fn approval_of(&self, definition: &Definition, text: &str) -> Option<Box<NeededApproval>> {
        let rule = definition.approval.clone()?;
        Some(Box::new(NeededApproval::new(rule, (text, None), Arc::clone(&self.approvals))))
    }

    /// A script is loaded to find out whether it is good, so whether there may be one is looked at before.
    fn refuse_script(&self, document: &Value, source: SourceId) -> Option<Problem> {
        let is_script =
            document.get("script").is_some() || document.get("type").is_some_and(|kind| kind == "script");
        let is_stranger = matches!(source, SourceId::Store | SourceId::Upstream);
        if !is_script || !is_stranger || self.permitted.contains(&Permission::RunScripts) {
            return None;
        }
        let tool = document.get("name").and_then(Value::as_str);
        let mut problems = Problems::default();
        problems.error("/script", Permission::RunScripts.refusal());
        problems.into_list(tool, ToOwned::to_owned).pop()
    }

    /// Notes what the definition needs and may not have, because of where it came from.
    fn refuse_unpermitted(
        &self,
        compiled: Option<&Compiled>,
        (definition, source): (&Definition, SourceId),
        problems: &mut Problems,
    ) {
        for need in compiled.into_iter().flat_map(|compiled| &compiled.needs) {
            let trusted = match need.permission {
                Permission::StartPrograms | Permission::RunScripts => match source {
                    // Whoever writes these is the operator, or has an account on the machine.
                    SourceId::Files | SourceId::Native | SourceId::Demo => true,
                    SourceId::Store | SourceId::Upstream => false,
                },
                Permission::UseSecrets => definition.registered_by.is_none(),
            };
            if !trusted && !self.permitted.contains(&need.permission) {
                problems.error(&need.pointer, need.permission.refusal());
            }
        }
    }

    /// Everything there is to say about a document that is, or would be, in that source.
    pub fn check(self: &Arc<Self>, document: &Value, source: SourceId) -> Vec<Problem> {
        self.compile(document.clone(), &Arc::from(""), source).1
    }
}

impl MakeExecutor for Compiler {
    /// Only for what [`Self::compile`] let pass: what it may do is not looked at again.
    fn executor(&self, text: &str) -> Option<Running> {
        let document = serde_json::from_str(text).ok()?;
        let compiled = self.form.check_owned(document, |definition, compiled, _| {
            let compiled = compiled?;
            let known = known_arguments(&definition, &compiled);
            match compiled.made {
                Made::Tool(executor) => Some(Running { executor: (self.wrap)(&definition, executor), known }),
                Made::Prompt(_) | Made::Resource(_) | Made::Template(_) | Made::Upstream(_) => None,
            }
        });
        compiled.0
    }
}

/// The arguments that it uses or its schema declares; nothing where it may use any.
fn known_arguments(definition: &Definition, compiled: &Compiled) -> Option<Box<[Box<str>]>> {
    if compiled.uses_other_arguments {
        return None;
    }
    let properties = definition.input_schema.as_ref().and_then(|schema| schema.get("properties"));
    let declared = properties.and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str());
    let used = compiled.arguments.iter().map(|usage| usage.name.as_str());
    let known: BTreeSet<&str> = declared.chain(used).collect();
    Some(known.into_iter().map(Into::into).collect())
}

/// Fields that would have no effect are refused.
fn refuse_tool_fields(definition: &Definition, item: &Item, problems: &mut Problems) {
    // Whether there is an answer to be mapped, the kind knows.
    let given = [
        ("inputSchema", definition.input_schema.is_some()),
        ("outputSchema", definition.output_schema.is_some()),
        ("annotations", definition.annotations.is_some()),
        ("category", definition.category.is_some()),
        ("tags", !definition.tags.is_empty()),
        ("deferLoading", definition.defer_loading.is_some()),
    ];
    // That of a server holds for all of its tools.
    let approval = definition.approval.is_some() && !matches!(item, Item::Upstream { .. });
    for (field, _) in given.into_iter().chain([("approval", approval)]).filter(|(_, there)| *there) {
        let message =
            format!("has no effect here: {:?} makes {}, not a tool; remove it", definition.kind, item.word());
        problems.error(format!("/{field}"), message);
    }
}

/// Puts a tool together from a definition and what its kind made of it.
fn tool_of(
    definition: Definition,
    compiled: Option<&Compiled>,
    (executor, uses): (LazyExecutor, UseCount),
    problems: &mut Problems,
) -> Option<Tool> {
    if compiled.is_some() || definition.input_schema.is_some() {
        lint::warn_of_poor_definition(&definition, problems);
    }
    lint::warn_of_hidden_built_in(&definition, problems);
    lint::warn_of_alias(&definition, problems);
    if definition.kind == METADATA && definition.approval.is_some() {
        problems.error("/approval", "has no effect on a tool that is only described; remove it");
    }
    let arguments = compiled.map(|compiled| compiled.arguments.as_slice()).unwrap_or_default();
    lint::check_arguments(&definition, arguments, problems);
    if let Some(compiled) = compiled.filter(|compiled| !compiled.uses_other_arguments) {
        lint::warn_of_unused(&definition, &compiled.arguments, problems);
    }
    let input_schema = match &definition.input_schema {
        Some(schema) => schema.clone(),
        None => lint::derived_schema(arguments),
    };
    let (entry, legacy_entry) = listing::entries_of(&definition, &input_schema);
    let is_described = definition.kind == METADATA;
    let mut poor = Problems::default();
    let faults = if is_described { &mut poor } else { &mut *problems };
    let mut header_params = header_params::find(&input_schema, faults);
    let mut arguments = checked_arguments(&input_schema, &entry, faults);
    let mut output = definition
        .output_schema
        .as_ref()
        .map(|schema| checked(schema, "/outputSchema", faults).map(|_| LazyValidator::of(schema, &entry)));
    if is_described {
        // Nothing is ever checked by the schemas of a tool that nobody calls here, so they need not be good.
        (header_params, arguments, output) = (Vec::new(), Some(Arguments::PassedOn), None);
        problems.warn_of(poor);
    }
    compiled?;
    Some(Tool {
        entry,
        legacy_entry,
        header_params,
        described: Described::of(&definition),
        arguments: arguments?,
        has_output_schema: output.is_some(),
        output: match output {
            Some(validator) => Some(validator?),
            None => None,
        },
        uses,
        executor: ToolExecutor::Lazy(executor),
        limit: definition.policy.timeout_ms.map(Duration::from_millis),
        approval: None,
        tenant: None,
        tasks: TaskSupport::Never,
        hints: definition.annotations.as_ref().map(Into::into).unwrap_or_default(),
        name: definition.name,
        description: definition.description.map(Into::into),
        kind: definition.kind.into(),
        defer_loading: definition.defer_loading,
        category: definition.category.map(Into::into),
        tags: definition.tags,
    })
}

/// Arguments that are checked against that schema, unless it has faults. `entry` is the text that holds it.
pub(crate) fn checked_arguments(schema: &Value, entry: &Bytes, problems: &mut Problems) -> Option<Arguments> {
    schema_lint::check_root(schema, "/inputSchema", problems);
    let validator = checked(schema, "/inputSchema", problems)?;
    let defaults = defaults_of(schema);
    lint::check_defaults(&validator, &defaults, problems);
    Some(Arguments::Checked(LazyValidator::of(schema, entry)))
}

/// The schema compiled, unless it has faults.
pub(crate) fn checked(schema: &Value, base: &str, problems: &mut Problems) -> Option<Validator> {
    schema_lint::warn_of_misspelt_keywords(schema, base, problems);
    match SchemaCompiler::default().compile(schema) {
        Ok(validator) => {
            for pattern in validator.tried_patterns() {
                let message = "looks around or back, so it can only be matched by trying: texts of more than 2048 bytes are refused, and so are those that take too many tries; write it without (?=…), (?!…), (?<…) and \\1 if you can";
                problems.warning(format!("{base}{pattern}"), message);
            }
            Some(validator)
        }
        Err(faults) => {
            for fault in faults {
                let message = format!("not a valid JSON Schema here: {}", fault.message);
                problems.error(format!("{base}{}", fault.pointer), message);
            }
            None
        }
    }
}
