//! The block `prompt` of a definition. The doc comments are the user's documentation.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::HttpSettings;

/// A prompt: messages that a user can start a conversation with. Either `messages` or `http`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PromptSettings {
    /// What the user fills in, at most 64. In messages and in `http` it is `{{args.name}}`.
    #[serde(default)]
    pub(super) arguments: Option<Vec<ArgumentSettings>>,
    /// The messages, 1 to 64. One whose template names an argument that was not given is left out.
    #[serde(default)]
    pub(super) messages: Option<Vec<MessageSettings>>,
    /// The request that fetches the messages, as in definitions of type `http`; `auth` and `responseMapping` apply to it.
    /// JSON with `messages` is used as it is, anything else becomes one message of the user.
    #[serde(default)]
    pub(super) http: Option<HttpSettings>,
}

/// Something the user fills in; always a text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ArgumentSettings {
    /// Its name.
    pub(super) name: String,
    /// A name for people.
    #[serde(default)]
    pub(super) title: Option<String>,
    /// What to fill in.
    #[serde(default)]
    pub(super) description: Option<String>,
    /// Whether it must be given; false when left out.
    #[serde(default)]
    pub(super) required: Option<bool>,
    /// Values to offer while it is typed.
    #[serde(default)]
    pub(super) complete: Option<Vec<String>>,
}

/// One message. Exactly one of `text`, `image`, `audio` and `resource`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MessageSettings {
    /// Whose message it is: `user` or `assistant`.
    #[schemars(extend("enum" = ["user", "assistant"]))]
    pub(super) role: String,
    /// A text, a template of at most 1 MiB.
    #[serde(default)]
    pub(super) text: Option<String>,
    /// A picture.
    #[serde(default)]
    pub(super) image: Option<MediaSettings>,
    /// A sound.
    #[serde(default)]
    pub(super) audio: Option<MediaSettings>,
    /// An embedded resource.
    #[serde(default)]
    pub(super) resource: Option<EmbeddedSettings>,
}

/// A picture or a sound.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MediaSettings {
    /// The bytes in base64, at most 1 MiB of it.
    pub(super) data: String,
    /// The media type, such as `image/png`.
    pub(super) mime_type: String,
}

/// An embedded resource. Either `text` or `blob`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EmbeddedSettings {
    /// Its address, such as `docs://handbook`; a template.
    pub(super) uri: String,
    /// The media type, such as `text/markdown`.
    #[serde(default)]
    pub(super) mime_type: Option<String>,
    /// The content as text, a template of at most 1 MiB.
    #[serde(default)]
    pub(super) text: Option<String>,
    /// The content in base64, at most 1 MiB of it.
    #[serde(default)]
    pub(super) blob: Option<String>,
}
