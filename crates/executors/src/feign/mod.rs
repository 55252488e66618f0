//! Kind `feign`: a request to a service with one base URL or several instances. The request itself is built as in `http`.

mod instances;
mod settings;

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;
use toolrail_core::{
    Auth, Call, CallError, Compiled, Definition, ErrorCode, Executor, Kind, Made, Outcome, Preview, Problems,
    async_trait,
};

use crate::answer::AnswerMapping;
use crate::offload::in_place;
use crate::outbound::{Incoming, Outgoing};
use crate::request::{
    Base, OnBehalf, Proof, RequestTemplate, Target, Written, arguments_of, publish, reach, shown, split_path,
    told_without_token,
};
use crate::runtime::Runtime;
use crate::service::Shared;
use crate::template::{Braces, Compiler, Rendering, scan};
use instances::{Instance, Instances};
use settings::FeignSettings;

/// The kind `feign`.
#[derive(Debug)]
pub(crate) struct Feign {
    runtime: Runtime,
}

impl Feign {
    /// The kind, running its calls with `runtime`.
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime }
    }
}

impl Kind for Feign {
    const NAME: &'static str = "feign";
    const UNAPPLIED: &'static [&'static str] = &["retry", "circuitBreaker", "rateLimit"];
    type Settings = FeignSettings;

    fn publish(schema: &mut Value) {
        publish(schema);
    }

    fn compile(
        &self,
        settings: FeignSettings,
        definition: &Definition,
        problems: &mut Problems,
    ) -> Option<Compiled> {
        let answer = AnswerMapping::compile(&definition.response_mapping, problems);
        let mut compiler = Compiler::of(definition, problems, &self.runtime);
        let service = settings.shared(&compiler);
        let bases = compile_bases(&settings, service, &mut compiler);
        let written = written_path(settings.path.as_deref().unwrap_or_default(), &mut compiler);
        let proof = Proof::of(definition).or_else(|| service.and_then(Shared::proof));
        let lacking = proof.as_ref().and_then(Proof::unapplied);
        let request = written.and_then(|written| {
            let settings = settings.request("feign", service);
            RequestTemplate::compile(&written, &settings, proof.clone(), &mut compiler)
        });
        let on_behalf =
            OnBehalf::compile(proof.as_ref(), bases.as_deref().unwrap_or_default(), &mut compiler);
        reach::check(bases.as_deref().unwrap_or_default(), &mut compiler);
        compiler.settle_service("/feign/service");
        let needs = compiler.needs();
        let (arguments, uses_other_arguments) = arguments_of(compiler, answer.as_ref());
        let request = request?;
        let targets = bases?.into_iter().map(|base| Target::new(base, request.fixed())).collect();
        let executor = FeignExecutor {
            runtime: self.runtime.clone(),
            request,
            instances: Instances::new(targets),
            service: settings.service,
            answer: answer?,
            lacking,
            on_behalf,
        };
        Some(Compiled { made: Made::Tool(Arc::new(executor)), arguments, uses_other_arguments, needs })
    }
}

const PATH: &str = "/feign/path";

fn written_path<'p>(path: &'p str, compiler: &mut Compiler<'_>) -> Option<Written<'p>> {
    let pieces = match scan(path, Braces::Single) {
        Ok(pieces) => pieces,
        Err(fault) => {
            compiler.problems.error(PATH, fault);
            return None;
        }
    };
    if path.contains("://") && !path.starts_with('/') {
        compiler
            .problems
            .error(PATH, "is a whole URL; put scheme, host and port into baseUrl, and only the rest here");
        return None;
    }
    let split = split_path(&pieces);
    if split.fragment {
        compiler
            .problems
            .error(PATH, "what follows # is never sent; remove it, or write %23 for the character itself");
    }
    Some(Written { path: split.path, query: split.query, pointer: PATH.to_owned() })
}

