//! Batches: several messages in one array. Only revision 2025-03-26 has them; older clients and plain JSON-RPC ones may send
//! them too.

use std::future::Future;
use std::pin::Pin;

use futures_util::StreamExt;
use futures_util::stream;
use toolrail_protocol::revision::{V2024_11_05, V2025_03_26};

use crate::envelope;
use crate::peer::Peer;
use crate::reply::{Answer, MessageOutcome, Pieces};
use crate::server::Server;

/// How many messages of one batch are worked on at once.
const AT_ONCE: usize = 16;

type BatchedOutcome<'a> = Pin<Box<dyn Future<Output = MessageOutcome> + Send + 'a>>;

/// Whether this client may send batches.
pub(crate) fn is_allowed(peer: &Peer<'_>) -> bool {
    let named = peer.claims.as_ref().and_then(|claims| claims.protocol_version);
    let revision = peer.session.revision.get().copied().or(named);
    revision.is_none_or(|revision| matches!(revision, V2024_11_05 | V2025_03_26))
}

impl Server {
    /// Answers every message of a batch that wants an answer, in the order of the batch.
    pub(crate) async fn answer_batch(&self, bytes: &[u8], peer: &Peer<'_>) -> MessageOutcome {
        let messages = match envelope::parse_batch(bytes) {
            Ok(messages) => messages,
            Err(fault) => return MessageOutcome::Answer(Answer::write(None, Err(fault))),
        };
        let mut answering: Vec<BatchedOutcome<'_>> = Vec::with_capacity(messages.len());
        for message in messages {
            answering.push(Box::pin(self.answer_one(message.get().as_bytes(), peer)));
        }
        let said: Vec<MessageOutcome> = stream::iter(answering).buffered(AT_ONCE).collect().await;
        let mut body = Pieces::default();
        for said in said {
            if let MessageOutcome::Answer(answer) = said {
                body.push_static(if body.is_empty() { b"[" } else { b"," });
                body.append(answer.body);
            }
        }
        if body.is_empty() {
            return MessageOutcome::Nothing;
        }
        body.push_static(b"]");
        MessageOutcome::Answer(Answer { status: 200, body })
    }
}
