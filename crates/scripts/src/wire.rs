//! What the gateway and a worker say to each other: frames of a small JSON header and a body of bytes.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::Limits;
use crate::program::Fault;

/// The largest frame. Whatever a script can make long has smaller limits of its own.
pub(crate) const LARGEST_FRAME: usize = 64 << 20;
/// The largest question of a script, and the largest body of one.
pub(crate) const LARGEST_QUESTION: usize = 1 << 20;
pub(crate) const LARGEST_BODY: usize = 16 << 20;

/// What the gateway says to a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Order {
    /// Keep a program, which stands in the body as JSON.
    Load { program: u64 },
    /// Say what a program exports.
    Inspect { call: u32, program: u64, limits: Limits },
    /// Carry a call out; the body is the request as JSON.
    Call { call: u32, program: u64, limits: Limits },
    /// What was asked for, with bytes in the body if it has any.
    Answer { call: u32, ask: u32, is_good: bool, has_body: bool, value: Value },
    /// Nobody waits for this call any more.
    Cancel { call: u32 },
    /// Let a program say goodbye (`destroy`) and forget it.
    Forget { call: u32, program: u64, limits: Limits },
}

/// What a worker says to the gateway.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Report {
    /// The walls are up: say what to do.
    Ready,
    /// A script asks for something; the body belongs to it.
    Ask { call: u32, ask: u32, has_body: bool, what: Question },
    /// A script tells something.
    Tell { call: u32, what: Telling },
    /// A call has ended.
    Done { call: u32, end: End },
}

/// What a script asks of the gateway.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Question {
    Fetch {
        url: String,
        method: String,
        headers: Vec<(String, String)>,
        redirect: String,
    },
    /// The arguments are JSON.
    Tool {
        name: String,
        arguments: String,
        caller: Option<String>,
    },
    Secret {
        name: String,
    },
}

/// What a script tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Telling {
    Console {
        level: String,
        text: String,
    },
    Progress {
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    /// The data are JSON.
    Log {
        level: String,
        data: String,
    },
}

/// How a call ended in its worker.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum End {
    /// With a result, which is the body as JSON; nothing if the script returned nothing.
    Returned,
    /// With an error of the script.
    Thrown { message: String, stack: String },
    /// It took more than it may.
    Exceeded { what: Excess },
    /// The program cannot be run.
    Refused { faults: Vec<Fault> },
    /// An import of it was not among its files.
    Missing(Missing),
    /// Nobody waited any more.
    Cancelled,
    /// The promise of the script can never be settled: nothing is under way.
    Stuck,
}

/// An import that was not found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Missing {
    /// The file that imports it.
    pub(crate) from: String,
    /// As it stands there.
    pub(crate) import: String,
    /// The files that it may mean.
    pub(crate) candidates: Vec<String>,
}

/// What a call took too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Excess {
    /// Processor time.
    Cpu,
    /// Memory.
    Memory,
    /// The size of its result.
    Output,
}

/// Writes a frame to bytes.
pub(crate) fn frame(header: &impl Serialize, body: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 8];
    serde_json::to_writer(&mut bytes, header)?;
    let head = u32::try_from(bytes.len() - 8).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&head.to_le_bytes());
    bytes[4..8].copy_from_slice(&u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes());
    bytes.extend_from_slice(body);
    Ok(bytes)
}

/// What stands before the body of a frame.
pub(crate) trait Header {
    /// Whether it comes from a worker, and so must be small.
    const IS_QUESTION: bool;
}

impl Header for Order {
    const IS_QUESTION: bool = false;
}

impl Header for Report {
    const IS_QUESTION: bool = true;
}

/// Takes frames out of bytes as they come.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
}

impl Frames {
    /// Reads what is there once; false at the end.
    pub(crate) fn read_from(&mut self, mut channel: impl Read) -> io::Result<bool> {
        let mut chunk = [0; 16 << 10];
        let read = channel.read(&mut chunk)?;
        self.bytes.extend_from_slice(&chunk[..read]);
        Ok(read > 0)
    }

    /// Adds what was read.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame, if it is there as a whole.
    pub(crate) fn next<H: DeserializeOwned + Header>(&mut self) -> io::Result<Option<(H, Vec<u8>)>> {
        let Some((head, rest)) = self.bytes.split_first_chunk() else { return Ok(None) };
        let Some((body, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let (head, body) = (u32::from_le_bytes(*head) as usize, u32::from_le_bytes(*body) as usize);
        if head + body > LARGEST_FRAME || (H::IS_QUESTION && head > 2 * LARGEST_QUESTION) {
            return Err(io::Error::other("the frame is too large"));
        }
        if rest.len() < head + body {
            return Ok(None);
        }
        let header = serde_json::from_slice(&rest[..head])?;
        let body = rest[head..head + body].to_vec();
        self.bytes.drain(..8 + head + body.len());
        if self.bytes.is_empty() && self.bytes.capacity() > 1 << 20 {
            self.bytes = Vec::new();
        }
        Ok(Some((header, body)))
    }
}

/// Writes a frame to a channel.
pub(crate) fn send(mut channel: impl Write, header: &impl Serialize, body: &[u8]) -> io::Result<()> {
    channel.write_all(&frame(header, body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_whole_however_they_are_cut() {
        let sent = [frame(&Report::Ready, b"").unwrap(), frame(&Order::Cancel { call: 7 }, b"body").unwrap()]
            .concat();
        for cut in 0..sent.len() {
            let mut frames = Frames::default();
            frames.push(&sent[..cut]);
            let first: Option<(Report, _)> = frames.next().unwrap();
            frames.push(&sent[cut..]);
            if first.is_none() {
                assert!(matches!(frames.next().unwrap(), Some((Report::Ready, _))));
            }
            let (order, body): (Order, _) = frames.next().unwrap().unwrap();
            assert!(matches!(order, Order::Cancel { call: 7 }) && body == b"body");
        }
    }

    #[test]
    fn a_frame_that_is_too_large_is_refused() {
        let mut frames = Frames::default();
        frames.push(&[255; 8]);
        assert!(frames.next::<Report>().is_err());
    }
}
