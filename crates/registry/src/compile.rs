//! A document becomes a tool: form, kind, schemas, header annotations and warnings, every fault collected.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use serde_json::Value;
use toolrail_core::{
    Compiled, Definition, DefinitionForm, Executor, Made, Problem, Problems, SchemaCompiler, TaskSupport,
    Validator,
};

use crate::lazy_executor::LazyExecutor;
use crate::tool::Tool;
use crate::validator::LazyValidator;
use crate::{header_params, lint, listing, schema_lint};

/// Wraps an executor in the policies of its definition.
pub type Wrap = Box<dyn Fn(&Definition, Arc<dyn Executor>) -> Arc<dyn Executor> + Send + Sync>;

/// Compiles documents into tools.
pub struct Compiler {
    form: DefinitionForm,
    wrap: Wrap,
}

impl Compiler {
    /// A compiler for definitions of that form; `wrap` adds the policies.
    pub fn new(form: DefinitionForm, wrap: Wrap) -> Self {
        Self { form, wrap }
    }

    /// The published JSON Schema of a file of definitions.
    pub fn schema(&self) -> &Value {
        self.form.schema()
    }

    /// The tool, unless something is wrong with it, and whether its document enables it, with everything there is to say
    /// about it. `text` is the document's text.
    pub(crate) fn compile(
        self: &Arc<Self>,
        document: &Value,
        text: &Arc<str>,
    ) -> (Option<(Arc<Tool>, bool)>, Vec<Problem>) {
        self.form.check(document, |definition, compiled, problems| {
            let enabled = definition.enabled;
            let executor = LazyExecutor::new(Arc::clone(self), Arc::clone(text));
            tool_of(definition, compiled.as_ref(), executor, problems).map(|tool| (Arc::new(tool), enabled))
        })
    }

    /// Everything there is to say about a document.
    pub fn check(self: &Arc<Self>, document: &Value) -> Vec<Problem> {
        self.compile(document, &Arc::from("")).1
    }

    /// The executor of a document, with its policies, if it compiles.
    pub(crate) fn executor(&self, text: &str) -> Option<Arc<dyn Executor>> {
        let document = serde_json::from_str(text).ok()?;
        let compiled = self.form.check(&document, |definition, compiled, _| match compiled?.made {
            Made::Tool(executor) => Some((self.wrap)(&definition, executor)),
            Made::Prompt(_) | Made::Resource(_) | Made::Template(_) | Made::Upstream(_) => None,
        });
        compiled.0
    }
}

/// Puts a tool together from a definition and what its kind made of it.
fn tool_of(
    definition: Definition,
    compiled: Option<&Compiled>,
    executor: LazyExecutor,
    problems: &mut Problems,
) -> Option<Tool> {
    lint::warn_of_poor_definition(&definition, problems);
    let arguments = compiled.map(|compiled| compiled.arguments.as_slice()).unwrap_or_default();
    lint::check_arguments(&definition, arguments, problems);
    if let Some(compiled) = compiled.filter(|compiled| !compiled.uses_other_arguments) {
        lint::warn_of_unused(&definition, &compiled.arguments, problems);
    }
    let input_schema = match &definition.input_schema {
        Some(schema) => schema.clone(),
        None => lint::derived_schema(arguments),
    };
    let header_params = header_params::find(&input_schema, problems);
    let (entry, legacy_entry) = listing::entries_of(&definition, &input_schema);
    let defaults = defaults_of(&input_schema);
    schema_lint::check_root(&input_schema, "/inputSchema", problems);
    let input = checked(&input_schema, "/inputSchema", problems).map(|validator| {
        lint::check_defaults(&validator, &defaults, problems);
        LazyValidator::of(&input_schema, &entry)
    });
    let output = definition
        .output_schema
        .as_ref()
        .map(|schema| checked(schema, "/outputSchema", problems).map(|_| LazyValidator::of(schema, &entry)));
    compiled?;
    Some(Tool {
        entry,
        legacy_entry,
        header_params,
        defaults,
        input: input?,
        output: match output {
            Some(validator) => Some(validator?),
            None => None,
        },
        executor,
        uses: AtomicU32::default(),
        tasks: TaskSupport::Never,
        name: definition.name,
        description: definition.description.map(Into::into),
        kind: definition.kind.into(),
        category: definition.category.map(Into::into),
        tags: definition.tags.into_iter().map(Into::into).collect(),
    })
}

/// The schema compiled, unless it has faults.
fn checked(schema: &Value, base: &str, problems: &mut Problems) -> Option<Validator> {
    schema_lint::warn_of_misspelt_keywords(schema, base, problems);
    match SchemaCompiler::default().compile(schema) {
        Ok(validator) => Some(validator),
        Err(faults) => {
            for fault in faults {
                let message = format!("not a valid JSON Schema here: {}", fault.message);
                problems.error(format!("{base}{}", fault.pointer), message);
            }
            None
        }
    }
}

/// The defaults of the top-level arguments; a call that leaves one out gets it.
fn defaults_of(schema: &Value) -> Vec<(Box<str>, Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .filter_map(|(name, property)| Some((name.as_str().into(), property.get("default")?.clone())))
        .collect()
}
