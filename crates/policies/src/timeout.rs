//! `policy.timeoutMs`: the most time one call may take in all, whatever its kind does within it.

use std::sync::Arc;
use std::time::Duration;

use toolrail_core::{Call, CallError, ErrorCode, Executor, Outcome, Preview, async_trait};

/// Ends a call that takes too long; dropping it cancels it up to the upstream.
pub(crate) struct Timeout {
    limit: Duration,
    inner: Arc<dyn Executor>,
}

impl Timeout {
    pub(crate) fn new(milliseconds: u64, inner: Arc<dyn Executor>) -> Self {
        Self { limit: Duration::from_millis(milliseconds), inner }
    }
}

#[async_trait]
impl Executor for Timeout {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        tokio::time::timeout(self.limit, self.inner.execute(call)).await.unwrap_or_else(|_| {
            let message = format!(
                "{} did not finish within {} ms (policy.timeoutMs); try again, or raise the limit",
                call.tool,
                self.limit.as_millis()
            );
            Err(CallError::new(ErrorCode::Timeout, message))
        })
    }

    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        self.inner.preview(call)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use toolrail_core::{Mute, Principal, ToolName};

    use super::*;

    struct Endless;

    #[async_trait]
    impl Executor for Endless {
        async fn execute(&self, _: &Call<'_>) -> Outcome {
            std::future::pending().await
        }

        fn preview(&self, _: &Call<'_>) -> Result<Preview, CallError> {
            Err(CallError::new(ErrorCode::Internal, "has no preview"))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_does_not_end_is_ended_by_the_limit() {
        let (tool, arguments) = (ToolName::parse("t").unwrap(), Map::new());
        let call = Call {
            tool: tool.as_str(),
            arguments: &arguments,
            raw: None,
            principal: &Principal::Anonymous,
            caller: &Mute,
        };
        let error = Timeout::new(50, Arc::new(Endless)).execute(&call).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Timeout);
        assert!(error.message.contains("50 ms"), "{}", error.message);
    }
}
