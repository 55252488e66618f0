//! One call of a script: a place in a worker, and answers to what the script asks until it ends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::{Value, json};

use super::pool::{Adopted, Place};
use super::worker::{Reports, Worker};
use super::{Failure, FetchAnswer, FetchRequest, Host, HostError};
use crate::limits::Limits;
use crate::wire::{End, Excess, Order, Question, Report, Telling};

/// How long a worker has to let go of a call that nobody waits for; then it is ended.
const LETS_GO_WITHIN: Duration = Duration::from_millis(250);
/// How many answers are made at once for one call.
const MOST_AT_ONCE: usize = 8;
/// How much may stand in the requests of one call that have no answer yet.
const MOST_HELD: usize = 32 << 20;
/// The longest text that a script tells.
const LONGEST: usize = 16 << 10;

impl Adopted {
    /// Carries a call out. Dropping the future cancels it. `request` is JSON, and so is the result; a script that returns nothing
    /// has none.
    pub async fn run(
        &self,
        request: &str,
        limits: Limits,
        is_nested: bool,
        host: &dyn Host,
    ) -> Result<Option<String>, Failure> {
        let place = self.pool.place(self.id, is_nested).await?;
        let worker = Arc::clone(&place.worker);
        let (call, reports) = worker.open();
        let mut going = Going { place: Some(place), call, limits, reports: Some(reports) };
        self.load(&worker).await;
        let order = Order::Call { call, program: self.id, limits };
        if !worker.order(&order, request.as_bytes()).await {
            return Err(going.died());
        }
        let (end, body) = going.end(&worker, limits, host).await?;
        result_of(end, body, limits)
    }

    /// Hands the program to a worker that has not got it.
    async fn load(&self, worker: &Worker) {
        if worker.duty().loaded.contains(&self.id) {
            return;
        }
        let program = serde_json::to_vec(&*self.program).unwrap_or_default();
        worker.order(&Order::Load { program: self.id }, &program).await;
        let mut duty = worker.duty();
        if !duty.loaded.contains(&self.id) {
            duty.loaded.push(self.id);
        }
    }
}

fn result_of(end: End, body: Vec<u8>, limits: Limits) -> Result<Option<String>, Failure> {
    match end {
        // The worker looks, too; but whoever runs in it may have got hold of it.
        End::Returned if body.len() > limits.output => Err(Failure::Exceeded(Excess::Output)),
        End::Returned => {
            let text = String::from_utf8(body).map_err(|_| Failure::Died)?;
            Ok(Some(text).filter(|text| !text.is_empty()))
        }
        End::Thrown { message, stack } => Err(Failure::Thrown { message: cut(message), stack: cut(stack) }),
        End::Exceeded { what } => Err(Failure::Exceeded(what)),
        End::Refused { faults } => Err(Failure::Refused(faults)),
        End::Missing(missing) => {
            let message = format!("{:?} cannot be imported", missing.import);
            Err(Failure::Thrown { message, stack: String::new() })
        }
        End::Stuck => Err(Failure::Stuck),
        End::Cancelled => Err(Failure::Died),
    }
}

/// A call that is under way; cancelled if it is dropped before it ended.
struct Going {
    place: Option<Place>,
    call: u32,
    limits: Limits,
    reports: Option<Reports>,
}

