//! An answer whose body is read piece by piece, for streams that stay open: a line at a time, or the rest at once. Lines
//! are masked before anybody sees them. Dropping it closes the connection, which tells the upstream to stop.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, Uri};
use hyper::body::Incoming as Streaming;
use memchr::memchr2;
use toolrail_core::{Held, Share};

use super::pool::Link;
use super::{Client, Cut, Hop, OutboundError, Sensitive, body, failure};

/// The head of an answer, and its body still to be read.
pub struct StreamedAnswer {
    /// The status.
    pub status: StatusCode,
    /// The headers, masked.
    pub headers: HeaderMap,
    client: Arc<Client>,
    uri: Uri,
    sensitive: Sensitive,
    open: Option<(Link, Streaming)>,
    /// What was read but not yet taken.
    buffer: BytesMut,
    /// Counts the buffer.
    held: Held,
    /// How much of it is known to hold no end of a line.
    searched: usize,
    /// Whether the last line ended in a carriage return, so that a line feed right behind it belongs to it.
    after_return: bool,
}

impl StreamedAnswer {
    pub(super) fn new(
        client: Arc<Client>,
        hop: Hop,
        answer: (Link, http::Response<Streaming>),
        sensitive: Sensitive,
    ) -> Self {
        let (link, response) = answer;
        let (head, streaming) = response.into_parts();
        let mut headers = head.headers;
        sensitive.mask_headers(&mut headers);
        Self {
            status: head.status,
            headers,
            client,
            uri: hop.uri,
            sensitive,
            open: Some((link, streaming)),
            buffer: BytesMut::new(),
            held: Share::current().nothing(),
            searched: 0,
            after_return: false,
        }
    }

    /// The next line without its end, or nothing at the end of the body (what stands there without an end of line is no
    /// line). A line of more than `most` bytes is refused. Nothing is lost when the future is dropped.
    pub async fn line(&mut self, most: usize) -> Result<Option<Bytes>, OutboundError> {
        loop {
            // Lines that are here already would otherwise be read without end and without a pause for anybody else.
            tokio::task::consume_budget().await;
            if let Some(line) = self.take_line() {
                return if line.len() > most { Err(self.too_long(most)) } else { Ok(Some(line)) };
            }
            if self.buffer.len() > most {
                return Err(self.too_long(most));
            }
            if !self.read().await? {
                return Ok(None);
            }
        }
    }

    /// Everything that is left, or its first `cap` bytes.
    pub async fn rest(mut self, cap: usize) -> Result<(Bytes, Option<Cut>), OutboundError> {
        while self.buffer.len() <= cap && self.read().await? {}
        let cut = (self.buffer.len() > cap).then_some(Cut { cap, total: None });
        self.buffer.truncate(cap);
        let bytes = self.sensitive.mask(std::mem::take(&mut self.buffer).freeze());
        Ok((if cut.is_some() { self.sensitive.without_torn_end(bytes) } else { bytes }, cut))
    }

    fn take_line(&mut self) -> Option<Bytes> {
        if self.after_return && self.buffer.first() == Some(&b'\n') {
            self.after_return = false;
            let _ = self.buffer.split_to(1);
            self.searched = 0;
        }
        let found = memchr2(b'\n', b'\r', &self.buffer[self.searched..]);
        let Some(end) = found.map(|offset| self.searched + offset) else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(end + 1);
        self.after_return = line.last() == Some(&b'\r');
        self.searched = 0;
        line.truncate(end);
        Some(self.sensitive.mask(line.freeze()))
    }

    /// Reads one piece; false at the end of the body.
    async fn read(&mut self) -> Result<bool, OutboundError> {
        let Some((link, streaming)) = &mut self.open else {
            return Ok(false);
        };
        match body::next(link, streaming).await {
            Ok(Some(piece)) => {
                let held = self.held.resize(self.buffer.len() + piece.len());
                held.map_err(|full| OutboundError { error: full.into(), connected: true })?;
                self.buffer.extend_from_slice(&piece);
                Ok(true)
            }
            Ok(None) => {
                if let Some((link, streaming)) = self.open.take() {
                    drop(streaming);
                    self.client.pool.keep(link).await;
                }
                Ok(false)
            }
            Err(error) => {
                self.open = None;
                let broken = body::Broken { error, received: self.buffer.len(), declared: None };
                Err(failure::broken_off(&self.uri, &broken).masked(&self.sensitive))
            }
        }
    }

    fn too_long(&self, most: usize) -> OutboundError {
        let message = format!(
            "{} sent a message of more than {most} bytes, which is the limit; raise maxResponseBytes or ask it for less",
            failure::origin(&self.uri)
        );
        failure::invalid(message).masked(&self.sensitive)
    }
}

impl std::fmt::Debug for StreamedAnswer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Streamed").field("status", &self.status).finish_non_exhaustive()
    }
}
