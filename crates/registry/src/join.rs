//! Several futures at once, within one task: dropping it drops them all.

use std::pin::Pin;
use std::task::Poll;

/// Waits for all of them.
pub(crate) async fn join_all<F: Future<Output = ()>>(futures: impl Iterator<Item = F>) {
    let mut waiting: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        waiting.retain_mut(|future| future.as_mut().poll(context).is_pending());
        if waiting.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
