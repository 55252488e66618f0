//! What a user may write in a definition, beside the kind's own block. The doc comments are the user's documentation:
//! they become the descriptions in `/schema/tool.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool: what it is called, what it takes, and how it is carried out.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Document {
    /// Where editors find the schema of this file; has no other effect.
    #[serde(rename = "$schema", default)]
    pub schema: Option<String>,
    /// The unique name: 1 to 200 letters and digits of any script and _ . - (upper and lower case of A-Z count as the same).
    /// Clients carry 64 of A-Z a-z 0-9 _ . - at most: any other name is listed to them under an alias, and both can be called.
    /// A tool of type `metadata` may have any name of up to 200 characters.
    pub name: String,
    /// A name for people, shown instead of `name` where there is room.
    #[serde(default)]
    pub title: Option<String>,
    /// What the tool does and when to use it. The model chooses by this text.
    #[serde(default)]
    pub description: Option<String>,
    /// How the tool is carried out. The block of the same name holds the settings.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// JSON Schema of the arguments (2020-12, or draft-07 with `$schema`). Derived from the templates when left out.
    #[serde(default)]
    #[schemars(extend("type" = "object"))]
    pub input_schema: Option<Value>,
    /// JSON Schema of the structured result. Results are checked against it.
    #[serde(default)]
    pub output_schema: Option<Value>,
    /// Hints for clients about what a call does.
    #[serde(default)]
    pub annotations: Option<Annotations>,
    /// The group the tool belongs to.
    #[serde(default)]
    pub category: Option<String>,
    /// Words by which the tool can be filtered and found.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    /// Tells clients (in `_meta`) to load the tool only when it was searched for.
    #[serde(default)]
    pub defer_loading: Option<bool>,
    /// How the tool proves itself to the upstream.
    #[serde(default)]
    pub auth: Option<AuthDocument>,
    /// What becomes of the upstream's answer; passed through when left out.
    #[serde(default)]
    pub response_mapping: Option<MappingDocument>,
    /// Limits around each call.
    #[serde(default)]
    pub policy: Option<PolicyDocument>,
    /// Whether a person must approve of each call.
    #[serde(default)]
    pub approval: Option<Value>,
    /// Whether the tool may be called; true when left out.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// `agent` in what came in by `register_tool`, which writes it: such a definition may not use secrets. An operator who
    /// registers the definition without this vouches for it.
    #[serde(default)]
    #[schemars(extend("enum" = ["agent"]))]
    pub registered_by: Option<RegisteredBy>,
}

/// Who registered a definition, if not an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum RegisteredBy {
    #[expect(missing_docs, reason = "a doc comment would turn the enum into a oneOf, which reports poorly")]
    Agent,
}

impl RegisteredBy {
    /// The field of a definition that says so.
    pub const FIELD: &'static str = "registeredBy";

    /// Its word there.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
        }
    }
}

/// Hints for clients about what a call does. None of them is enforced.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Annotations {
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The call changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The call may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Repeating the call with the same arguments changes nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The call reaches the outside world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// The ways in which a tool can prove itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthType {
    None,
    ApiKey,
    Basic,
    Bearer,
    OAuth2,
    CallerToken,
    TokenExchange,
    OAuthUser,
}

impl AuthType {
    pub(super) const ALL: [Self; 8] = [
        Self::None,
        Self::ApiKey,
        Self::Basic,
        Self::Bearer,
        Self::OAuth2,
        Self::CallerToken,
        Self::TokenExchange,
        Self::OAuthUser,
    ];

    /// How it is written in a definition.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ApiKey => "apiKey",
            Self::Basic => "basic",
            Self::Bearer => "bearer",
            Self::OAuth2 => "oauth2",
            Self::CallerToken => "caller_token",
            Self::TokenExchange => "token_exchange",
            Self::OAuthUser => "oauth_user",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.word() == word)
    }

    /// The fields that go with it, as they are written.
    pub(super) const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::ApiKey => &["in", "name", "value"],
            Self::Basic => &["username", "password"],
            Self::Bearer => &["token"],
            Self::OAuth2 => &["tokenUrl", "clientId", "clientSecret", "scopes", "audience", "grant"],
            Self::CallerToken => &["hosts"],
            Self::TokenExchange => {
                &["tokenUrl", "clientId", "clientSecret", "scopes", "audience", "resource", "hosts"]
            }
            Self::OAuthUser => &["issuer", "clientId", "clientSecret", "scopes"],
        }
    }
}

