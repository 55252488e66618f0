//! Kind `http`: one HTTP request to a URL.

mod settings;

use std::sync::Arc;

use serde_json::Value;
use toolrail_core::{
    Call, CallError, Compiled, Definition, Executor, Kind, Made, Outcome, Preview, Problems, async_trait,
};

use crate::answer::Answer;
use crate::kinds::Runtime;
use crate::request::{Base, Request, Target, Written, arguments_of, publish, shown, split_url};
use crate::template::{Braces, Compiler, Piece, Rendering, scan};
use settings::HttpSettings;

/// The kind `http`.
#[derive(Debug)]
pub(crate) struct Http {
    runtime: Runtime,
}

impl Http {
    /// The kind, running its calls with `runtime`.
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime }
    }
}

impl Kind for Http {
    const NAME: &'static str = "http";
    const NOT_YET: &'static [&'static str] = &["retry", "circuitBreaker", "rateLimit"];
    type Settings = HttpSettings;

    fn publish(schema: &mut Value) {
        publish(schema);
    }

    fn compile(
        &self,
        settings: HttpSettings,
        definition: &Definition,
        problems: &mut Problems,
    ) -> Option<Compiled> {
        let answer = Answer::compile(&definition.response_mapping, problems);
        let mut compiler = Compiler::of(definition, problems, &self.runtime.secrets);
        let pieces = scan_url(&settings.url, &mut compiler);
        let split = split_url(pieces.as_deref().unwrap_or_default());
        let base =
            pieces.is_some().then(|| Base::compile(&split.base, &settings.url, URL, &mut compiler)).flatten();
        if split.fragment {
            compiler
                .problems
                .error(URL, "what follows # is never sent; remove it, or write %23 for the character itself");
        }
        let written = Written { path: split.path, query: split.query, pointer: URL.to_owned() };
        let request = Request::compile(&written, &settings.request(), &definition.auth, &mut compiler);
        let (arguments, uses_other_arguments) = arguments_of(compiler, answer.as_ref());
        let (request, base) = (request?, base?);
        let target = Target::new(base, request.fixed());
        let executor = HttpExecutor { runtime: self.runtime.clone(), request, target, answer: answer? };
        Some(Compiled { made: Made::Tool(Arc::new(executor)), arguments, uses_other_arguments })
    }
}

const URL: &str = "/http/url";

fn scan_url<'u>(url: &'u str, compiler: &mut Compiler<'_>) -> Option<Vec<Piece<'u>>> {
    let pieces = match scan(url, Braces::Double) {
        Ok(pieces) => pieces,
        Err(fault) => {
            compiler.problems.error(URL, fault);
            return None;
        }
    };
    let braces = pieces.iter().find_map(|piece| match piece {
        Piece::Literal(text) => text.find('{').map(|open| &text[open + 1..]),
        Piece::Expression(_) | Piece::Argument(_) => None,
    });
    if let Some(inside) = braces {
        let name = inside.split('}').next().unwrap_or_default();
        compiler.problems.error(URL, format!("{{{name}}} is not a template here; write {{{{args.{name}}}}}"));
        return None;
    }
    Some(pieces)
}

struct HttpExecutor {
    runtime: Runtime,
    request: Request,
    target: Target,
    answer: Answer,
}

#[async_trait]
impl Executor for HttpExecutor {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        let (mut draft, uri) = {
            let mut rendering = Rendering::to_send(call.arguments, &self.runtime.secrets);
            let draft = self.request.draft(&mut rendering)?;
            let uri = self
                .target
                .uri(draft.rest.as_deref().or(self.request.fixed()).unwrap_or_default(), &mut rendering)?;
            (draft, uri)
        };
        draft.assemble(&self.runtime.client).await?;
        let incoming = self.runtime.client.send(draft.into_outgoing(uri)).await?;
        self.answer.outcome(incoming, call.arguments).await
    }

    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        shown(&self.request, &self.target, call.arguments, &self.runtime.secrets)
    }
}
