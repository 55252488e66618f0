//! Requests of ours that a client has yet to answer (legacy revisions: elicitation, sampling, roots).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

/// How a client answered: a result, or a JSON-RPC error.
pub(crate) type Answered = Result<Value, Value>;

/// The most questions of one session that may wait for an answer.
const MOST_PENDING: usize = 64;

/// The requests of one session that wait for an answer.
#[derive(Default)]
pub(crate) struct Asks {
    next: AtomicU64,
    pending: Mutex<HashMap<String, oneshot::Sender<Answered>>>,
}

/// One request that waits for an answer; forgotten when dropped.
pub(crate) struct Asked<'a> {
    asks: &'a Asks,
    /// The id of the request.
    pub(crate) id: String,
    answer: oneshot::Receiver<Answered>,
}

impl Asks {
    /// Expects an answer; nothing if too many are expected already. `replica` keeps the ids of replicas apart.
    pub(crate) fn expect(&self, replica: u32) -> Option<Asked<'_>> {
        let id = format!("toolrail-{replica:08x}-{}", self.next.fetch_add(1, Ordering::Relaxed));
        let (sender, answer) = oneshot::channel();
        let mut pending = self.lock();
        if pending.len() >= MOST_PENDING {
            return None;
        }
        pending.insert(id.clone(), sender);
        Some(Asked { asks: self, id, answer })
    }

    /// Takes an answer; false if nobody here waits for it.
    pub(crate) fn answer(&self, id: &RawValue, result: Result<&RawValue, &RawValue>) -> bool {
        serde_json::from_str::<String>(id.get()).is_ok_and(|id| self.answer_named(&id, result))
    }

    /// The same, given the id as it was made.
    pub(crate) fn answer_named(&self, id: &str, result: Result<&RawValue, &RawValue>) -> bool {
        let Some(waiting) = self.lock().remove(id) else { return false };
        let read = |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or_default();
        waiting.send(result.map(read).map_err(read)).is_ok()
    }

    /// Whether any answer is awaited.
    pub(crate) fn any(&self) -> bool {
        !self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Answered>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The replica that asked the question of that id.
pub(crate) fn replica_of(id: &str) -> Option<u32> {
    let (replica, number) = id.strip_prefix("toolrail-")?.split_once('-')?;
    number.parse::<u64>().ok()?;
    parse_replica(replica)
}

/// A replica as ids name it.
pub(crate) fn parse_replica(text: &str) -> Option<u32> {
    let digits = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (text.len() == 8 && digits(text)).then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

impl Asked<'_> {
    /// Waits for the answer; nothing if the session ended.
    pub(crate) async fn answered(mut self) -> Option<Answered> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.asks.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[tokio::test]
    async fn an_answer_finds_its_question_once() {
        let asks = Asks::default();
        let asked = asks.expect(1).unwrap();
        let id = format!("\"{}\"", asked.id);
        assert!(!asks.answer(raw("\"toolrail-00000001-77\""), Ok(raw("1"))));
        assert!(asks.answer(raw(&id), Ok(raw("{\"action\":\"accept\"}"))));
        assert!(!asks.answer(raw(&id), Ok(raw("2"))));
        assert_eq!(asked.answered().await, Some(Ok(json!({"action": "accept"}))));
    }

    #[test]
    fn the_id_of_a_question_names_its_replica() {
        for replica in [0, 0xab, u32::MAX] {
            assert_eq!(replica_of(&Asks::default().expect(replica).unwrap().id), Some(replica));
        }
        for other in ["", "7", "toolrail-", "toolrail-1-1", "toolrail-0000000g-1", "toolrail-+0000001-1"] {
            assert_eq!(replica_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_question_that_nobody_waits_for_any_more_is_forgotten() {
        let asks = Asks::default();
        drop(asks.expect(1).unwrap());
        assert!(!asks.any());
        let many: Vec<_> = (0..100).filter_map(|_| asks.expect(1)).collect();
        assert_eq!(many.len(), MOST_PENDING);
    }
}
