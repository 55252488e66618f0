//! The settings that every HTTP kind has, and their checks.

use std::time::Duration;

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolrail_core::{Problems, did_you_mean_written};

use crate::outbound::SendLimits;
use crate::service::Shared;

/// How a body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) enum BodyType {
    Json,
    Form,
    Multipart,
    Text,
    Binary,
}

const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const DEFAULT_TIMEOUT_MS: u64 = 3_000;
const MAX_TIMEOUT_MS: u64 = 600_000;
const DEFAULT_CONNECT_TIMEOUT_MS: u64 = 3_000;
const DEFAULT_RESPONSE_BYTES: u64 = 1024 * 1024;
const MAX_RESPONSE_BYTES: u64 = 64 * 1024 * 1024;
const DEFAULT_REDIRECTS: u8 = 5;
const MAX_REDIRECTS: u8 = 10;

/// Names the methods in the published schema of a block. The check itself takes any spelling and suggests a method.
pub(crate) fn publish(schema: &mut Value) {
    let upper = METHODS.iter().map(|method| (*method).to_owned());
    let lower = METHODS.iter().map(|method| method.to_ascii_lowercase());
    if let Some(Value::Object(method)) = schema.pointer_mut("/properties/method") {
        method.insert("enum".into(), json!(upper.chain(lower).collect::<Vec<_>>()));
    }
}

/// What a kind's block says about the request itself.
#[derive(Debug, Default)]
pub(crate) struct RequestSettings<'s> {
    /// The name of the block, for pointers; one inside another is `resource/http`.
    pub(crate) block: &'s str,
    /// The service that has what is not said here.
    pub(crate) service: Option<&'s Shared>,
    pub(crate) method: Option<&'s str>,
    pub(crate) query: Option<&'s Map<String, Value>>,
    pub(crate) headers: Option<&'s Map<String, Value>>,
    pub(crate) cookies: Option<&'s Map<String, Value>>,
    pub(crate) body: Option<&'s Value>,
    pub(crate) body_type: Option<BodyType>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) connect_timeout_ms: Option<u64>,
    pub(crate) max_response_bytes: Option<u64>,
    pub(crate) redirects: Option<u8>,
}

impl RequestSettings<'_> {
    /// JSON pointer of a field of the block.
    pub(crate) fn pointer(&self, field: &str) -> String {
        format!("/{}/{field}", self.block)
    }

    /// The members of a field that maps names to values, each with its pointer.
    pub(super) fn members<'m>(
        &self,
        field: &str,
        members: Option<&'m Map<String, Value>>,
    ) -> Vec<(&'m str, &'m Value, String)> {
        let pointer = self.pointer(field);
        let members = members.into_iter().flatten();
        members.map(|(name, value)| (name.as_str(), value, crate::template::child(&pointer, name))).collect()
    }

    /// The headers, and those of the service that are not overruled.
    pub(super) fn header_members(&self) -> Vec<(&str, &Value, String)> {
        let mut members = self.members("headers", self.headers);
        if let Some(service) = self.service {
            let place = service.pointer("headers");
            let is_said = |name: &str| {
                self.headers.is_some_and(|own| own.keys().any(|known| known.eq_ignore_ascii_case(name)))
            };
            let shared = service.headers.iter().filter(|(name, _)| !is_said(name));
            members.extend(
                shared.map(|(name, value)| (name.as_str(), value, crate::template::child(&place, name))),
            );
        }
        members
    }

    pub(super) fn method(&self, problems: &mut Problems) -> Option<Method> {
        let written = self.method.unwrap_or("GET");
        let upper = written.to_ascii_uppercase();
        if METHODS.contains(&upper.as_str()) {
            return Method::from_bytes(upper.as_bytes()).ok();
        }
        let hint = did_you_mean_written(written, METHODS.iter().copied(), str::to_owned)
            .unwrap_or_else(|| format!("use one of {}", METHODS.join(", ")));
        problems.error(self.pointer("method"), format!("the method {written:?} is not supported; {hint}"));
        None
    }

    pub(super) fn limits(&self, problems: &mut Problems) -> SendLimits {
        let timeout_ms = self.timeout_ms.or(self.service.and_then(|service| service.timeout_ms));
        let total = timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS).clamp(1, MAX_TIMEOUT_MS);
        if let Some(connect) = self.connect_timeout_ms
            && connect > total
        {
            problems.error(
                self.pointer("connectTimeoutMs"),
                format!("{connect} is more than timeoutMs, which is {total} and includes connecting; lower it or raise timeoutMs"),
            );
        }
        let connect = self.connect_timeout_ms.or(self.service.and_then(|service| service.connect_timeout_ms));
        let connect = connect.unwrap_or(DEFAULT_CONNECT_TIMEOUT_MS).clamp(1, total);
        let bytes = self.max_response_bytes.unwrap_or(DEFAULT_RESPONSE_BYTES).clamp(1, MAX_RESPONSE_BYTES);
        SendLimits {
            connect: Duration::from_millis(connect),
            total: Duration::from_millis(total),
            max_response_bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            redirects: self.redirects.unwrap_or(DEFAULT_REDIRECTS).min(MAX_REDIRECTS),
        }
    }
}
