//! A document becomes a tool: form, kind, schemas, header annotations and warnings, every fault collected.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use bytes::Bytes;
use serde_json::Value;
use toolrail_core::{Compiled, Definition, DefinitionForm, Executor, Problem, Problems};

use crate::tool::Tool;
use crate::validator::LazyValidator;
use crate::{header_params, lint, listing};

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

    /// The published JSON Schema of a definition.
    pub fn schema(&self) -> &Value {
        self.form.schema()
    }

    /// The tool, unless something is wrong with it, and whether its document enables it, with everything there is to say about it.
    pub fn compile(&self, document: &Value) -> (Option<(Arc<Tool>, bool)>, Vec<Problem>) {
        self.form.check(document, |definition, compiled, problems| {
            let enabled = definition.enabled;
            self.tool(definition, compiled, problems).map(|tool| (Arc::new(tool), enabled))
        })
    }

    fn tool(
        &self,
        definition: Definition,
        compiled: Option<Compiled>,
        problems: &mut Problems,
    ) -> Option<Tool> {
        lint::warn_of_poor_definition(&definition, problems);
        let arguments = compiled.as_ref().map(|compiled| compiled.arguments.as_slice()).unwrap_or_default();
        lint::check_arguments(&definition, arguments, problems);
        let input_schema = match &definition.input_schema {
            Some(schema) => schema.clone(),
            None => lint::derived_schema(arguments),
        };
        let header_params = header_params::find(&input_schema, problems);
        let (entry, legacy_entry) = listing::entries_of(&definition, &input_schema);
        let input = validator(&input_schema, &entry, "/inputSchema", problems);
        let output = definition
            .output_schema
            .as_ref()
            .map(|schema| validator(schema, &entry, "/outputSchema", problems));
        let compiled = compiled?;
        let executor = (self.wrap)(&definition, compiled.executor);
        Some(Tool {
            entry,
            legacy_entry,
            header_params,
            defaults: defaults_of(&input_schema),
            input: input?,
            output: match output {
                Some(validator) => Some(validator?),
                None => None,
            },
            executor,
            uses: AtomicU32::default(),
            name: definition.name,
            description: definition.description.map(Into::into),
            kind: definition.kind.into(),
            category: definition.category.map(Into::into),
            tags: definition.tags.into_iter().map(Into::into).collect(),
        })
    }
}

fn validator(schema: &Value, entry: &Bytes, base: &str, problems: &mut Problems) -> Option<LazyValidator> {
    match LazyValidator::check(schema, entry) {
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
