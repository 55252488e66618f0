//! What rules make of a tool for somebody: whether it is seen, and whether a call may be carried out.

use std::fmt;

use serde_json::{Map, Value};

use crate::Annotations;

/// What rules can ask of a tool. Borrowed, so that it costs nothing to put together for each decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolTraits<'a> {
    /// Its name.
    pub name: &'a str,
    /// How it is carried out: `http`, `mcp`, …
    pub kind: &'a str,
    /// Its tags.
    pub tags: &'a [String],
    /// Its category.
    pub category: Option<&'a str>,
    /// Whose it is; shared if absent.
    pub tenant: Option<&'a str>,
    /// What its annotations say.
    pub hints: SaidHints,
}

impl<'a> ToolTraits<'a> {
    /// Something of which only the name is known.
    pub fn named(name: &'a str) -> Self {
        Self { name, kind: "", tags: &[], category: None, tenant: None, hints: SaidHints::default() }
    }
}

/// The hints that a tool gives of itself: nothing where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaidHints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// Twice is as good as once.
    pub idempotent: Option<bool>,
    /// It deals with the world outside.
    pub open_world: Option<bool>,
}

impl From<&Annotations> for SaidHints {
    fn from(said: &Annotations) -> Self {
        Self {
            read_only: said.read_only_hint,
            destructive: said.destructive_hint,
            idempotent: said.idempotent_hint,
            open_world: said.open_world_hint,
        }
    }
}

impl SaidHints {
    /// Those of annotations as MCP writes them.
    pub fn from_mcp(annotations: &Value) -> Self {
        let said = |hint: &str| annotations.get(hint).and_then(Value::as_bool);
        Self {
            read_only: said("readOnlyHint"),
            destructive: said("destructiveHint"),
            idempotent: said("idempotentHint"),
            open_world: said("openWorldHint"),
        }
    }
}

/// Why a call may not be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The tool is not there for whoever asks.
    Hidden,
    /// It is, but may not be called with these arguments; why.
    Refused(String),
}

/// What somebody may do, by rules.
pub trait ToolRights: fmt::Debug + Send + Sync {
    /// Whether a tool is there for him.
    fn sees(&self, tool: &ToolTraits<'_>) -> bool;

    /// Whether he may call it with these arguments.
    fn judge(&self, tool: &ToolTraits<'_>, arguments: &Map<String, Value>) -> Result<(), Denial>;
}
