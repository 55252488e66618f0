//! A server that is reached by its URL: the request that carries each message, compiled from the definition.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Map;
use toolrail_core::{Auth, CallError, Caller, Definition, GrantServer, OAuthUser, Principal};

use super::on_behalf::{self, Accounts, Holder};
use super::settings::{Limits, McpSettings};
use crate::outbound::{OutboundError, StreamedAnswer};
use crate::request::{
    Base, OnBehalf, Proof, RequestTemplate, Target, Written, check_hosts, reach, split_url,
};
use crate::runtime::Runtime;
use crate::template::{Braces, Compiler, Rendering, scan};

const URL: &str = "/mcp/url";
pub(super) const LIST_AUTH: &str = "/mcp/listAuth";

/// Where messages go, and what goes with them.
pub(super) struct ServerEndpoint {
    runtime: Runtime,
    compiled: CompiledEndpoint,
    pub(super) limits: Limits,
}

/// What the definition says of it.
pub(super) struct CompiledEndpoint {
    /// Requests that nobody in particular makes: those that list the server, and all of them where everybody is the same to it.
    request: RequestTemplate,
    target: Target,
    in_name: Option<InName>,
}

/// How requests are made in the name of whoever calls.
struct InName {
    request: RequestTemplate,
    way: InNameWay,
}

/// Where the token comes from.
enum InNameWay {
    /// The caller came with it, or it is given for that one.
    Brought(Arc<OnBehalf>),
    /// The caller has granted it.
    Granted(OAuthUser),
}

impl ServerEndpoint {
    /// Compiles `url`, `headers` and `auth`, noting every fault.
    pub(super) fn compile(
        url: &str,
        settings: &McpSettings,
        definition: &Definition,
        compiler: &mut Compiler<'_>,
    ) -> Option<CompiledEndpoint> {
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
        let proof = Proof::of(definition);
        let of_caller = proof.clone().filter(|proof| proof.auth.is_on_behalf());
        let list_auth = settings.list_auth(of_caller.is_some(), compiler.problems);
        let listing = match &of_caller {
            Some(_) => list_auth.as_ref().map(|auth| Proof { auth, pointer: LIST_AUTH.to_owned() }),
            None => proof,
        };
        let request = RequestTemplate::compile(&written, &settings.request(), listing, compiler);
        let in_name = match of_caller {
            None => Some(None),
            Some(proof) => {
                let way = InNameWay::compile(&proof, base.as_slice(), compiler);
                let request = RequestTemplate::compile(&written, &settings.request(), Some(proof), compiler);
                way.zip(request).map(|(way, request)| Some(InName { request, way }))
            }
        };
        reach::check(base.as_slice(), compiler);
        let request = request?;
        let target = Target::new(base?, request.fixed());
        Some(CompiledEndpoint { request, target, in_name: in_name? })
    }

    pub(super) fn new(runtime: Runtime, compiled: CompiledEndpoint, limits: Limits) -> Self {
        Self { runtime, compiled, limits }
    }

    /// In whose name a call is made; nobody's where everybody is the same to the server.
    pub(super) fn holder(
        &self,
        (principal, caller): (&Principal, &dyn Caller),
        server: &str,
    ) -> Result<Option<Holder>, CallError> {
        match self.compiled.in_name.as_ref().map(|in_name| &in_name.way) {
            None => Ok(None),
            Some(InNameWay::Brought(way)) => Holder::who_came(caller, way, server).map(Some),
            Some(InNameWay::Granted(_)) => {
                let accounts = self.accounts(server).ok_or_else(on_behalf::not_kept)?;
                accounts.holder(principal).map(Some)
            }
        }
    }

    /// The accounts that people have at the server, where calls are made with what they grant.
    pub(super) fn accounts(&self, server: &str) -> Option<Accounts> {
        let Some(InNameWay::Granted(user)) = self.compiled.in_name.as_ref().map(|in_name| &in_name.way)
        else {
            return None;
        };
        let secret = user.client_secret.as_deref().and_then(on_behalf::secret_named);
        let server = GrantServer {
            name: server.to_owned(),
            url: self.path(),
            issuer: user.issuer.clone(),
            client_id: user.client_id.clone(),
            client_secret: secret.map(str::to_owned),
            scopes: user.scopes.clone(),
        };
        Some(Accounts { server, grants: Arc::clone(self.runtime.grants.as_ref()?) })
    }

    /// Whether calls are made in the name of whoever calls.
    pub(super) fn is_on_behalf(&self) -> bool {
        self.compiled.in_name.is_some()
    }

    /// Its address for messages.
    pub(super) fn name(&self) -> String {
        self.compiled.target.name().unwrap_or_else(|| "the server".to_owned())
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
        let CompiledEndpoint { request, target, .. } = &self.compiled;
        let rest = request.draft(&mut rendering)?.rest;
        target.shown(rest.as_deref().or(request.fixed()).unwrap_or_default(), &mut rendering)
    }

    /// Sends one message, in the name of whoever holds the session.
    pub(super) async fn send(
        self: &Arc<Self>,
        holder: Option<&Holder>,
        method: Method,
        (headers, body): (HeaderMap, Bytes),
    ) -> Result<StreamedAnswer, CallError> {
        let CompiledEndpoint { request, target, in_name } = &self.compiled;
        let (request, bearer) = match (holder, in_name) {
            (Some(holder), Some(in_name)) => (&in_name.request, Some(holder.token(&self.runtime).await?)),
            _ => (request, None),
        };
        let outgoing = {
            let arguments = Map::new();
            let mut rendering = Rendering::to_send(&arguments, &self.runtime.secrets).bearing(bearer);
            let draft = request.draft(&mut rendering)?;
            let rest = draft.rest.as_deref().or(request.fixed()).unwrap_or_default();
            let uri = target.uri(rest, &mut rendering)?;
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

impl InNameWay {
    fn compile(proof: &Proof<'_>, bases: &[Base], compiler: &mut Compiler<'_>) -> Option<Self> {
        let Auth::OAuthUser(user) = proof.auth else {
            return OnBehalf::compile(Some(proof), bases, compiler).map(|way| Self::Brought(Arc::new(way)));
        };
        // Whoever writes such a definition decides where the tokens of others go.
        compiler.on_behalf.push(proof.pointer.clone());
        check_hosts(&[], &proof.pointer, bases, compiler);
        on_behalf::check(user, &proof.pointer, compiler.problems);
        Some(Self::Granted((**user).clone()))
    }
}

fn accepted(method: &Method) -> HeaderValue {
    HeaderValue::from_static(if method == Method::GET {
        "text/event-stream"
    } else {
        "application/json, text/event-stream"
    })
}
