//! What is decided about: who calls, and what a tool says of itself.

use toolrail_core::{Role, SaidHints};

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

/// A hint that a tool gives of itself.
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

    /// What a tool says, with MCP's defaults for what it does not say. One that is read-only is not destructive, whatever it
    /// says: MCP gives that hint a meaning only for tools that change something.
    pub(crate) fn of(self, said: SaidHints) -> bool {
        let read_only = said.read_only.unwrap_or(false);
        match self {
            Self::ReadOnly => read_only,
            Self::Destructive => !read_only && said.destructive.unwrap_or(true),
            Self::Idempotent => said.idempotent.unwrap_or(false),
            Self::OpenWorld => said.open_world.unwrap_or(true),
        }
    }

    /// Notes what somebody says of it.
    pub(crate) fn say(self, said: &mut SaidHints, is: Option<bool>) {
        *match self {
            Self::ReadOnly => &mut said.read_only,
            Self::Destructive => &mut said.destructive,
            Self::Idempotent => &mut said.idempotent,
            Self::OpenWorld => &mut said.open_world,
        } = is;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn hints_have_the_defaults_of_mcp_and_a_read_only_tool_is_never_destructive() {
        let hints = |annotations: Value| {
            let said = SaidHints::from_mcp(&annotations);
            Hint::ALL.map(|hint| hint.of(said))
        };
        assert_eq!(hints(json!({})), [false, true, false, true]);
        assert_eq!(hints(json!({"readOnlyHint": true, "destructiveHint": true})), [true, false, false, true]);
        assert_eq!(hints(json!({"idempotentHint": true, "openWorldHint": "no"})), [false, true, true, true]);
        assert_eq!(
            hints(json!({"destructiveHint": false, "openWorldHint": false})),
            [false, false, false, false]
        );
    }
}
