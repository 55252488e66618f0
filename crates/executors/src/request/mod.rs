//! HTTP requests made from templates: what the kinds `http` and `feign` share. Everything is compiled and checked at
//! registration; a call only fills values in.

mod auth;
mod block;
mod body;
mod exchanged;
mod headers;
mod json_text;
mod multipart;
mod on_behalf;
mod path;
mod preview;
mod query;
pub(crate) mod reach;
mod resource;
mod services;
mod settings;
mod target;
mod token_exchange;
mod written_out;

use std::collections::BTreeSet;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Map;
use toolrail_core::{ArgumentUse, CallError, Problems, Secret, Secrets, ValueOrigin};

use crate::answer::AnswerMapping;
use crate::outbound::{Bound, Outgoing, SendLimits, Sensitive};
use crate::template::{Compiler, Rendering};
use auth::Credential;
use body::{BodyTemplate, FilledBody};
use headers::Headers;
use path::PathTemplate;
use query::{Parameter, write_parameters};

pub(crate) use auth::{Proof, told_without_token};
pub(crate) use block::request_block;
pub(crate) use body::decode_base64;
pub(crate) use on_behalf::{OnBehalf, check_hosts};
pub(crate) use preview::shown;
pub(crate) use settings::{BodyType, RequestSettings, publish};
pub(crate) use target::{Base, SplitUrl, Target, split_path, split_url};

/// A request whose templates are compiled; where it goes is a [`Target`]'s business.
#[derive(Debug)]
pub(crate) struct RequestTemplate {
    method: Method,
    path: PathTemplate,
    query: Vec<Parameter>,
    headers: Headers,
    body: BodyTemplate,
    /// Boxed, as most tools have none.
    credential: Option<Box<Credential>>,
    limits: SendLimits,
    sensitive: SensitiveTexts,
    bound: Bound,
    /// Values that are the same in every call, for previews.
    filled: Vec<ValueOrigin>,
    /// Path and query, if no template is in them.
    fixed: Option<String>,
}

/// The texts to mask in whatever comes back.
#[derive(Debug)]
struct SensitiveTexts {
    texts: Vec<Secret>,
    /// The same, made ready once.
    ready: Sensitive,
}

/// A request with its values filled in, still without a destination.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Path and query, unless they are fixed.
    pub(crate) rest: Option<String>,
    method: Method,
    headers: HeaderMap,
    content: FilledBody,
    secret_body: bool,
    limits: SendLimits,
    sensitive: Sensitive,
    bound: Bound,
}

/// Path and query as the user wrote them, taken apart.
pub(crate) struct Written<'w> {
    /// The pieces of the path.
    pub(crate) path: Vec<crate::template::Piece<'w>>,
    /// The pieces of the query inside the URL.
    pub(crate) query: Vec<crate::template::Piece<'w>>,
    /// JSON pointer of the URL or path.
    pub(crate) pointer: String,
}

impl RequestTemplate {
    /// Compiles all of it, noting every fault at once.
    pub(crate) fn compile(
        written: &Written<'_>,
        settings: &RequestSettings<'_>,
        proof: Option<Proof<'_>>,
        compiler: &mut Compiler<'_>,
    ) -> Option<Self> {
        let method = settings.method(compiler.problems);
        let path = PathTemplate::compile(&written.path, &written.pointer, compiler);
        let query = query::compile(written, settings, compiler);
        let headers = Headers::compile(settings, compiler);
        let body = BodyTemplate::compile(settings, method.as_ref(), compiler);
        let credential = Credential::compile(proof.as_ref(), compiler);
        let is_on_behalf = proof.as_ref().is_some_and(|proof| proof.auth.is_on_behalf());
        let limits = settings.limits(compiler.problems);
        let parameters = query.as_deref().unwrap_or_default();
        auth::check_conflicts(proof.as_ref(), settings, parameters, compiler.problems);
        let (path, query, credential) = (path?, query?, credential?);
        let fixed = fixed_rest(&path, &query, credential.as_ref());
        let sensitive = SensitiveTexts::gather(credential.as_ref(), compiler);
        Some(Self {
            method: method?,
            path,
            query,
            headers: headers?,
            body: body?,
            credential: credential.map(Box::new),
            limits,
            sensitive,
            bound: reach::bound(compiler).staying_if(is_on_behalf),
            filled: compiler.filled.clone(),
            fixed,
        })
    }

    /// Path and query, if no template is in them.
    pub(crate) fn fixed(&self) -> Option<&str> {
        self.fixed.as_deref()
    }

    /// Fills the values in.
    pub(crate) fn draft(&self, rendering: &mut Rendering<'_>) -> Result<Draft, CallError> {
        let credential = match &self.credential {
            Some(credential) => credential.render(rendering)?,
            None => None,
        };
        let rest = match &self.fixed {
            Some(_) => None,
            None => Some(self.rest(rendering, credential.as_ref())?),
        };
        let mut headers = self.headers.render(rendering, credential.as_ref())?;
        let revealed = rendering.revealed();
        let content = self.body.render(rendering, &mut headers)?;
        let secret_body = rendering.revealed() > revealed;
        Ok(Draft {
            rest,
            method: self.method.clone(),
            headers,
            content,
            secret_body,
            limits: self.limits,
            sensitive: self.sensitive.with(rendering.derived()),
            bound: self.bound.clone(),
        })
    }

