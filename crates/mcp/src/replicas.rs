//! What the server does with and for other replicas on the same store; `relay/` carries it.

use serde_json::value::RawValue;

use crate::dialect::Dialect;
use crate::finish::Finish;
use crate::live::Live;
use crate::questions::{self, QuestionOrigin};
use crate::relay::{Inbox, Letter, NewsExchange};
use crate::server::Server;

impl Server {
    /// This replica, as it asks that session something.
    pub(crate) fn asker<'a>(&'a self, live: &'a Live) -> QuestionOrigin<'a> {
        let session = live.key().unwrap_or_default();
        QuestionOrigin { signer: &self.signer, replica: self.replica(), session }
    }

    /// Passes a client's answer to the replica that asked; false if none but this one did, or it was passed on before.
    pub(crate) async fn pass_on(&self, live: &Live, id: &str, answer: Result<&RawValue, &RawValue>) -> bool {
        let Some(session) = live.key() else { return false };
        let asked_by =
            questions::replica_of(&self.signer, id, session).filter(|asked_by| *asked_by != self.replica());
        let Some(asked_by) = asked_by else { return false };
        self.relay.pass_on(asked_by, (session, id), answer).await
    }

    /// Learns which sessions have ended at other replicas. Await it before the server takes requests, if there may be other
    /// replicas.
    pub async fn catch_up(&self) {
        self.news().catch_up().await;
    }

    /// Does what other replicas on the same store ask of this one, until the future is dropped. Run it beside the server if
    /// there may be other replicas.
    pub async fn relay(&self) {
        tokio::join!(self.read_letters(), self.news().follow());
    }

    async fn read_letters(&self) {
        let mut inbox = Inbox::default();
        loop {
            for letter in self.relay.collect(&mut inbox).await {
                self.read(letter).await;
            }
        }
    }

    fn news(&self) -> NewsExchange<'_> {
        NewsExchange { registry: &self.registry, newsroom: &self.relay.newsroom, sessions: &self.sessions }
    }

    async fn read(&self, letter: Letter) {
        match letter {
            Letter::Answer { session, id, answer } => {
                let answer = answer.as_deref().map_err(|error| &**error);
                if let Some(live) = self.sessions.find(&session) {
                    live.questions.answer_named(&id, answer);
                }
            }
            Letter::Errand { from, number, task, principal, errand } => {
                let task = self.tasks.find_tagged(&task, &principal);
                let finish = Finish { me: &self.me, dialect: Dialect::Modern };
                let result = task.map(|task| errand.run(&task, finish).into_bytes());
                let result = result.and_then(|result| serde_json::from_slice(&result).ok());
                self.relay.send(from, &Letter::Done { number, result }).await;
            }
            // The relay has those itself.
            Letter::Done { .. } => {}
        }
    }
}
