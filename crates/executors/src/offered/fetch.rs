//! Content that is fetched by HTTP when it is asked for.

use std::time::Duration;

use toolrail_core::{Call, CallError, Definition, ErrorCode, Preview, ToolResult};

use super::as_fault_of_request;
use crate::http::{CompiledExchange, HttpBlock};
use crate::runtime::Runtime;
use crate::template::Compiler;

/// A request, and how long it may take.
#[derive(Debug)]
pub(crate) struct Fetch {
    runtime: Runtime,
    exchange: CompiledExchange,
    /// `policy.timeoutMs`, which the registry applies to tools only.
    limit: Option<Duration>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// The answer, mapped.
    pub(crate) result: ToolResult,
    /// The media type that the answer declared, unless it was mapped to something else.
    pub(crate) media_type: Option<String>,
}

impl Fetch {
    /// Compiles the block, noting every fault, and names the arguments that its mapping uses to `compiler`.
    pub(crate) fn compile(
        block: &HttpBlock<'_>,
        definition: &Definition,
        runtime: &Runtime,
        compiler: &mut Compiler<'_>,
    ) -> Option<Self> {
        let exchange = CompiledExchange::compile(block, definition, compiler)?;
        compiler.arguments.extend(exchange.answer().arguments().0);
        let limit = definition.policy.timeout_ms.map(Duration::from_millis);
        Some(Self { runtime: runtime.clone(), exchange, limit })
    }

    /// Sends the request. An upstream that has nothing there (404, 410) is a failure of the sort `missing`.
    pub(crate) async fn run(&self, call: &Call<'_>, missing: ErrorCode) -> Result<Fetched, CallError> {
        let fetched = match self.limit {
            None => self.exchanged(call, missing).await,
            Some(limit) => tokio::time::timeout(limit, self.exchanged(call, missing)).await.unwrap_or_else(|_| {
                let milliseconds = limit.as_millis();
                let message = format!(
                    "{} did not finish within {milliseconds} ms (policy.timeoutMs); try again, or raise the limit",
                    call.tool,
                );
                Err(CallError::new(ErrorCode::Timeout, message))
            }),
        };
        fetched.map_err(as_fault_of_request)
    }

    async fn exchanged(&self, call: &Call<'_>, missing: ErrorCode) -> Result<Fetched, CallError> {
        let incoming = self.exchange.send(call, &self.runtime).await?;
        let (answer, status) = (self.exchange.answer(), incoming.status.as_u16());
        let media_type = answer.media_type(&incoming);
        match answer.outcome(incoming, call.arguments).await {
            Ok(result) => Ok(Fetched { result, media_type }),
            Err(error) if matches!(status, 404 | 410) => Err(CallError { code: missing, ..error }),
            Err(error) => Err(error),
        }
    }

    /// What `run` would send.
    pub(crate) fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        self.exchange.preview(call, &self.runtime)
    }
}