    fn rest(
        &self,
        rendering: &mut Rendering<'_>,
        credential: Option<&auth::Rendered<'_>>,
    ) -> Result<String, CallError> {
        let mut rest = String::with_capacity(96);
        self.path.write(rendering, &mut rest)?;
        let path_length = rest.len();
        write_parameters(&self.query, Some('?'), rendering, &mut rest)?;
        if let Some(credential) = credential {
            credential.write_query(if rest.len() == path_length { '?' } else { '&' }, &mut rest);
        }
        Ok(rest)
    }
}

impl Draft {
    /// The finished request, once the files it links to are there.
    pub(crate) fn into_outgoing(self, uri: http::Uri) -> Outgoing {
        let body = match self.content {
            FilledBody::None | FilledBody::Parts(_) => Bytes::new(),
            FilledBody::Bytes(bytes) => bytes,
        };
        Outgoing {
            method: self.method,
            uri,
            headers: self.headers,
            body,
            secret_body: self.secret_body,
            limits: self.limits,
            sensitive: self.sensitive,
            bound: self.bound,
        }
    }

    /// Fetches linked files and puts the parts of a multipart body together; anything else is ready already.
    pub(crate) async fn assemble(&mut self, client: &crate::outbound::Client) -> Result<(), CallError> {
        let FilledBody::Parts(parts) = &mut self.content else {
            return Ok(());
        };
        let started = tokio::time::Instant::now();
        let parts = std::mem::take(parts);
        let (bytes, content_type) = multipart::assemble(parts, client, self.limits).await?;
        self.headers.insert(CONTENT_TYPE, content_type);
        self.content = FilledBody::Bytes(bytes);
        self.limits.total = self.limits.total.saturating_sub(started.elapsed());
        Ok(())
    }
}

impl SensitiveTexts {
    fn gather(credential: Option<&Credential>, compiler: &Compiler<'_>) -> Self {
        let keys: BTreeSet<&str> = compiler.named_secrets.iter().map(|named| named.key.as_str()).collect();
        let named = keys.into_iter().filter_map(|key| compiler.secrets.find(key)).cloned();
        let mut texts: Vec<_> = named.chain(compiler.derived_secrets.iter().cloned()).collect();
        texts.extend(credential.into_iter().flat_map(|credential| credential.fixed_texts(compiler.secrets)));
        texts.retain(|text| !text.reveal().is_empty());
        let ready = Sensitive::of(texts.iter().map(Secret::reveal));
        Self { texts, ready }
    }

    fn with(&self, derived: &[String]) -> Sensitive {
        if derived.is_empty() {
            return self.ready.clone();
        }
        let texts = self.texts.iter().map(Secret::reveal);
        Sensitive::of(texts.chain(derived.iter().map(String::as_str).filter(|text| !text.is_empty())))
    }
}

/// The arguments that the templates of the request and of the answer use, and whether they may use others too.
pub(crate) fn arguments_of(
    compiler: Compiler<'_>,
    answer: Option<&AnswerMapping>,
) -> (Vec<ArgumentUse>, bool) {
    let (mut arguments, mut all) = (compiler.arguments, compiler.all_arguments);
    if let Some(answer) = answer {
        let (named, takes_all) = answer.arguments();
        arguments.extend(named);
        all |= takes_all;
    }
    (arguments, all)
}

fn fixed_rest(path: &PathTemplate, query: &[Parameter], credential: Option<&Credential>) -> Option<String> {
    let fixed = path.is_fixed()
        && query.iter().all(|parameter| matches!(parameter, Parameter::Literal(_)))
        && !credential.is_some_and(Credential::goes_into_query);
    if !fixed {
        return None;
    }
    let (arguments, secrets) = (Map::new(), Secrets::default());
    let mut rendering = Rendering::to_send(&arguments, &secrets);
    let mut rest = String::new();
    path.write(&mut rendering, &mut rest).ok()?;
    write_parameters(query, Some('?'), &mut rendering, &mut rest).ok()?;
    Some(rest)
}

/// A header value that is known to be allowed; an empty one cannot be reached.
fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_bytes(text.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Notes an error unless the value has one of the types that may stand where one value goes.
fn scalar_text(value: &serde_json::Value, pointer: &str, problems: &mut Problems) -> Option<String> {
    use serde_json::Value;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null => {
            problems.error(pointer, "null has no effect here; remove it or give a value");
            None
        }
        Value::Array(_) | Value::Object(_) => {
            problems
                .error(pointer, "must be a text, a number or a boolean; to send JSON, write it as a text");
            None
        }
    }
}
