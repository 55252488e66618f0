//! Server-sent events, line by line: what one event carries, and where to resume.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;
use toolrail_protocol::sse::Line;

/// The longest pause that a server may ask for before it is asked again.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// What a server may send within a minute that belongs to no message. Signs of life come once in some seconds.
const MOST_IDLE_LINES: usize = 10_000;
const MOST_IDLE_BYTES: usize = 1 << 20;
const MINUTE: Duration = Duration::from_mins(1);

/// Counts what comes without being part of a message.
#[derive(Debug)]
pub(super) struct IdleLines {
    since: Instant,
    lines: usize,
    bytes: usize,
}

impl IdleLines {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), lines: 0, bytes: 0 }
    }

    /// Counts one more line of so many bytes; false if they are too many.
    pub(super) fn allows(&mut self, bytes: usize) -> bool {
        if self.since.elapsed() > MINUTE {
            *self = Self::new();
        }
        self.lines += 1;
        self.bytes += bytes;
        self.lines <= MOST_IDLE_LINES && self.bytes <= MOST_IDLE_BYTES
    }
}

/// Puts events together from lines.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    data: BytesMut,
    has_data: bool,
    /// The id of the last event, by which a stream is resumed.
    pub(super) last_id: Option<String>,
    /// The pause before resuming that the server asked for.
    pub(super) retry: Option<Duration>,
}

impl Decoder {
    /// Takes one line; an empty one ends an event, whose data comes back. Events of other types than `message` carry
    /// nothing for us.
    pub(super) fn line(&mut self, line: &Bytes) -> Option<Bytes> {
        if line.is_empty() {
            let has_data = std::mem::take(&mut self.has_data);
            let data = self.data.split().freeze();
            return has_data.then_some(data).filter(|data| !data.is_empty());
        }
        match Line::read(line) {
            Line::Data(value) => {
                if self.has_data {
                    self.data.extend_from_slice(b"\n");
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            Line::Id(id) => self.last_id = Some(id.to_owned()),
            Line::Retry(pause) => self.retry = pause.map(|pause| pause.min(LONGEST_RETRY)),
            Line::Other => {}
        }
        None
    }

    /// The decoder of the stream that takes up where this one ended.
    pub(super) fn resuming(self) -> Self {
        Self { last_id: self.last_id, retry: self.retry, ..Self::default() }
    }

    /// How many bytes of an unfinished event are held.
    pub(super) fn held(&self) -> usize {
        self.data.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> (Vec<String>, Decoder) {
        let mut decoder = Decoder::default();
        let found = text
            .split('\n')
            .filter_map(|line| decoder.line(&Bytes::copy_from_slice(line.as_bytes())))
            .map(|data| String::from_utf8(data.to_vec()).unwrap())
            .collect();
        (found, decoder)
    }

    #[test]
    fn events_are_put_together_from_their_lines() {
        let (found, decoder) = events(
            ": hello\nid: 7\nretry: 250\ndata:\n\nevent: message\ndata: {\"a\":\ndata:1}\n\ndata: lost",
        );
        assert_eq!(found, ["{\"a\":\n1}"]);
        assert_eq!(decoder.last_id.as_deref(), Some("7"));
        assert_eq!(decoder.retry, Some(Duration::from_millis(250)));
        assert_eq!(decoder.held(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn signs_of_life_are_allowed_and_floods_are_not() {
        let mut idle = IdleLines::new();
        for _ in 0..3 * MOST_IDLE_LINES {
            assert!(idle.allows(8));
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        let mut idle = IdleLines::new();
        assert!((0..MOST_IDLE_LINES).all(|_| idle.allows(8)));
        assert!(!idle.allows(8));
        assert!(!IdleLines::new().allows(MOST_IDLE_BYTES + 1));
    }

    #[test]
    fn a_pause_without_end_is_shortened() {
        assert_eq!(events("retry: 99999999999\n").1.retry, Some(LONGEST_RETRY));
        assert_eq!(events("retry: soon\n").1.retry, None);
    }
}
