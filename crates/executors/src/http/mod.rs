//! Kind `http`: one HTTP request to a URL. `exchange` is that request, which other kinds can have too.

mod exchange;
mod settings;

use std::sync::Arc;

use serde_json::Value;
use toolrail_core::{
    Call, CallError, Compiled, Definition, Executor, Kind, Made, Outcome, Preview, Problems, async_trait,
};

use crate::request::{arguments_of, publish};
use crate::runtime::Runtime;
use crate::template::Compiler;

pub(crate) use exchange::{CompiledExchange, HttpBlock};
pub(crate) use settings::HttpSettings;

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
    const UNAPPLIED: &'static [&'static str] = &["retry", "circuitBreaker", "rateLimit"];
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
        let mut compiler = Compiler::of(definition, problems, &self.runtime);
        let block = HttpBlock { settings: &settings, place: Self::NAME };
        let exchange = CompiledExchange::compile(&block, definition, &mut compiler)?;
        let needs = compiler.needs();
        let (arguments, uses_other_arguments) = arguments_of(compiler, Some(exchange.answer()));
        let executor = HttpExecutor { runtime: self.runtime.clone(), exchange };
        Some(Compiled { made: Made::Tool(Arc::new(executor)), arguments, uses_other_arguments, needs })
    }
}

struct HttpExecutor {
    runtime: Runtime,
    exchange: CompiledExchange,
}

#[async_trait]
impl Executor for HttpExecutor {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        self.exchange.outcome(call, &self.runtime).await
    }

    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        self.exchange.preview(call, &self.runtime)
    }
}
