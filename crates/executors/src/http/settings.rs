//! The block `http` of a definition. The doc comments are the user's documentation.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::request::{BodyType, RequestSettings};
use crate::service::Shared;

/// An HTTP request. Texts may hold templates: `{{args.name}}` for an argument, `{{secrets.KEY}}` or `${secrets.KEY}` for a
/// secret, `{{vars.NAME}}` for a variable, with filters such as `{{args.name|default('x')}}`. What an absent argument would fill is left out.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HttpSettings {
    /// GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS; GET when left out.
    #[serde(default)]
    method: Option<String>,
    /// Where the request goes, such as `https://api.example.com/users/{{args.id}}`. Scheme, host and port may come from
    /// variables and secrets but not from arguments. A value in the path is one segment of it. With `service` only the path.
    #[serde(default)]
    pub(super) url: Option<String>,
    /// The service of the configuration (`services`) that the request goes to: its address, headers, credential and time
    /// limits hold unless they stand here.
    #[serde(default)]
    pub(super) service: Option<String>,
    /// Query parameters by name. A list, or an argument that is a list, repeats the parameter.
    #[serde(default)]
    query: Option<Map<String, Value>>,
    /// Headers by name. A list repeats the header.
    #[serde(default)]
    headers: Option<Map<String, Value>>,
    /// Cookies by name.
    #[serde(default)]
    cookies: Option<Map<String, Value>>,
    /// The body. With `json` any JSON, in which a text that is one whole template keeps the type of its value; with `form`
    /// an object of fields; with `multipart` an object of parts, where a file is `{filename, contentType, base64}` or
    /// `{filename, contentType, resource, hosts}`; with `text` a text; with `binary` a text that yields base64.
    #[serde(default)]
    body: Option<Value>,
    /// How the body is sent: `json`, `form`, `multipart`, `text` or `binary`; `json` when left out.
    #[serde(default)]
    #[schemars(extend("enum" = ["json", "form", "multipart", "text", "binary"]))]
    body_type: Option<BodyType>,
    /// The most milliseconds the exchange may take, from connecting to the last byte of the answer; 3000 when left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 600_000))]
    timeout_ms: Option<u64>,
    /// The most milliseconds connecting may take; at most `timeoutMs`, and 3000 when left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 600_000))]
    connect_timeout_ms: Option<u64>,
    /// The most bytes of an answer that are kept; 1048576 when left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 67_108_864))]
    max_response_bytes: Option<u64>,
    /// How many redirects are followed; 5 when left out, and with 0 the redirect itself is the answer.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10))]
    redirects: Option<u8>,
}

impl HttpSettings {
    /// What the block says about the request; `block` is where it stands.
    pub(super) fn request<'s>(&'s self, block: &'s str, service: Option<&'s Shared>) -> RequestSettings<'s> {
        RequestSettings {
            block,
            service,
            method: self.method.as_deref(),
            query: self.query.as_ref(),
            headers: self.headers.as_ref(),
            cookies: self.cookies.as_ref(),
            body: self.body.as_ref(),
            body_type: self.body_type,
            timeout_ms: self.timeout_ms,
            connect_timeout_ms: self.connect_timeout_ms,
            max_response_bytes: self.max_response_bytes,
            redirects: self.redirects,
        }
    }
}
