//! Work that may take longer than a millisecond runs here, on threads beside the runtime's, so that no other call waits for
//! it. There are few of them: who comes later waits, until his own time limit ends that, or the longest wait of all.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

use crate::meter::Stop;

/// Small enough to be gone through between other calls.
pub(crate) const MOST_INLINE: usize = 64 << 10;

static PLACES: LazyLock<Semaphore> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Semaphore::new(processors.max(2))
});

/// The longest anybody waits for a place, with a time limit of his own or without.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// The thread ended without one.
    Lost,
    /// No place became free.
    Busy,
}

/// Runs `work` beside the runtime. It is given a stop sign, which is set as soon as nobody waits for the result any more.
pub(crate) async fn offload<T: Send + 'static>(
    work: impl FnOnce(Stop) -> T + Send + 'static,
) -> Result<T, Unfinished> {
    let turn = tokio::time::timeout(LONGEST_WAIT, PLACES.acquire());
    let place = turn.await.map_err(|_| Unfinished::Busy)?.map_err(|_| Unfinished::Lost)?;
    let stop = StopOnDrop(Stop::default());
    let given = stop.0.clone();
    let done = tokio::task::spawn_blocking(move || {
        let _place = place;
        work(given)
    });
    done.await.map_err(|_| Unfinished::Lost)
}

/// Runs `work` over so many bytes, which it borrows, here; if they are many, other calls are moved away meanwhile.
pub(crate) fn in_place<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let is_moved = bytes > MOST_INLINE
        && Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if is_moved { tokio::task::block_in_place(work) } else { work() }
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{Allowance, Meter, Spent};

    #[tokio::test]
    async fn whoever_waits_for_a_place_waits_no_longer_than_it_likes() {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let released = std::sync::Arc::new(std::sync::Mutex::new(released));
        let places = PLACES.available_permits();
        let busy: Vec<_> = (0..places)
            .map(|_| {
                let released = std::sync::Arc::clone(&released);
                tokio::spawn(offload(move |_| released.lock().unwrap().recv().is_err()))
            })
            .collect();
        while PLACES.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let waiting = offload(|_| ());
        assert!(tokio::time::timeout(Duration::from_millis(20), waiting).await.is_err());
        tokio::time::pause();
        let (without_limit, ()) = tokio::join!(offload(|_| ()), tokio::time::advance(LONGEST_WAIT * 2));
        assert!(matches!(without_limit, Err(Unfinished::Busy)), "nor longer than anybody does");
        tokio::time::resume();
        drop(release);
        for one in busy {
            assert!(one.await.unwrap().unwrap());
        }
        offload(|_| ()).await.unwrap();
        assert_eq!(PLACES.available_permits(), places, "no place is lost by waiting for it");
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_is_told_to_stop() {
        let (sender, ended) = tokio::sync::oneshot::channel();
        let endless = offload(move |stop| {
            let mut meter = Meter::stopped_by(Allowance { work: u64::MAX, bytes: 0 }, stop);
            let _ = sender.send(std::iter::repeat_with(|| meter.spend(1)).find_map(Result::err));
        });
        assert!(tokio::time::timeout(Duration::from_millis(1), endless).await.is_err());
        assert_eq!(ended.await.unwrap(), Some(Spent::Time));
    }
}