impl Going {
    async fn end(
        &mut self,
        worker: &Worker,
        limits: Limits,
        host: &dyn Host,
    ) -> Result<(End, Vec<u8>), Failure> {
        let call = self.call;
        let mut answers = FuturesUnordered::new();
        let mut waiting: VecDeque<Asked> = VecDeque::new();
        let (mut asked, mut told, mut held) = (0, 0, 0);
        loop {
            let Some(reports) = self.reports.as_mut() else { return Err(Failure::Died) };
            tokio::select! {
                biased;
                report = reports.recv() => match report {
                    None => return Err(self.died()),
                    Some((Report::Done { end, .. }, body)) => {
                        self.finish();
                        return Ok((end, body));
                    }
                    Some((Report::Ask { ask, what, has_body, .. }, body)) => {
                        asked += 1;
                        held += body.len();
                        // The worker counts, too; but whoever runs in it may have got hold of it.
                        if asked > limits.asks || held > MOST_HELD {
                            held -= body.len();
                            let error = HostError::new("too many requests, or too much in them, at once");
                            worker.order(&answer(call, ask, Err(error)).0, b"").await;
                        } else {
                            waiting.push_back(Asked { ask, what, body: has_body.then_some(body) });
                        }
                    }
                    Some((Report::Tell { what, .. }, _)) => {
                        told += 1;
                        if told <= limits.messages {
                            tell(host, what);
                        }
                    }
                    Some((Report::Ready, _)) => {}
                },
                Some((order, body, freed)) = answers.next(), if !answers.is_empty() => {
                    held -= freed;
                    worker.order(&order, Vec::as_slice(&body)).await;
                }
            }
            while answers.len() < MOST_AT_ONCE
                && let Some(asked) = waiting.pop_front()
            {
                answers.push(answered(host, call, asked));
            }
        }
    }

    fn died(&mut self) -> Failure {
        self.finish();
        Failure::Died
    }

    /// Nothing more is expected.
    fn finish(&mut self) {
        self.reports = None;
        if let Some(place) = self.place.take() {
            place.worker.close(self.call);
        }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let (Some(place), Some(mut reports)) = (self.place.take(), self.reports.take()) else { return };
        let (call, cpu_ms) = (self.call, self.limits.cpu_ms);
        if !place.worker.order_now(&Order::Cancel { call }) {
            place.worker.kill();
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            place.worker.kill();
            return;
        };
        // A worker that does not listen is in the midst of something that cannot be interrupted.
        runtime.spawn(async move {
            let ends = async {
                while let Some((report, _)) = reports.recv().await {
                    if matches!(report, Report::Done { .. }) {
                        return;
                    }
                }
            };
            // Other calls of the same script may be at work just now.
            let others = place.worker.duty().calls > 1;
            let patience =
                if others { LETS_GO_WITHIN + Duration::from_millis(cpu_ms) } else { LETS_GO_WITHIN };
            if tokio::time::timeout(patience, ends).await.is_err() {
                place.worker.kill();
            }
            place.worker.close(call);
        });
    }
}

fn tell(host: &dyn Host, what: Telling) {
    match what {
        Telling::Console { level, text } => host.console(&level, &cut(text)),
        Telling::Progress { progress, total, message } => host.progress(progress, total, message.map(cut)),
        Telling::Log { level, data } => host.log(&level, &data),
    }
}

/// A question without an answer yet.
struct Asked {
    ask: u32,
    what: Question,
    body: Option<Vec<u8>>,
}

/// The answer, and how much the question took.
async fn answered(host: &dyn Host, call: u32, asked: Asked) -> (Order, Vec<u8>, usize) {
    let Asked { ask, what, body } = asked;
    let size = body.as_ref().map_or(0, Vec::len);
    let given = match what {
        Question::Fetch { url, method, headers, redirect } => {
            let request = FetchRequest { url, method, headers, redirect, body };
            host.fetch(request).await.map(|answer| {
                let FetchAnswer { status, headers, url, redirected, body } = answer;
                let head = json!({"status": status, "statusText": "", "headers": headers, "url": url, "redirected": redirected});
                (head, Some(body))
            })
        }
        Question::Tool { name, arguments, caller } => {
            host.call_tool(&name, &arguments, caller.as_deref()).await.map(|result| (result, None))
        }
        Question::Secret { name } => host.secret(&name).await.map(|value| (Value::String(value), None)),
    };
    let (order, body) = answer(call, ask, given);
    (order, body, size)
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
    }
    text
}

fn answer(call: u32, ask: u32, given: Result<(Value, Option<Vec<u8>>), HostError>) -> (Order, Vec<u8>) {
    match given {
        Ok((value, body)) => {
            let order = Order::Answer { call, ask, is_good: true, has_body: body.is_some(), value };
            (order, body.unwrap_or_default())
        }
        Err(HostError { message, is_type_error }) => {
            let kind = if is_type_error { "TypeError" } else { "Error" };
            let value = json!({"type": kind, "message": message});
            (Order::Answer { call, ask, is_good: false, has_body: false, value }, Vec::new())
        }
    }
}
