//! The fields that the blocks `http` and `feign` share, once. The doc comments are the user's documentation.

/// Declares the block of a kind that makes an HTTP request: its own fields, and those that every such block has, with what
/// they say about the request. A macro, because `flatten` would lose the places of faults and let unknown fields pass.
macro_rules! request_block {
    (
        $(#[$about:meta])*
        struct $name:ident {
            first { $($first:tt)* }
            then { $($then:tt)* }
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub(crate) struct $name {
            $($first)*
            /// GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS; GET when left out.
            #[serde(default)]
            method: Option<String>,
            $($then)*
            /// Query parameters by name. A list, or an argument that is a list, repeats the parameter.
            #[serde(default)]
            query: Option<serde_json::Map<String, serde_json::Value>>,
            /// Headers by name. A list repeats the header.
            #[serde(default)]
            headers: Option<serde_json::Map<String, serde_json::Value>>,
            /// Cookies by name.
            #[serde(default)]
            cookies: Option<serde_json::Map<String, serde_json::Value>>,
            /// The body. With `json` any JSON, in which a text that is one whole template keeps the type of its value; with `form`
            /// an object of fields; with `multipart` an object of parts, where a file is `{filename, contentType, base64}` or
            /// `{filename, contentType, resource, hosts}`; with `text` a text; with `binary` a text that yields base64.
            #[serde(default)]
            body: Option<serde_json::Value>,
            /// How the body is sent: `json`, `form`, `multipart`, `text` or `binary`; `json` when left out.
            #[serde(default)]
            #[schemars(extend("enum" = ["json", "form", "multipart", "text", "binary"]))]
            body_type: Option<$crate::request::BodyType>,
            /// The most milliseconds the call may take, from connecting to the last byte of the answer; 3000 when left out.
            #[serde(default)]
            #[schemars(range(min = 1, max = 600_000))]
            timeout_ms: Option<u64>,
            /// The most milliseconds connecting to one address may take; at most `timeoutMs`, and 3000 when left out.
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

        impl $name {
            /// What the block says about the request; `block` is where it stands.
            pub(super) fn request<'s>(
                &'s self,
                block: &'s str,
                service: Option<&'s $crate::service::Shared>,
            ) -> $crate::request::RequestSettings<'s> {
                $crate::request::RequestSettings {
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
    };
}
pub(crate) use request_block;
