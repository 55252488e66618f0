//! The block `resource` of a definition. The doc comments are the user's documentation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::HttpSettings;

/// Something that clients can read: a text or bytes that stand here, or what is fetched. Exactly one of `text`, `blob`
/// and `http`; either `uri` or `uriTemplate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ResourceSettings {
    /// The address of one resource, such as `docs://handbook`: any scheme, and nothing is looked up by it.
    #[serde(default)]
    pub(super) uri: Option<String>,
    /// The address of many resources, such as `docs://pages/{page}` (RFC 6570). Its variables are arguments: `{{args.page}}`.
    #[serde(default)]
    pub(super) uri_template: Option<String>,
    /// The media type, such as `text/markdown`. What `http` fetches has the type that the answer declares, if it declares one.
    #[serde(default)]
    pub(super) mime_type: Option<String>,
    /// The content as text, at most 1 MiB; a template if there is a `uriTemplate`.
    #[serde(default)]
    pub(super) text: Option<String>,
    /// The content in base64, at most 1 MiB of it.
    #[serde(default)]
    pub(super) blob: Option<String>,
    /// The request that fetches the content, as in definitions of type `http`; `auth` and `responseMapping` apply to it.
    #[serde(default)]
    pub(super) http: Option<HttpSettings>,
    /// Values to offer for each variable of `uriTemplate` while it is typed.
    #[serde(default)]
    pub(super) complete: Option<BTreeMap<String, Vec<String>>>,
}