fn compile_bases(
    settings: &FeignSettings,
    service: Option<&Shared>,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<Base>> {
    if let Some(service) = service {
        return service.base(compiler).map(|base| vec![base]);
    }
    match (&settings.base_url, &settings.instances) {
        (Some(url), None) => Base::compile_text(url, "/feign/baseUrl", compiler).map(|base| vec![base]),
        (None, Some(urls)) => {
            if urls.is_empty() {
                compiler
                    .problems
                    .error("/feign/instances", "is empty; list the base URL of one instance at least");
                return None;
            }
            let bases: Vec<_> = urls
                .iter()
                .enumerate()
                .map(|(index, url)| Base::compile_text(url, &format!("/feign/instances/{index}"), compiler))
                .collect();
            bases.into_iter().collect()
        }
        (Some(_), Some(_)) => {
            compiler.problems.error("/feign/instances", "there is baseUrl too; keep one of them");
            None
        }
        (None, None) => {
            let (pointer, words) = match &settings.service {
                Some(service) => (
                    "/feign/service",
                    format!(
                        "{}; or list the base URLs of its instances in instances",
                        compiler.services.find(service).err().unwrap_or_default()
                    ),
                ),
                None => ("/feign", "needs baseUrl, or service with instances; add it".to_owned()),
            };
            compiler.problems.error(pointer, words);
            None
        }
    }
}

struct FeignExecutor {
    runtime: Runtime,
    request: RequestTemplate,
    instances: Instances,
    service: Option<String>,
    answer: AnswerMapping,
    /// How it proves itself, where that is not applied yet.
    lacking: Option<Auth>,
    /// In whose name it is made, if in that of whoever calls.
    on_behalf: Option<OnBehalf>,
}

#[async_trait]
impl Executor for FeignExecutor {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        let bearer = OnBehalf::token(self.on_behalf.as_ref(), call, &self.runtime).await?;
        let bytes = call.raw.map_or(0, |raw| raw.get().len());
        let (mut draft, targets) = in_place(bytes, || {
            let mut rendering = Rendering::to_send(call.arguments, &self.runtime.secrets).bearing(bearer);
            let draft = self.request.draft(&mut rendering)?;
            let rest = draft.rest.as_deref().or(self.request.fixed()).unwrap_or_default();
            let targets: Result<Vec<_>, CallError> = self
                .instances
                .in_turn()
                .map(|instance| Ok((instance, instance.target.uri(rest, &mut rendering)?)))
                .collect();
            Ok::<_, CallError>((draft, targets?))
        })?;
        draft.assemble(&self.runtime.client).await?;
        let incoming = self.send(draft.into_outgoing(http::Uri::default()), targets).await?;
        let status = incoming.status;
        told_without_token(self.lacking.as_ref(), status, self.answer.outcome(incoming, call.arguments).await)
    }

    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        let Some(instance) = self.instances.first() else {
            return Err(no_instance());
        };
        let mut preview = shown(&self.request, &instance.target, call.arguments, &self.runtime)?;
        if let (Some(service), Some(request)) = (&self.service, preview.request.as_object_mut()) {
            request.shift_insert(0, "service".into(), service.as_str().into());
        }
        if self.instances.count() > 1 {
            preview.notes.push(format!(
                "calls go to {} instances in turn; the first is shown",
                self.instances.count()
            ));
        }
        Ok(preview)
    }
}

impl FeignExecutor {
    /// Sends to the first instance that can be reached. Another is tried only while nothing can have arrived.
    async fn send(
        &self,
        request: Outgoing,
        targets: Vec<(&Instance, http::Uri)>,
    ) -> Result<Incoming, CallError> {
        let deadline = Instant::now() + request.limits.total;
        let last = targets.len().saturating_sub(1);
        let mut request = Some(request);
        for (index, (instance, uri)) in targets.into_iter().enumerate() {
            let Some(mut outgoing) = (if index == last { request.take() } else { request.clone() }) else {
                break;
            };
            outgoing.uri = uri;
            outgoing.limits.total = deadline.saturating_duration_since(Instant::now());
            outgoing.limits.connect = outgoing.limits.connect.min(outgoing.limits.total);
            match self.runtime.client.send(outgoing).await {
                Ok(incoming) => {
                    Instances::reached(instance);
                    return Ok(incoming);
                }
                Err(failure) if failure.connected => {
                    Instances::reached(instance);
                    return Err(failure.error);
                }
                Err(failure) => {
                    self.instances.unreachable(instance);
                    tracing::warn!(
                        service = self.service.as_deref(),
                        instance = instance.target.name(),
                        "instance could not be reached"
                    );
                    if index == last || Instant::now() >= deadline {
                        return Err(self.none_reached(failure.error));
                    }
                }
            }
        }
        Err(no_instance())
    }

    fn none_reached(&self, last: CallError) -> CallError {
        if self.instances.count() == 1 {
            return last;
        }
        let service =
            self.service.as_ref().map_or_else(String::new, |service| format!(" of the service {service:?}"));
        CallError::new(
            last.code,
            format!(
                "none of the {} instances{service} could be reached; the last one: {}",
                self.instances.count(),
                last.message
            ),
        )
    }
}

fn no_instance() -> CallError {
    CallError::new(ErrorCode::Internal, "the tool has no instance left; this is a fault of Toolrail")
}
