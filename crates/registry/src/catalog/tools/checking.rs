//! Checks arguments and results by their schema: on the spot where that takes little, and otherwise away from the threads
//! that serve everybody, a few at a time.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};
use toolrail_core::{CallError, Effort, ErrorCode, Misfit, Validator};

/// Longer JSON is read and checked elsewhere.
pub(crate) const LARGE: usize = 64 * 1024;

/// What may be under way elsewhere at the same time: more would not be faster, and take more memory.
static PLACES: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(2, usize::from).max(2)));

/// The longest anybody waits for a place, with a time limit of his own or without.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// When a call must have come to its end, if it has a limit of time.
#[derive(Clone, Copy)]
pub(crate) struct CallEnd(pub(crate) Option<Instant>);

impl CallEnd {
    /// What a check may take: a little less than what is left, so that its words come before those of the limit, which say
    /// less.
    fn left_for_check(self) -> Duration {
        let left = |end: Instant| end.saturating_duration_since(Instant::now()) * 9 / 10;
        self.0.map_or(Duration::MAX, left)
    }
}

/// Gives `value`, which takes that many bytes as JSON, back if it fits.
pub(crate) async fn check(
    validator: &Arc<Validator>,
    (value, bytes): (Value, usize),
    end: CallEnd,
) -> Result<Value, CheckRefusal> {
    if bytes <= LARGE {
        match validator.check(&value, Effort::Brief) {
            Ok(()) => return Ok(value),
            Err(Misfit::Overrun(unchecked)) if unchecked.overrun.is_of_budget() => {}
            Err(misfit) => return Err(CheckRefusal::Misfit(misfit)),
        }
    }
    let validator = Arc::clone(validator);
    // In a box: calls that take little should not have to carry the room for this.
    let checked = Box::pin(elsewhere(move || {
        let checked = validator.check_within(&value, bytes, end.left_for_check());
        checked.map(|()| value).map_err(CheckRefusal::Misfit)
    }));
    checked.await.unwrap_or_else(|error| Err(CheckRefusal::Failed(error)))
}

/// Why a value was not given back.
pub(crate) enum CheckRefusal {
    Misfit(Misfit),
    /// The check itself failed.
    Failed(CallError),
}

/// Does work with what somebody else holds; if that is large, while nobody waits for the thread, a few at a time.
pub(crate) async fn aside<T>(bytes: usize, work: impl FnOnce() -> T) -> Result<T, CallError> {
    let has_others = || Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    if bytes <= LARGE || !has_others() {
        return Ok(work());
    }
    let _place = place().await?;
    Ok(tokio::task::block_in_place(work))
}

/// A place to work at.
async fn place() -> Result<SemaphorePermit<'static>, CallError> {
    let busy = || {
        CallError::new(
            ErrorCode::Overloaded,
            "the gateway is busy checking other calls; try again in a while",
        )
    };
    let turn = tokio::time::timeout(LONGEST_WAIT, PLACES.acquire());
    turn.await.map_err(|_| busy())?.map_err(|_| failed())
}

fn failed() -> CallError {
    CallError::new(ErrorCode::Internal, "checking a value failed; tell whoever runs the gateway")
}

/// Does work that may take long where nobody waits for the thread.
pub(crate) async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CallError> {
    let place = place().await?;
    let done = tokio::task::spawn_blocking(move || {
        // Kept until the work is done, also when nobody waits for it any more.
        let _place = place;
        work()
    });
    done.await.map_err(|_| failed())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With one thread that serves everybody, what waits for another task would wait for ever on it.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_is_large_holds_up_nobody() {
        let asked = tokio::spawn(async {
            let (sender, receiver) = std::sync::mpsc::channel();
            let other = tokio::spawn(async move { sender.send(7).unwrap() });
            let waited = aside(LARGE + 1, move || receiver.recv_timeout(Duration::from_mins(1))).await;
            other.await.unwrap();
            waited
        });
        assert_eq!(asked.await.unwrap().unwrap(), Ok(7));
    }

    #[tokio::test]
    async fn where_there_is_one_thread_it_does_the_work() {
        assert_eq!(aside(LARGE + 1, || 7).await.unwrap(), 7);
    }
}
