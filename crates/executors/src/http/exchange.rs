//! One HTTP request to a URL, and what becomes of its answer, compiled: for every kind that has a block `http`.

use toolrail_core::{Auth, Call, CallError, Definition, Outcome, Preview};

use super::settings::HttpSettings;
use crate::answer::AnswerMapping;
use crate::offload::in_place;
use crate::outbound::Incoming;
use crate::request::{
    Base, OnBehalf, Proof, RequestTemplate, SplitUrl, Target, Written, reach, shown, split_path, split_url,
    told_without_token,
};
use crate::runtime::Runtime;
use crate::service::Shared;
use crate::template::{Braces, Compiler, Piece, Rendering, scan};

/// A compiled exchange.
#[derive(Debug)]
pub(crate) struct CompiledExchange {
    request: RequestTemplate,
    target: Target,
    answer: AnswerMapping,
    /// How it proves itself, where that is not applied yet.
    lacking: Option<Auth>,
    /// In whose name it is made, if in that of whoever calls.
    on_behalf: Option<OnBehalf>,
}

/// The block `http`, and where it stands.
#[derive(Debug)]
pub(crate) struct HttpBlock<'b> {
    /// What the block says.
    pub(crate) settings: &'b HttpSettings,
    /// Its JSON pointer without the slash at the start, such as `resource/http`.
    pub(crate) place: &'static str,
}

impl CompiledExchange {
    /// Compiles the block, with the `auth` and `responseMapping` of its definition, noting every fault.
    pub(crate) fn compile(
        block: &HttpBlock<'_>,
        definition: &Definition,
        compiler: &mut Compiler<'_>,
    ) -> Option<Self> {
        let exchange = Self::compile_parts(block, definition, compiler);
        compiler.settle_service(&format!("/{}/service", block.place));
        exchange
    }

    fn compile_parts(
        block: &HttpBlock<'_>,
        definition: &Definition,
        compiler: &mut Compiler<'_>,
    ) -> Option<Self> {
        let HttpBlock { settings, place } = *block;
        let answer = AnswerMapping::compile(&definition.response_mapping, compiler.problems);
        let (service, url) = service_and_url(block, compiler);
        let pointer = format!("/{place}/url");
        let pieces = url.and_then(|url| Some((url, scan_url(url, &pointer, compiler)?)));
        let (base, split) = match (service, pieces.as_ref().map(|(url, pieces)| (*url, pieces.as_slice()))) {
            (_, None) => (None, SplitUrl::default()),
            (None, Some((url, pieces))) => {
                let split = split_url(pieces);
                (Base::compile(&split.base, url, &pointer, compiler), split)
            }
            (Some(service), Some((url, pieces))) => {
                let is_path = path_only(url, &pointer, compiler);
                (is_path.and_then(|()| service.base(compiler)), split_path(pieces))
            }
        };
        if split.fragment {
            compiler.problems.error(
                &pointer,
                "what follows # is never sent; remove it, or write %23 for the character itself",
            );
        }
        let written = Written { path: split.path, query: split.query, pointer };
        let proof = Proof::of(definition).or_else(|| service.and_then(Shared::proof));
        let lacking = proof.as_ref().and_then(Proof::unapplied);
        let settings = settings.request(place, service);
        let request = RequestTemplate::compile(&written, &settings, proof.clone(), compiler);
        let on_behalf = OnBehalf::compile(proof.as_ref(), base.as_slice(), compiler);
        reach::check(base.as_slice(), compiler);
        let (request, base) = (request?, base?);
        let target = Target::new(base, request.fixed());
        Some(Self { request, target, answer: answer?, lacking, on_behalf })
    }

    /// What becomes of the answer.
    pub(crate) fn answer(&self) -> &AnswerMapping {
        &self.answer
    }

    /// Sends the request of a call.
    pub(crate) async fn send(&self, call: &Call<'_>, runtime: &Runtime) -> Result<Incoming, CallError> {
        let bearer = OnBehalf::token(self.on_behalf.as_ref(), call, runtime).await?;
        let bytes = call.raw.map_or(0, |raw| raw.get().len());
        let (mut draft, uri) = in_place(bytes, || {
            let mut rendering = Rendering::to_send(call.arguments, &runtime.secrets).bearing(bearer);
            let draft = self.request.draft(&mut rendering)?;
            let rest = draft.rest.as_deref().or(self.request.fixed()).unwrap_or_default();
            let uri = self.target.uri(rest, &mut rendering)?;
            Ok::<_, CallError>((draft, uri))
        })?;
        draft.assemble(&runtime.client).await?;
        Ok(runtime.client.send(draft.into_outgoing(uri)).await?)
    }

    /// Sends the request of a call and reads the answer.
    pub(crate) async fn outcome(&self, call: &Call<'_>, runtime: &Runtime) -> Outcome {
        let incoming = self.send(call, runtime).await?;
        let status = incoming.status;
        told_without_token(self.lacking.as_ref(), status, self.answer.outcome(incoming, call.arguments).await)
    }

    /// What `send` would send.
    pub(crate) fn preview(&self, call: &Call<'_>, runtime: &Runtime) -> Result<Preview, CallError> {
        shown(&self.request, &self.target, call.arguments, runtime)
    }
}

/// The service and the URL; notes what is missing of them, and leaves the rest of the block to be looked at.
fn service_and_url<'b, 'c>(
    block: &HttpBlock<'b>,
    compiler: &mut Compiler<'c>,
) -> (Option<&'c Shared>, Option<&'b str>) {
    let HttpBlock { settings, place } = *block;
    let services = compiler.services;
    match settings.service.as_deref().map(|name| services.find(name)).transpose() {
        Err(fault) => {
            compiler.problems.error(format!("/{place}/service"), fault);
            (None, None)
        }
        Ok(service) => {
            let url = settings.url.as_deref().or(service.map(|_| ""));
            if url.is_none() {
                compiler.problems.error(format!("/{place}"), "the field \"url\" is missing; add it");
            }
            (service, url)
        }
    }
}

/// Notes it unless the text is a path, as it must be where a service has the address.
fn path_only(url: &str, pointer: &str, compiler: &mut Compiler<'_>) -> Option<()> {
    if url.is_empty() || url.starts_with(['/', '?', '#']) {
        return Some(());
    }
    compiler.problems.error(
        pointer,
        "is no path, which it must be with service, which has the address; begin it with /, or remove service",
    );
    None
}

fn scan_url<'u>(url: &'u str, pointer: &str, compiler: &mut Compiler<'_>) -> Option<Vec<Piece<'u>>> {
    let pieces = match scan(url, Braces::Double) {
        Ok(pieces) => pieces,
        Err(fault) => {
            compiler.problems.error(pointer, fault);
            return None;
        }
    };
    let braces = pieces.iter().find_map(|piece| match piece {
        Piece::Literal(text) => text.find('{').map(|open| &text[open + 1..]),
        Piece::Expression(_) | Piece::Argument(_) => None,
    });
    if let Some(inside) = braces {
        let name = inside.split('}').next().unwrap_or_default();
        compiler
            .problems
            .error(pointer, format!(
                "{{{name}}} is not a template here; write {{{{args.{name}}}}} for an argument, or {{{{vars.{name}}}}}"
            ));
        return None;
    }
    Some(pieces)
}
