//! What a child writes: its messages, each handed to whoever waits for it, and its log.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};

use super::{Group, PendingAnswers, WayOut, pong};
use crate::mcp::failure::Failure;
use crate::mcp::message::ServerMessage;
use crate::outbound::Sensitive;

/// The longest line of a log that is kept.
const LONGEST_LOG_LINE: usize = 4096;

/// Reads messages and hands them on.
pub(super) struct LineReader {
    pub(super) name: Arc<str>,
    pub(super) most: usize,
    pub(super) sensitive: Sensitive,
    pub(super) waiting: Arc<PendingAnswers>,
    pub(super) outbox: mpsc::Sender<Bytes>,
    pub(super) unasked: Arc<WayOut>,
    pub(super) group: Arc<Group>,
    /// The last line of its log.
    pub(super) log: watch::Receiver<String>,
}

enum Line {
    Whole(Vec<u8>),
    /// Only its beginning; the rest was thrown away.
    TooLong(Vec<u8>),
}

impl LineReader {
    pub(super) async fn run(self, stdout: Option<ChildStdout>) {
        if let Some(stdout) = stdout {
            let mut stdout = BufReader::new(stdout);
            while let Ok(Some(line)) = next_line(&mut stdout, self.most).await {
                match line {
                    Line::Whole(line) => self.hand_on(&self.sensitive.mask(line.into())),
                    Line::TooLong(beginning) => self.refuse(&beginning),
                }
            }
        }
        let ending = self.group.ending(&self.name, self.log.clone()).await;
        self.waiting.close(&ending);
        self.unasked.close();
    }

    fn hand_on(&self, line: &Bytes) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match ServerMessage::parse(line) {
            Ok(message @ ServerMessage::Answer { id: Some(id), .. }) => self.waiting.answer(id, Ok(message)),
            Ok(ServerMessage::Answer { id: None, .. }) => {}
            Ok(ServerMessage::Request { id, method, .. }) if method == "ping" => {
                drop(self.outbox.try_send(pong(&id)));
            }
            Ok(message) => match concerned(&message) {
                Some(id) => self.waiting.note(id, message),
                None => self.unasked.put(message),
            },
            Err(fault) => tracing::debug!(server = &*self.name, fault, "passed over a line"),
        }
    }

    /// A message that is too long is refused to the request it answers, or to all if that cannot be told.
    fn refuse(&self, beginning: &[u8]) {
        let failure = Failure::unusable(format!(
            "{} sent a message of more than {} bytes, which is the limit; raise maxResponseBytes or ask it for less",
            self.name, self.most
        ));
        match answered_id(beginning) {
            Some(id) => self.waiting.answer(id, Err(failure)),
            None => self.waiting.fail(&failure),
        }
    }
}

/// The request that a notification belongs to: by its progress token, or as the subscription it comes from.
fn concerned(message: &ServerMessage) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        progress_token: Option<u64>,
        #[serde(rename = "_meta")]
        meta: Option<Meta>,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
        subscription: Option<u64>,
    }
    let ServerMessage::Notice { params: Some(params), .. } = message else {
        return None;
    };
    let params: Params = serde_json::from_slice(params).ok()?;
    params.progress_token.or_else(|| params.meta?.subscription)
}

/// The id of an answer of which only the beginning is there.
fn answered_id(beginning: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(&beginning[..beginning.len().min(200)]);
    let (before, after) = text.split_once("\"id\":")?;
    if before.contains("\"result\"") {
        return None;
    }
    let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The next line, or nothing at the end.
async fn next_line<R: AsyncRead + Unpin>(
    reader: &mut BufReader<R>,
    most: usize,
) -> std::io::Result<Option<Line>> {
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut line = Vec::new();
    let count = (&mut *reader).take(limit).read_until(b'\n', &mut line).await?;
    if count == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') || line.len() <= most {
        return Ok(Some(Line::Whole(line)));
    }
    line.truncate(256);
    loop {
        let mut thrown = Vec::new();
        let count = (&mut *reader).take(64 << 10).read_until(b'\n', &mut thrown).await?;
        if count == 0 || thrown.last() == Some(&b'\n') {
            return Ok(Some(Line::TooLong(line)));
        }
    }
}

/// Writes what the child says on its error stream into our log, and keeps the last line of it.
pub(super) async fn log(
    stderr: Option<ChildStderr>,
    last: watch::Sender<String>,
    (name, sensitive): (Arc<str>, Sensitive),
) {
    let Some(stderr) = stderr else { return };
    let mut stderr = BufReader::new(stderr);
    while let Ok(Some(line)) = next_line(&mut stderr, LONGEST_LOG_LINE).await {
        let (Line::Whole(line) | Line::TooLong(line)) = line;
        let line = sensitive.mask_text(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
        tracing::debug!(server = &*name, line, "said");
        if !line.trim().is_empty() {
            last.send_replace(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_progress_belongs_to_its_request_with_and_without_meta() {
        for params in
            [r#"{"progressToken":7,"progress":1}"#, r#"{"progressToken":7,"progress":1,"_meta":{}}"#]
        {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#);
            let message = ServerMessage::parse(&Bytes::from(text)).unwrap();
            assert_eq!(concerned(&message), Some(7), "{params}");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_over_and_its_id_is_kept() {
        let text = format!(
            "{{\"id\":1}}\n{{\"jsonrpc\":\"2.0\",\"id\": 42,\"result\":\"{}\"}}\nlast",
            "x".repeat(5000)
        );
        let mut reader = BufReader::new(text.as_bytes());
        let Some(Line::Whole(first)) = next_line(&mut reader, 100).await.unwrap() else { panic!("first") };
        assert_eq!(first, b"{\"id\":1}\n");
        let Some(Line::TooLong(second)) = next_line(&mut reader, 100).await.unwrap() else {
            panic!("second")
        };
        assert_eq!(answered_id(&second), Some(42));
        let Some(Line::Whole(last)) = next_line(&mut reader, 100).await.unwrap() else { panic!("last") };
        assert_eq!(last, b"last");
        assert!(next_line(&mut reader, 100).await.unwrap().is_none());
    }
}
