//! A kind: how tools of one `type` are carried out. A kind names its block of the definition, describes it, and
//! compiles a definition into an executor.

use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Definition, Executor, Offered, Problems, Upstream};

/// The kind of tools that are only described: found, not called.
pub const METADATA: &str = "metadata";

/// A kind with its typed settings; implement this one.
pub trait Kind: Send + Sync + 'static {
    /// The `type` of its definitions, and the name of their block.
    const NAME: &'static str;

    /// The block; its doc comments are the user's documentation. Must be `deny_unknown_fields`.
    type Settings: DeserializeOwned + JsonSchema;

    /// Policies that may stand in the block although nothing applies them yet: `retry`, `circuitBreaker`, `rateLimit`.
    const UNAPPLIED: &'static [&'static str] = &[];

    /// Adds to the published schema of the block what the check of the form leaves to `compile`, which has better words
    /// for it.
    fn publish(_schema: &mut Value) {}

    /// Compiles the definition, noting every fault with a pointer from the root of the definition (`/http/url`).
    /// Returns nothing only if it noted an error.
    fn compile(
        &self,
        settings: Self::Settings,
        definition: &Definition,
        problems: &mut Problems,
    ) -> Option<Compiled>;
}

/// What a kind makes of a definition.
pub struct Compiled {
    /// What it has become.
    pub made: Made,
    /// The arguments its templates use, for checking them against the input schema.
    pub arguments: Vec<ArgumentUse>,
    /// Whether it may use others too: a template takes all of them together, or the kind cannot tell.
    pub uses_other_arguments: bool,
    /// What it must be permitted to do; most need nothing. Who may have it is not the kind's business: it depends on where
    /// the definition came from.
    pub needs: Vec<Need>,
}

/// A permission that a definition needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it would do.
    pub permission: Permission,
    /// JSON pointer of the field that would do it.
    pub pointer: String,
}

/// What not every definition may do, because whoever may register definitions may not do it otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Start programs on the machine of the gateway.
    StartPrograms,
    /// Send secrets that the operator gave to the gateway.
    UseSecrets,
    /// Carry out a script.
    RunScripts,
}

impl Permission {
    /// Why it is not given, and what to do about it.
    pub const fn refusal(self) -> &'static str {
        match self {
            Self::StartPrograms => {
                "starting programs is not allowed for definitions in the store; put the definition into a folder of --tools, or start the gateway with --allow-commands"
            }
            Self::RunScripts => {
                "scripts are not allowed for definitions in the store; put the file into a folder of --tools, or start the gateway with --allow-scripts"
            }
            Self::UseSecrets => {
                "using secrets is not allowed for a definition that an agent registered; an operator who trusts it registers it again without \"registeredBy\", or starts the gateway with --allow-agent-secrets"
            }
        }
    }
}

/// What a definition has become.
#[derive(Clone)]
pub enum Made {
    /// A tool, carried out by this.
    Tool(Arc<dyn Executor>),
    /// A prompt; the key is its name.
    Prompt(Offered),
    /// A resource; the key is its URI.
    Resource(Offered),
    /// A resource template; the key is the URI template.
    Template(Offered),
    /// A server whose offer is listed beside ours.
    Upstream(Arc<dyn Upstream>),
}

/// One use of an argument in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentUse {
    /// The first step of the path after `args`, for example `city`.
    pub name: String,
    /// JSON pointer of the template.
    pub pointer: String,
    /// Whether a call without it must fail (a path segment without default), rather than drop something.
    pub required: bool,
}

/// A kind as the table of kinds holds it.
pub trait AnyKind: Send + Sync {
    /// The `type` of its definitions, and the name of their block.
    fn name(&self) -> &'static str;

    /// JSON Schema by which the form of the block is checked.
    fn schema(&self) -> Value;

    /// JSON Schema of the block for editors; see [`Kind::publish`].
    fn published_schema(&self) -> Value;

    /// Policies that may stand in the block although nothing applies them yet.
    fn unapplied(&self) -> &'static [&'static str];

    /// Compiles the definition; see [`Kind::compile`].
    fn compile(&self, definition: &Definition, problems: &mut Problems) -> Option<Compiled>;
}

impl<K: Kind> AnyKind for K {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn schema(&self) -> Value {
        schema_of::<K::Settings>()
    }

    fn published_schema(&self) -> Value {
        let mut schema = schema_of::<K::Settings>();
        K::publish(&mut schema);
        schema
    }

    fn unapplied(&self) -> &'static [&'static str] {
        K::UNAPPLIED
    }

    fn compile(&self, definition: &Definition, problems: &mut Problems) -> Option<Compiled> {
        match K::Settings::deserialize_from(&definition.settings) {
            Ok(settings) => Kind::compile(self, settings, definition, problems),
            // Told already, in better words, where the form was checked.
            Err(_) if problems.any_error() => None,
            Err(error) => {
                problems.error(format!("/{}", K::NAME), error.to_string());
                None
            }
        }
    }
}

/// JSON Schema of a configuration type, without references, so that messages and editors see one tree.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

trait DeserializeFrom: Sized {
    fn deserialize_from(value: &Value) -> Result<Self, serde_json::Error>;
}

impl<T: DeserializeOwned> DeserializeFrom for T {
    fn deserialize_from(value: &Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(value.clone())
    }
}
