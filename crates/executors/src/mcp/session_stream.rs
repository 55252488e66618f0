//! The stream that a legacy session has beside those of its requests (GET): it is opened again whenever it ends, as long
//! as the server is there.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::failure::Failure;
use super::http::{EventStream, HttpSession, RETRY};
use super::message::ServerMessage;
use super::sse::Decoder;

/// How long a call waits for the stream to stand.
const READY_WITHIN: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A stream on which nothing came for so long may be dead without anybody having noticed.
const SILENCE: Duration = Duration::from_mins(10);
/// After so many failures in a row the session counts as gone.
const MOST_FAILURES: u32 = 3;

/// The stream of one session.
pub(super) struct SessionStream {
    session: Arc<HttpSession>,
    state: SessionStreamState,
    failures: u32,
}

enum SessionStreamState {
    Opening(BoxFuture<'static, Result<EventStream, Failure>>),
    /// Until that time, unless something comes.
    Reading(Box<EventStream>, Instant),
    /// The server has no such stream.
    Absent,
    Gone,
}

impl SessionStream {
    pub(super) fn open(session: Arc<HttpSession>) -> Self {
        let opening = Arc::clone(&session);
        let state =
            SessionStreamState::Opening(Box::pin(async move { opening.get(Decoder::default()).await }));
        Self { session, state, failures: 0 }
    }

    /// Waits until it stands, or it is clear that it never will, but no longer than a moment.
    pub(super) async fn ready(&mut self) {
        let standing = async {
            while let SessionStreamState::Opening(opening) = &mut self.state {
                let opened = opening.as_mut().await;
                self.opened(opened);
            }
        };
        // A server that is slow here may still answer.
        drop(tokio::time::timeout(READY_WITHIN, standing).await);
    }

    /// The next message; waits for ever where the server has no such stream, and nothing once the session is gone.
    pub(super) async fn next(&mut self) -> Option<ServerMessage> {
        loop {
            match &mut self.state {
                SessionStreamState::Opening(opening) => {
                    let opened = opening.as_mut().await;
                    self.opened(opened);
                }
                SessionStreamState::Reading(stream, until) => {
                    match tokio::time::timeout_at(*until, stream.next()).await {
                        Ok(Ok(Some(message))) => {
                            *until = Instant::now() + SILENCE;
                            self.failures = 0;
                            return Some(message);
                        }
                        Ok(Ok(None)) | Err(_) => self.reopen(),
                        Ok(Err(failure)) => {
                            tracing::debug!(reason = %failure.into_error(), "the server's own stream broke");
                            self.reopen();
                        }
                    }
                }
                SessionStreamState::Absent => std::future::pending().await,
                SessionStreamState::Gone => return None,
            }
        }
    }

    fn opened(&mut self, opened: Result<EventStream, Failure>) {
        self.state = match opened {
            Ok(stream) => SessionStreamState::Reading(Box::new(stream), Instant::now() + SILENCE),
            Err(Failure::Status(..)) => SessionStreamState::Absent,
            Err(Failure::SessionGone) => SessionStreamState::Gone,
            Err(Failure::Call(_) | Failure::Lost(_)) if self.failures >= MOST_FAILURES => {
                SessionStreamState::Gone
            }
            Err(Failure::Call(_) | Failure::Lost(_)) => self.opening(Decoder::default()),
        };
    }

    fn reopen(&mut self) {
        let decoder = match std::mem::replace(&mut self.state, SessionStreamState::Gone) {
            SessionStreamState::Reading(stream, _) => stream.decoder,
            SessionStreamState::Opening(_) | SessionStreamState::Absent | SessionStreamState::Gone => {
                Decoder::default()
            }
        };
        self.state = self.opening(decoder.resuming());
    }

    fn opening(&mut self, decoder: Decoder) -> SessionStreamState {
        let session = Arc::clone(&self.session);
        // A server may ask for more time, but not for less.
        let pause = decoder.retry.unwrap_or(RETRY).max(RETRY);
        let pause = pause.saturating_mul(1 << self.failures.min(6)).min(LONGEST_PAUSE);
        self.failures += 1;
        SessionStreamState::Opening(Box::pin(async move {
            tokio::time::sleep(pause).await;
            session.get(decoder).await
        }))
    }
}