/// How the tool proves itself to the upstream.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object with type")]
pub struct AuthDocument {
    /// `none`, `apiKey`, `basic`, `bearer`, `oauth2`, `caller_token`, `token_exchange` or `oauth_user`.
    #[serde(rename = "type", default)]
    #[schemars(required, extend("enum" = AuthType::ALL.map(AuthType::word)))]
    pub kind: Option<String>,
    /// With `apiKey`: where the key goes; a header when left out.
    #[serde(rename = "in", default)]
    #[schemars(extend("enum" = ["header", "query", "cookie"]))]
    pub place: Option<ApiKeyPlace>,
    /// With `apiKey`: the name of the header, query parameter or cookie; `X-API-Key` when left out.
    #[serde(default)]
    pub name: Option<String>,
    /// With `apiKey`: the key, such as `{{secrets.WEATHER_KEY}}`.
    #[serde(default)]
    pub value: Option<String>,
    /// With `basic`: the user name.
    #[serde(default)]
    pub username: Option<String>,
    /// With `basic`: the password, such as `{{secrets.PASSWORD}}`.
    #[serde(default)]
    pub password: Option<String>,
    /// With `bearer`: the token, such as `{{secrets.TOKEN}}`.
    #[serde(default)]
    pub token: Option<String>,
    /// With `oauth2` and `token_exchange`: where the token is given.
    #[serde(default)]
    pub token_url: Option<String>,
    /// With `oauth2`, `token_exchange` and `oauth_user`: who asks for the token.
    #[serde(default)]
    pub client_id: Option<String>,
    /// With `oauth2`, `token_exchange` and `oauth_user`: the proof of that, such as `{{secrets.CLIENT_SECRET}}`.
    #[serde(default)]
    pub client_secret: Option<String>,
    /// With `oauth2`, `token_exchange` and `oauth_user`: what the token shall be good for, a list or a text with spaces.
    #[serde(default)]
    #[schemars(extend("type" = ["string", "array", "null"], "items" = {"type": "string"}))]
    pub scopes: Option<Value>,
    /// With `oauth2` and `token_exchange`: whom the token shall be shown to.
    #[serde(default)]
    pub audience: Option<String>,
    /// With `token_exchange`: the address of the service that the token shall be for.
    #[serde(default)]
    pub resource: Option<String>,
    /// With `caller_token` and `token_exchange`: the hosts that may get the token, such as `*.shop.example`; the address must be one of
    /// them. When left out, it may go to that of the definition only.
    #[serde(default)]
    pub hosts: Option<Vec<String>>,
    /// With `oauth_user`: the authorisation server at which people connect their accounts; the one that the server names when left
    /// out.
    #[serde(default)]
    pub issuer: Option<String>,
    /// With `oauth2`: the way of getting the token; `client_credentials` when left out.
    #[serde(default)]
    #[schemars(extend("enum" = ["client_credentials", null]))]
    pub grant: Option<String>,
}

/// Where an API key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum ApiKeyPlace {
    #[expect(missing_docs, reason = "a doc comment would turn the enum into a oneOf, which reports poorly")]
    Header,
    #[expect(missing_docs, reason = "as above")]
    Query,
    #[expect(missing_docs, reason = "as above")]
    Cookie,
}

/// What becomes of the upstream's answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MappingDocument {
    /// `passthrough`, `jsonPath` or `template`.
    #[serde(rename = "type", default)]
    #[schemars(required, extend("enum" = ["passthrough", "jsonPath", "template"]))]
    pub kind: Option<String>,
    /// With `jsonPath`: what to select (RFC 9535), such as `$.data.items[*].name`.
    #[serde(default)]
    pub path: Option<String>,
    /// With `template`: a text over `result`, `args` and `status`, such as `{{ result.temp }} °C`.
    #[serde(default)]
    pub template: Option<String>,
}

/// Limits around each call.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyDocument {
    /// The most milliseconds one call may take in all.
    #[serde(default)]
    #[schemars(range(min = 1, max = 600_000))]
    pub timeout_ms: Option<u64>,
}
