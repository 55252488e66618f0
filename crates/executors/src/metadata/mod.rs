//! Kind `metadata`: a tool that is only described. It is listed and found, marked as not callable, and a call says where
//! to go instead. Catalogues of tools that live elsewhere, such as that of RegistryTools, are made of these.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use toolrail_core::{
    Call, CallError, Compiled, Definition, ErrorCode, Executor, Kind, METADATA, Made, Outcome, Preview,
    Problems, ResponseMapping, async_trait,
};

/// The kind `metadata`.
#[derive(Debug)]
pub(crate) struct Metadata;

/// A tool that is only described here: it can be found, not called.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MetadataSettings {
    /// The MCP server that has the tool; named to whoever calls it here.
    #[serde(default)]
    mcp_server: Option<String>,
    /// How often it had been used where it was described before.
    #[serde(default)]
    #[schemars(range(min = 0))]
    #[expect(dead_code, reason = "read from the definition by whoever ranks tools")]
    use_frequency: Option<u64>,
    /// When it was last used there.
    #[serde(default)]
    #[expect(dead_code, reason = "as above")]
    last_used: Option<String>,
}

impl Kind for Metadata {
    const NAME: &'static str = METADATA;
    type Settings = MetadataSettings;

    fn compile(
        &self,
        settings: MetadataSettings,
        definition: &Definition,
        problems: &mut Problems,
    ) -> Option<Compiled> {
        let given = [
            ("/auth", definition.wants_auth()),
            ("/responseMapping", definition.response_mapping != ResponseMapping::Passthrough),
            ("/policy/timeoutMs", definition.policy.timeout_ms.is_some()),
        ];
        for (pointer, _) in given.into_iter().filter(|(_, there)| *there) {
            problems
                .error(pointer, "has no effect here: a tool of type \"metadata\" is never called; remove it");
        }
        let described = Described { name: definition.name.to_string(), server: settings.mcp_server };
        Some(Compiled {
            made: Made::Tool(Arc::new(described)),
            arguments: Vec::new(),
            uses_other_arguments: true,
            needs: Vec::new(),
        })
    }
}

/// A tool without anything behind it.
struct Described {
    name: String,
    server: Option<String>,
}

impl Described {
    fn refusal(&self) -> CallError {
        let name = &self.name;
        let message = match &self.server {
            Some(server) => format!(
                "{name:?} is only described here, there is nothing to call: it is a tool of the MCP server {server:?}; call it there, or register that server with type \"mcp\""
            ),
            None => format!(
                "{name:?} is only described here, there is nothing to call; give its definition a type such as \"http\""
            ),
        };
        CallError::new(ErrorCode::UnsupportedType, message)
    }
}

#[async_trait]
impl Executor for Described {
    async fn execute(&self, _: &Call<'_>) -> Outcome {
        Err(self.refusal())
    }

    fn preview(&self, _: &Call<'_>) -> Result<Preview, CallError> {
        Err(self.refusal())
    }
}
