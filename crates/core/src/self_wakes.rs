//! Futures that run within one task and wake one another. To the runtime each of those wakes is news: it puts the task at the
//! end of its queue and rouses another thread to take it, which costs more than what there is to do. Here they only have the
//! futures polled again at once.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// How often futures are polled in a row before everybody else has a turn.
const MOST_IN_A_ROW: usize = 8;

/// Nobody polls: whoever wakes must wake the task.
const AT_REST: u8 = 0;
/// Being polled.
const POLLED: u8 = 1;
/// Woken, and so to be polled again.
const WOKEN: u8 = 2;

/// What futures of one task are woken by.
pub struct SelfWakes {
    shared: Arc<Shared>,
    waker: Waker,
}

struct Shared {
    state: AtomicU8,
    task: Mutex<Waker>,
}

impl Default for SelfWakes {
    fn default() -> Self {
        let shared =
            Arc::new(Shared { state: AtomicU8::new(AT_REST), task: Mutex::new(Waker::noop().clone()) });
        Self { waker: Waker::from(Arc::clone(&shared)), shared }
    }
}

impl SelfWakes {
    /// Polls once more whenever that wakes itself, for a while; a wake from elsewhere wakes the task. Once it is ready nobody
    /// is woken until the next poll.
    pub fn poll<T>(
        &self,
        context: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.shared.belong_to(context.waker());
        for _ in 0..MOST_IN_A_ROW {
            self.shared.state.swap(POLLED, Ordering::SeqCst);
            let polled = poll(&mut Context::from_waker(&self.waker));
            if polled.is_ready() || self.shared.comes_to_rest() {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Runs a future that way.
    pub async fn run<F: Future + Unpin>(&self, mut future: F) -> F::Output {
        std::future::poll_fn(|context| self.poll(context, |context| Pin::new(&mut future).poll(context)))
            .await
    }
}

impl Shared {
    fn belong_to(&self, task: &Waker) {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).clone_from(task);
    }

    /// Whether nobody has woken it since it was last polled.
    fn comes_to_rest(&self) -> bool {
        let from_polled = self.state.compare_exchange(POLLED, AT_REST, Ordering::SeqCst, Ordering::SeqCst);
        from_polled.is_ok()
    }
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(WOKEN, Ordering::SeqCst) == AT_REST {
            let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
            task.wake();
        }
    }
}

impl std::fmt::Debug for SelfWakes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SelfWakes")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    struct Task {
        wakes: Arc<Counter>,
        waker: Waker,
    }

    impl Task {
        fn new() -> Self {
            let wakes = Arc::<Counter>::default();
            Self { waker: Waker::from(Arc::clone(&wakes)), wakes }
        }

        fn woken(&self) -> usize {
            self.wakes.0.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn what_wakes_itself_is_polled_again_and_its_task_is_not_woken() {
        let (own, task) = (SelfWakes::default(), Task::new());
        let mut polls = 0;
        let polled = own.poll(&mut Context::from_waker(&task.waker), |context| {
            polls += 1;
            context.waker().wake_by_ref();
            if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
        });
        assert_eq!((polled, polls, task.woken()), (Poll::Ready(()), 3, 0));
    }

    #[test]
    fn a_wake_from_elsewhere_wakes_the_task_that_polled_last() {
        let (own, first, second) = (SelfWakes::default(), Task::new(), Task::new());
        let mut kept = None;
        for task in [&first, &second] {
            let polled = own.poll(&mut Context::from_waker(&task.waker), |context| {
                kept = Some(context.waker().clone());
                Poll::<()>::Pending
            });
            assert_eq!(polled, Poll::Pending);
        }
        kept.as_ref().unwrap().wake_by_ref();
        assert_eq!((first.woken(), second.woken()), (0, 1));
        kept.unwrap().wake();
        assert_eq!(second.woken(), 1, "it will be polled already");
    }

    #[test]
    fn what_wakes_itself_without_end_lets_others_have_a_turn() {
        let (own, task) = (SelfWakes::default(), Task::new());
        let mut polls = 0;
        let polled = own.poll(&mut Context::from_waker(&task.waker), |context| {
            polls += 1;
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert_eq!((polled, polls, task.woken()), (Poll::Pending, MOST_IN_A_ROW, 1));
    }
}
