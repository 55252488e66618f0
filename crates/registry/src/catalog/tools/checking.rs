//! Checks arguments and results by their schema: on the spot where that takes little, and otherwise away from the threads
//! that serve everybody, a few at a time.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Semaphore;
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

/// Does work that may take long where nobody waits for the thread.
pub(crate) async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CallError> {
    let failed =
        || CallError::new(ErrorCode::Internal, "checking a value failed; tell whoever runs the gateway");
    let busy = || {
        CallError::new(
            ErrorCode::Overloaded,
            "the gateway is busy checking other calls; try again in a while",
        )
    };
    let turn = tokio::time::timeout(LONGEST_WAIT, PLACES.acquire());
    let place = turn.await.map_err(|_| busy())?.map_err(|_| failed())?;
    let done = tokio::task::spawn_blocking(move || {
        // Kept until the work is done, also when nobody waits for it any more.
        let _place = place;
        work()
    });
    done.await.map_err(|_| failed())
}
