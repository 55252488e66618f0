//! What is decided about: who calls, and what is known of a tool.

use serde_json::{Map, Value};
use toolrail_core::{Annotations, Role};

/// Somebody who calls, as rules know him.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The name under which he is known, if he has proved who he is.
    pub name: Option<String>,
    /// His tenant.
    pub tenant: Option<String>,
    /// What he may do; nobody was asked if absent.
    pub role: Option<Role>,
    /// The groups that he belongs to.
    pub groups: Vec<String>,
    /// The scopes that were granted to him.
    pub scopes: Vec<String>,
}

impl Subject {
    /// Whether he has neither a name nor a tenant.
    pub fn is_anonymous(&self) -> bool {
        self.name.is_none() && self.tenant.is_none()
    }
}

/// What rules can ask of a tool. Borrowed, so that it costs nothing to put together for each decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolFacts<'a> {
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
    /// What its annotations say of it.
    pub hints: Hints,
}

impl<'a> ToolFacts<'a> {
    /// A tool of which only the name is known.
    pub fn named(name: &'a str) -> Self {
        Self { name, kind: "", tags: &[], category: None, tenant: None, hints: Hints::default() }
    }
}

/// What a tool's annotations say, with MCP's defaults for what they do not say. A tool that is read-only is not destructive,
/// whatever it says: MCP gives that hint a meaning only for tools that change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    said: [bool; 4],
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    ReadOnly,
    Destructive,
    Idempotent,
    OpenWorld,
}

impl Hint {
    pub(crate) const ALL: [Self; 4] = [Self::ReadOnly, Self::Destructive, Self::Idempotent, Self::OpenWorld];

    /// How rules name it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnly",
            Self::Destructive => "destructive",
            Self::Idempotent => "idempotent",
            Self::OpenWorld => "openWorld",
        }
    }

    /// What holds of tools that do not say.
    const fn unsaid(self) -> bool {
        matches!(self, Self::Destructive | Self::OpenWorld)
    }
}

impl Default for Hints {
    fn default() -> Self {
        Self::from_said([None; 4])
    }
}

impl From<&Annotations> for Hints {
    fn from(said: &Annotations) -> Self {
        Self::from_said([
            said.read_only_hint,
            said.destructive_hint,
            said.idempotent_hint,
            said.open_world_hint,
        ])
    }
}

impl Hints {
    /// Those of annotations as MCP writes them: `{"readOnlyHint": true, …}`.
    pub fn from_mcp(annotations: &Map<String, Value>) -> Self {
        Self::from_said(Hint::ALL.map(|hint| annotations.get(&format!("{}Hint", hint.word()))?.as_bool()))
    }

    /// In the order of [`Hint::ALL`].
    pub(crate) fn from_said(said: [Option<bool>; 4]) -> Self {
        let [read_only, destructive, idempotent, open_world] = said;
        let or_default = |said: Option<bool>, hint: Hint| said.unwrap_or(hint.unsaid());
        let read_only = or_default(read_only, Hint::ReadOnly);
        Self {
            said: [
                read_only,
                !read_only && or_default(destructive, Hint::Destructive),
                or_default(idempotent, Hint::Idempotent),
                or_default(open_world, Hint::OpenWorld),
            ],
        }
    }

    pub(crate) fn has(self, hint: Hint) -> bool {
        let [read_only, destructive, idempotent, open_world] = self.said;
        match hint {
            Hint::ReadOnly => read_only,
            Hint::Destructive => destructive,
            Hint::Idempotent => idempotent,
            Hint::OpenWorld => open_world,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hints_have_the_defaults_of_mcp_and_a_read_only_tool_is_never_destructive() {
        let hints = |annotations: Value| Hints::from_mcp(annotations.as_object().unwrap()).said;
        assert_eq!(Hints::default().said, [false, true, false, true]);
        assert_eq!(hints(json!({})), [false, true, false, true]);
        assert_eq!(hints(json!({"readOnlyHint": true, "destructiveHint": true})), [true, false, false, true]);
        assert_eq!(hints(json!({"idempotentHint": true, "openWorldHint": "no"})), [false, true, true, true]);
        assert_eq!(
            hints(json!({"destructiveHint": false, "openWorldHint": false})),
            [false, false, false, false]
        );
    }
}
