//! Checks arguments and results by their schema: on the spot where that takes little, and otherwise away from the threads
//! that serve everybody, a few at a time.

use std::sync::{Arc, LazyLock};

use serde_json::Value;
use tokio::sync::Semaphore;
use toolrail_core::{CallError, Effort, ErrorCode, Misfit, Overrun, Validator};

/// Longer JSON is read and checked elsewhere.
pub(crate) const LARGE: usize = 64 * 1024;

/// What may be under way elsewhere at the same time: more would not be faster, and take more memory.
static PLACES: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(2, usize::from).max(2)));

/// Gives `value`, which takes that many bytes as JSON, back if it fits.
pub(crate) async fn check(
    validator: &Arc<Validator>,
    value: Value,
    bytes: usize,
) -> Result<Value, CheckRefusal> {
    if bytes <= LARGE {
        match validator.check(&value, Effort::Brief) {
            Ok(()) => return Ok(value),
            Err(Misfit::Overrun(Overrun::Steps | Overrun::Time)) => {}
            Err(misfit) => return Err(CheckRefusal::Misfit(misfit)),
        }
    }
    let validator = Arc::clone(validator);
    // In a box: calls that take little should not have to carry the room for this.
    let checked = Box::pin(elsewhere(move || {
        validator.check(&value, Effort::Thorough(bytes)).map(|()| value).map_err(CheckRefusal::Misfit)
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
    let place = PLACES.acquire().await.map_err(|_| failed())?;
    let done = tokio::task::spawn_blocking(move || {
        // Kept until the work is done, also when nobody waits for it any more.
        let _place = place;
        work()
    });
    done.await.map_err(|_| failed())
}
