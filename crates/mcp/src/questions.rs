//! Requests of ours that a client has yet to answer (legacy revisions: elicitation, sampling, roots).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use toolrail_core::Question;

use crate::sign::Signer;

/// How a client answered: a result, or a JSON-RPC error.
pub(crate) type ClientAnswer = Result<Value, Value>;

/// The most questions of one session that may wait for an answer.
const MOST_PENDING: usize = 64;
const PURPOSE: &str = "question";

/// Who asks whom. It is sealed into the ids of questions, so that nobody can make one up and have it passed on.
#[derive(Clone, Copy)]
pub(crate) struct QuestionOrigin<'a> {
    pub(crate) signer: &'a Signer,
    /// Who asks.
    pub(crate) replica: u32,
    /// The key of the session that is asked; empty for one connection.
    pub(crate) session: &'a str,
}

/// The requests of one session that wait for an answer.
#[derive(Default)]
pub(crate) struct PendingQuestions {
    next: AtomicU64,
    pending: Mutex<HashMap<String, oneshot::Sender<ClientAnswer>>>,
}

/// One request that waits for an answer; forgotten when dropped.
pub(crate) struct PendingQuestion<'a> {
    questions: &'a PendingQuestions,
    /// The id of the request.
    pub(crate) id: String,
    answer: oneshot::Receiver<ClientAnswer>,
}

impl PendingQuestions {
    /// Expects an answer; nothing if too many are expected already.
    pub(crate) fn expect(&self, asker: QuestionOrigin<'_>) -> Option<PendingQuestion<'_>> {
        let id = asker.id(self.next.fetch_add(1, Ordering::Relaxed))?;
        let (sender, answer) = oneshot::channel();
        let mut pending = self.lock();
        if pending.len() >= MOST_PENDING {
            return None;
        }
        pending.insert(id.clone(), sender);
        Some(PendingQuestion { questions: self, id, answer })
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

    fn lock(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<ClientAnswer>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QuestionOrigin<'_> {
    fn id(&self, number: u64) -> Option<String> {
        let told = [&self.replica.to_be_bytes()[..], &number.to_be_bytes(), self.session.as_bytes()].concat();
        self.signer.seal(PURPOSE, &told)
    }
}

/// The replica that asked the session of that key the question of that id, if one did.
pub(crate) fn replica_of(signer: &Signer, id: &str, session: &str) -> Option<u32> {
    let told = signer.open(PURPOSE, id)?;
    let (replica, rest) = told.split_first_chunk()?;
    let (_number, asked) = rest.split_first_chunk::<8>()?;
    (asked == session.as_bytes()).then_some(u32::from_be_bytes(*replica))
}

impl PendingQuestion<'_> {
    /// Waits for the answer; nothing if the session ended.
    pub(crate) async fn answered(mut self) -> Option<ClientAnswer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for PendingQuestion<'_> {
    fn drop(&mut self) {
        self.questions.lock().remove(&self.id);
    }
}

/// Whether this can be an answer: each is an object, and that of an elicitation says what the user did.
pub(crate) fn is_answer(question: &Question, answer: &Value) -> bool {
    match question.method.as_str() {
        "elicitation/create" => answer.get("action").is_some_and(Value::is_string),
        _ => answer.is_object(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    fn signer() -> Signer {
        Signer::new(&[5; 32])
    }

    #[tokio::test]
    async fn an_answer_finds_its_question_once() {
        let questions = PendingQuestions::default();
        let asker = QuestionOrigin { signer: &signer(), replica: 1, session: "" };
        let asked = questions.expect(asker).unwrap();
        let id = format!("\"{}\"", asked.id);
        let another = format!("\"{}\"", asker.id(77).unwrap());
        assert!(!questions.answer(raw(&another), Ok(raw("1"))));
        assert!(questions.answer(raw(&id), Ok(raw("{\"action\":\"accept\"}"))));
        assert!(!questions.answer(raw(&id), Ok(raw("2"))));
        assert_eq!(asked.answered().await, Some(Ok(json!({"action": "accept"}))));
    }

    #[test]
    fn the_id_of_a_question_names_its_replica_to_the_session_that_was_asked() {
        let (signer, session) = (signer(), "s".repeat(32));
        for replica in [0, 0xab, u32::MAX] {
            let questions = PendingQuestions::default();
            let id = questions
                .expect(QuestionOrigin { signer: &signer, replica, session: &session })
                .unwrap()
                .id
                .clone();
            assert!(id.len() < 200, "{id}");
            assert_eq!(replica_of(&signer, &id, &session), Some(replica));
            assert_eq!(replica_of(&signer, &id, "another"), None);
            assert_eq!(replica_of(&Signer::new(&[6; 32]), &id, &session), None);
        }
        let of_a_session = signer.seal("session", session.as_bytes()).unwrap();
        for made_up in ["", "7", "toolrail-dead0001-1", &of_a_session] {
            assert_eq!(replica_of(&signer, made_up, &session), None, "{made_up}");
        }
    }

    #[test]
    fn a_question_that_nobody_waits_for_any_more_is_forgotten() {
        let (questions, signer) = (PendingQuestions::default(), signer());
        let asker = QuestionOrigin { signer: &signer, replica: 1, session: "" };
        drop(questions.expect(asker).unwrap());
        assert!(!questions.any());
        let many: Vec<_> = (0..100).filter_map(|_| questions.expect(asker)).collect();
        assert_eq!(many.len(), MOST_PENDING);
    }
}
