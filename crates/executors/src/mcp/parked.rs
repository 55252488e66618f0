//! Calls to legacy servers that wait until their client, which can only answer by calling again (2026-07-28), has brought
//! the answers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rustls::crypto::SecureRandom;
use serde_json::Value;
use tokio::time::Instant;
use toolrail_core::{CallError, ErrorCode, Principal, Question};

use super::conversation::Conversation;

const MOST: usize = 256;
const KEPT: Duration = Duration::from_mins(5);

/// Calls that wait.
#[derive(Default)]
pub(super) struct ParkingLot(Mutex<HashMap<String, ParkedCall>>);

struct ParkedCall {
    parked: Parked,
    since: Instant,
}

/// A call that waits for an answer of its client.
pub(super) struct Parked {
    pub(super) conversation: Conversation,
    pub(super) asked: ServerQuestion,
    pub(super) of: Whose,
}

/// What a server asked during a call.
#[derive(Clone, Debug)]
pub(super) struct ServerQuestion {
    /// The id of the server's request.
    pub(super) id: Bytes,
    /// Under which the client answers.
    pub(super) key: String,
    pub(super) question: Question,
}

/// Whose call it is, and which; only the same call takes it up again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Whose {
    pub(super) principal: Principal,
    pub(super) method: &'static str,
    pub(super) name: String,
    pub(super) arguments: Value,
}

impl ParkingLot {
    pub(super) fn put(&self, token: String, parked: Parked) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, waiting| waiting.since.elapsed() < KEPT);
        if waiting.len() >= MOST {
            drop(remove_oldest(&mut waiting));
        }
        waiting.insert(token, ParkedCall { parked, since: Instant::now() });
    }

    /// The call of that token, if it is the same call by the same client.
    pub(super) fn take(&self, token: &str, of: &Whose) -> Option<Parked> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = waiting.get(token)?;
        if found.since.elapsed() >= KEPT || found.parked.of != *of {
            return None;
        }
        waiting.remove(token).map(|waiting| waiting.parked)
    }

    /// Ends the call that has waited longest, so that others get its connection.
    pub(super) fn end_oldest(&self) {
        let ended = remove_oldest(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(ended);
    }

    /// Ends the calls of a conversation that is over.
    pub(super) fn end_of(&self, conversation: &str) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of =
            |waiting: &ParkedCall| waiting.parked.conversation.lease.conversation() == Some(conversation);
        let ended: Vec<_> = waiting.extract_if(|_, waiting| is_of(waiting)).collect();
        drop(waiting);
        drop(ended);
    }

    /// Ends calls whose clients did not come back.
    pub(super) fn sweep(&self) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, waiting| waiting.since.elapsed() < KEPT);
    }
}

fn remove_oldest(waiting: &mut HashMap<String, ParkedCall>) -> Option<ParkedCall> {
    let oldest = waiting.iter().min_by_key(|(_, waiting)| waiting.since).map(|(token, _)| token.clone());
    waiting.remove(&oldest?)
}

/// A token that nobody guesses.
pub(super) fn new_token() -> Result<String, CallError> {
    use base64::Engine as _;
    let mut bytes = [0; 24];
    let provider: &dyn SecureRandom = rustls::crypto::ring::default_provider().secure_random;
    provider
        .fill(&mut bytes)
        .map_err(|_| CallError::new(ErrorCode::Internal, "the system gives no random numbers"))?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}
