//! The stream of a connection, which tells what the connection does: bytes that the client takes are a sign of life, however
//! long a large answer needs to reach it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::MissedTickBehavior;

/// What a connection has done, for telling one that is used from one that only takes up room.
#[derive(Default)]
pub(super) struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
    written: AtomicU64,
}

impl Activity {
    /// A request begins.
    pub(super) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// A request has its answer, or the stream of events that is its answer has ended.
    pub(super) fn end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until a whole period has passed in which no request was under way and the client took nothing.
    pub(super) async fn stays_away(&self, period: Duration) {
        let mut clock = tokio::time::interval(period);
        // After work that held up the clock, the client has a whole period to take the answer.
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        clock.tick().await;
        let mut before = self.now();
        loop {
            clock.tick().await;
            let now = self.now();
            if now.is_idle_since(&before) {
                return;
            }
            before = now;
        }
    }

    fn now(&self) -> Counts {
        Counts {
            begun: self.begun.load(Ordering::Relaxed),
            ended: self.ended.load(Ordering::Relaxed),
            written: self.written.load(Ordering::Relaxed),
        }
    }
}

/// How much a connection had done at one moment.
#[derive(PartialEq, Eq)]
struct Counts {
    begun: u64,
    ended: u64,
    written: u64,
}

impl Counts {
    fn is_idle_since(&self, before: &Self) -> bool {
        self.begun == self.ended && self == before
    }
}

/// A stream whose writing counts as activity.
pub(super) struct Watched<S> {
    stream: S,
    activity: Arc<Activity>,
    /// Writing no more than that is no sign of life.
    ignored: usize,
}

/// The longest frame by which HTTP/2 only keeps a connection going: a ping, or the answer to one.
const LONGEST_PING: usize = 17;

impl<S> Watched<S> {
    /// Tells `activity` what is written.
    pub(super) fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, activity, ignored: 0 }
    }

    /// The same for HTTP/2, where what only keeps the connection going does not count.
    pub(super) fn without_pings(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, activity, ignored: LONGEST_PING }
    }

    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = written
            && count > self.ignored
        {
            self.activity.written.fetch_add(count as u64, Ordering::Relaxed);
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[test]
    fn a_connection_is_idle_after_a_period_without_any_sign_of_life() {
        let activity = Activity::default();
        let idle_after = |act: &dyn Fn()| {
            let before = activity.now();
            act();
            activity.now().is_idle_since(&before)
        };
        assert!(idle_after(&|| {}));
        assert!(!idle_after(&|| activity.begin()));
        assert!(!idle_after(&|| {}), "a request is under way, however long it takes");
        assert!(!idle_after(&|| activity.end()), "its answer has only just begun to be sent");
        assert!(!idle_after(&|| {
            activity.written.fetch_add(1, Ordering::Relaxed);
        }));
        assert!(idle_after(&|| {}));
    }

    #[tokio::test]
    async fn over_http2_a_ping_is_no_sign_of_life() {
        let (ours, _theirs) = tokio::io::duplex(64);
        let activity = Arc::new(Activity::default());
        let mut watched = Watched::without_pings(ours, Arc::clone(&activity));
        for (count, counts) in [(LONGEST_PING, false), (LONGEST_PING + 1, true)] {
            let before = activity.now();
            watched.write_all(&[7; LONGEST_PING + 1][..count]).await.unwrap();
            assert_eq!(activity.now() != before, counts, "{count}");
        }
    }

    #[tokio::test]
    async fn a_slow_reader_of_a_large_answer_is_alive_until_it_takes_nothing_any_more() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let activity = Arc::new(Activity::default());
        let mut watched = Watched::new(ours, Arc::clone(&activity));
        let writing = watched.write_all(&[7; 4096]);
        let reading = async {
            for _ in 0..15 {
                let before = activity.now();
                theirs.read_exact(&mut [0; 64]).await.unwrap();
                while activity.now() == before {
                    tokio::task::yield_now().await;
                }
                assert!(!activity.now().is_idle_since(&before));
            }
            activity.stays_away(Duration::from_millis(20)).await;
        };
        tokio::select! {
            biased;
            written = writing => unreachable!("{written:?}"),
            () = reading => {}
        }
    }
}
