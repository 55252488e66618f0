//! One message per line over any pair of byte streams, such as standard input and output.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use toolrail_core::Principal;
use toolrail_registry::Endpoint;

use super::LARGEST_MESSAGE;
use super::connection::Connection;
use crate::peer::Session;
use crate::reply::{Answer, Code, Fault, Pieces};
use crate::server::Server;

/// Serves one client of that principal at that endpoint until its input ends, then lets the calls under way finish and closes the server.
pub async fn serve_stream(
    (server, endpoint): (Arc<Server>, Arc<Endpoint>),
    principal: Principal,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut lines = Lines::new(input);
    let mut connection = Connection::new(Arc::clone(&server), Session::of_connection(), principal, endpoint);
    let mut open = true;
    while open || !connection.is_idle() {
        tokio::select! {
            line = lines.next(), if open => match line? {
                Line::Whole(line) => if let Some(answer) = connection.take(line) {
                    write(&mut output, answer).await?;
                },
                Line::TooLong => write(&mut output, too_long()).await?,
                // Whoever listens to changes is gone; the calls under way are let finish.
                Line::End => {
                    open = false;
                    server.close();
                }
            },
            answer = connection.next() => if let Some(answer) = answer {
                write(&mut output, answer).await?;
            },
        }
    }
    Ok(())
}

pub(super) async fn write(output: &mut (impl AsyncWrite + Unpin), message: Pieces) -> io::Result<()> {
    for piece in message.iter() {
        // A line break inside would end the message; between the parts of a JSON text it means nothing.
        for part in piece.split(|byte| matches!(byte, b'\n' | b'\r')) {
            output.write_all(part).await?;
        }
    }
    output.write_all(b"\n").await?;
    output.flush().await
}

pub(super) fn too_long() -> Pieces {
    let message = format!("the message is longer than {} MiB", LARGEST_MESSAGE / 1024 / 1024);
    Answer::write(None, Err(Fault::new(Code::InvalidRequest, message))).body
}

/// Splits a stream into lines without ever holding more than the largest message.
pub(super) struct Lines<R> {
    input: R,
    buffer: BytesMut,
    /// How much of the buffer has been searched for a line end.
    searched: usize,
    /// Whether the rest of a line that is too long is being thrown away.
    skipping: bool,
}

/// One line, without its end.
pub(super) enum Line {
    Whole(Bytes),
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: BytesMut::with_capacity(8 * 1024), searched: 0, skipping: false }
    }

    /// The next line that is not blank. Safe to drop while waiting.
    pub(super) async fn next(&mut self) -> io::Result<Line> {
        loop {
            if let Some(line) = self.line() {
                if self.skipping {
                    self.skipping = false;
                    return Ok(Line::TooLong);
                }
                if !line.trim_ascii().is_empty() {
                    return Ok(Line::Whole(line));
                }
                continue;
            }
            if self.buffer.len() > LARGEST_MESSAGE {
                self.skipping = true;
                self.buffer.clear();
                self.searched = 0;
            }
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                return Ok(self.last());
            }
        }
    }

    fn line(&mut self) -> Option<Bytes> {
        let end = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(end) = end else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.searched + end + 1).freeze();
        self.searched = 0;
        Some(line.slice(..line.len() - 1))
    }

    fn last(&mut self) -> Line {
        self.searched = 0;
        let rest = self.buffer.split().freeze();
        match std::mem::take(&mut self.skipping) {
            true => Line::TooLong,
            false if rest.trim_ascii().is_empty() => Line::End,
            false => Line::Whole(rest),
        }
    }
}
