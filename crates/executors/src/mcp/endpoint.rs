//! A server that is reached by its URL: the request that carries each message, compiled from the definition.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Map;
use toolrail_core::{CallError, Definition};

use super::settings::{Limits, McpSettings};
use crate::outbound::{OutboundError, StreamedAnswer};
use crate::request::{Base, Proof, RequestTemplate, Target, Written, reach, split_url};
use crate::runtime::Runtime;
use crate::template::{Braces, Compiler, Rendering, scan};

const URL: &str = "/mcp/url";

/// Where messages go, and what goes with them.
pub(super) struct ServerEndpoint {
    runtime: Runtime,
    request: RequestTemplate,
    target: Target,
    pub(super) limits: Limits,
}

impl ServerEndpoint {
    /// Compiles `url`, `headers` and `auth`, noting every fault.
    pub(super) fn compile(
        url: &str,
        settings: &McpSettings,
        definition: &Definition,
        compiler: &mut Compiler<'_>,
    ) -> Option<(RequestTemplate, Target)> {
        let pieces = match scan(url, Braces::Double) {
            Ok(pieces) => pieces,
            Err(fault) => {
                compiler.problems.error(URL, fault);
                return None;
            }
        };
        let split = split_url(&pieces);
        if split.fragment {
            compiler.problems.error(URL, "what follows # is never sent; remove it");
        }
        let base = Base::compile(&split.base, url, URL, compiler);
        let written = Written { path: split.path, query: split.query, pointer: URL.to_owned() };
        let request =
            RequestTemplate::compile(&written, &settings.request(), Proof::of(definition), compiler);
        reach::check(base.as_slice(), compiler);
        let request = request?;
        let target = Target::new(base?, request.fixed());
        Some((request, target))
    }

    pub(super) fn new(runtime: Runtime, compiled: (RequestTemplate, Target), limits: Limits) -> Self {
        let (request, target) = compiled;
        Self { runtime, request, target, limits }
    }

    /// Its address for messages.
    pub(super) fn name(&self) -> String {
        self.target.name().unwrap_or_else(|| "the server".to_owned())
    }

    /// Its address with the path, for messages about the path: no query, no credentials, secrets masked.
    pub(super) fn path(&self) -> String {
        let shown = self.shown().unwrap_or_else(|_| self.name());
        let shown = shown.split('?').next().unwrap_or_default();
        let Some((scheme, rest)) = shown.split_once("://") else { return shown.to_owned() };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = authority.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}{path}")
    }

    /// Its address for previews, secrets masked.
    pub(super) fn shown(&self) -> Result<String, CallError> {
        let arguments = Map::new();
        let mut rendering = Rendering::to_show(&arguments, &self.runtime.secrets);
        let rest = self.request.draft(&mut rendering)?.rest;
        self.target.shown(rest.as_deref().or(self.request.fixed()).unwrap_or_default(), &mut rendering)
    }

    /// Sends one message.
    pub(super) async fn send(
        self: &Arc<Self>,
        method: Method,
        body: Bytes,
        headers: HeaderMap,
    ) -> Result<StreamedAnswer, CallError> {
        let outgoing = {
            let arguments = Map::new();
            let mut rendering = Rendering::to_send(&arguments, &self.runtime.secrets);
            let draft = self.request.draft(&mut rendering)?;
            let rest = draft.rest.as_deref().or(self.request.fixed()).unwrap_or_default();
            let uri = self.target.uri(rest, &mut rendering)?;
            let mut outgoing = draft.into_outgoing(uri);
            outgoing.headers.insert(ACCEPT, accepted(&method));
            if !body.is_empty() {
                outgoing.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            }
            outgoing.headers.extend(headers);
            outgoing.method = method;
            outgoing.body = body;
            outgoing
        };
        self.runtime.client.open(outgoing).await.map_err(OutboundError::into)
    }
}

fn accepted(method: &Method) -> HeaderValue {
    HeaderValue::from_static(if method == Method::GET {
        "text/event-stream"
    } else {
        "application/json, text/event-stream"
    })
}
