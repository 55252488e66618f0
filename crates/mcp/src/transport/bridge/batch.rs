//! Several messages that the client sent at once: each request among them gets one answer, in whatever pieces answers come
//! back, and what is no message of the protocol stays here.

use bytes::Bytes;
use serde_json::value::RawValue;

use super::patience::is_long;
use super::remote::BridgeError;
use super::verdict::{ClientLine, answer_to, error_to_nobody, is_same, left_unanswered};
use super::{Bridge, refusal};
use crate::envelope::{self, Message};

/// What of a batch waits for an answer.
#[derive(Default)]
pub(super) struct Batch {
    /// The ids of the requests that have none yet.
    waiting: Vec<Box<RawValue>>,
    /// How many of its messages are none; an error without an id answers each of them.
    unreadable: usize,
    /// Whether one of its requests may take as long as a call.
    pub(super) is_long: bool,
}

/// What of a reply goes to the client.
#[derive(Default)]
pub(super) struct Taken {
    /// Answers to requests of the batch.
    pub(super) answers: Vec<Bytes>,
    /// Requests and notifications.
    pub(super) beside: Vec<Bytes>,
    /// How many parts of it are neither.
    pub(super) left_out: usize,
}

impl Batch {
    /// Of these messages.
    pub(super) fn of(messages: &[&RawValue]) -> Self {
        let mut batch = Self::default();
        for message in messages {
            match envelope::parse(message.get().as_bytes()) {
                Ok(Message::Request(request)) => {
                    batch.is_long |= is_long(&request.method);
                    batch.waiting.push(request.id.to_owned());
                }
                Err((Some(id), _)) => batch.waiting.push(id.to_owned()),
                Err((None, _)) => batch.unreadable += 1,
                Ok(Message::Notification(_) | Message::Response(_)) => {}
            }
        }
        batch
    }

    /// Whether a request waits for its answer.
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes what the batch can use out of a reply: one message or a list of them.
    pub(super) fn take(&mut self, reply: &Bytes) -> Taken {
        let mut taken = Taken::default();
        if reply.trim_ascii().is_empty() {
            return taken;
        }
        if !envelope::is_batch(reply) {
            self.take_message(reply.clone(), &mut taken);
            // Who could not read the batch, or would not, says so once for all.
            if taken.left_out > 0
                && let Some(error) = error_to_nobody(reply)
            {
                taken.answers = self.refuse_rest(|id| answer_to(id, error));
                taken.left_out = usize::from(taken.answers.is_empty());
            }
            return taken;
        }
        let messages: Vec<&RawValue> = serde_json::from_slice(reply).unwrap_or_default();
        for message in messages {
            self.take_message(reply.slice_ref(message.get().as_bytes()), &mut taken);
        }
        taken
    }

    /// Answers to whatever still waits.
    pub(super) fn refuse_rest(&mut self, refusal: impl Fn(&RawValue) -> Bytes) -> Vec<Bytes> {
        self.waiting.drain(..).map(|id| refusal(&id)).collect()
    }

    fn take_message(&mut self, message: Bytes, taken: &mut Taken) {
        let is_answer = match envelope::parse(&message) {
            Ok(Message::Request(_) | Message::Notification(_)) => return taken.beside.push(message),
            Ok(Message::Response(response)) => response.id.is_some_and(|id| self.settle(id)),
            Err(_) => false,
        };
        if is_answer || self.settle_unreadable(&message) {
            taken.answers.push(message);
        } else {
            taken.left_out += 1;
        }
    }

    /// Whether a request of that id waited until now.
    fn settle(&mut self, id: &RawValue) -> bool {
        let at = self.waiting.iter().position(|asked| is_same(asked, id));
        at.map(|at| self.waiting.remove(at)).is_some()
    }

    fn settle_unreadable(&mut self, message: &[u8]) -> bool {
        let settles = self.unreadable > 0 && error_to_nobody(message).is_some();
        self.unreadable -= usize::from(settles);
        settles
    }
}

impl Bridge<'_> {
    /// Passes on what answers a batch, all at once, and answers what of it was left out.
    pub(super) async fn pass_batch(
        &self,
        body: &Bytes,
        asked: &mut ClientLine<'_>,
        useless: impl FnOnce() -> BridgeError,
    ) {
        let ClientLine::Batch(batch) = asked else { return };
        let mut taken = batch.take(body);
        if batch.waits() {
            let error = if taken.answers.is_empty() { useless() } else { left_unanswered() };
            taken.answers.extend(batch.refuse_rest(|id| refusal(Some(id), &error)));
            // A list, as it was asked in one.
            return self.pass_taken(taken, b"[").await;
        }
        self.pass_taken(taken, body).await;
    }

    /// Passes on what of a reply a batch could use.
    pub(super) async fn pass_taken(&self, taken: Taken, reply: &[u8]) {
        for message in taken.beside {
            self.pass(message).await;
        }
        if !taken.answers.is_empty() {
            self.pass(line_of(&taken.answers, reply)).await;
        }
        if taken.left_out > 0 {
            tracing::warn!(
                parts = taken.left_out,
                "the gateway answered a batch with what was not asked, or is no message; it is left out"
            );
        }
    }
}

/// Answers on one line: one that came by itself as it is, others as a list.
pub(super) fn line_of(answers: &[Bytes], reply: &[u8]) -> Bytes {
    match answers {
        [answer] if !envelope::is_batch(reply) => answer.clone(),
        answers => [b"[".as_slice(), &answers.join(&b","[..]), b"]"].concat().into(),
    }
}
