//! A server that runs as our child and speaks on its standard streams, one message a line. It has a process group of its
//! own, so that what it started ends with it.

mod command;
mod group;
mod groups;
mod lines;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::failure::Failure;
use super::message::{self, ServerMessage};
use super::notes::Notes;
use super::wire::{OutgoingRequest, Take};

pub(super) use command::Command;
use group::Group;
pub use groups::end_programs;

/// Messages that wait to be written, or to be looked at, at most.
const QUEUE: usize = 256;
/// So many messages that nobody has asked for wait whatever their size; of more only those that are small.
const FEW: usize = 4;
const SMALL: usize = 16 * 1024;
/// Reports of progress that wait for one call at most, beside the newest.
const NOTES: usize = 64;
const WRITE_WITHIN: Duration = Duration::from_secs(30);
/// How long a child may take to read what was still to be said when it is to end.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// A running child.
pub(super) struct Process {
    name: Arc<str>,
    /// Nothing once the child is to end.
    outbox: Option<mpsc::Sender<Bytes>>,
    waiting: Arc<PendingAnswers>,
    group: Arc<Group>,
    farewells: TaskTracker,
    writer: Option<AbortOnDropHandle<()>>,
    readers: Vec<AbortOnDropHandle<()>>,
}

/// Requests that wait for their answers, by id; how the child ended once it has.
struct PendingAnswers(Mutex<Result<HashMap<u64, Waiter>, Failure>>);

struct Waiter {
    answer: oneshot::Sender<Result<ServerMessage, Failure>>,
    notes: Arc<Notes>,
}

/// A request to the child, until its answer is there.
pub(super) struct ProcessExchange {
    name: Arc<str>,
    id: u64,
    waiting: Arc<PendingAnswers>,
    answer: oneshot::Receiver<Result<ServerMessage, Failure>>,
    notes: Arc<Notes>,
}

/// What the child sends that belongs to no request.
pub(super) struct Unasked {
    queue: mpsc::Receiver<ServerMessage>,
    way: Arc<WayOut>,
}

/// Where it goes.
struct WayOut(Mutex<Sink>);

enum Sink {
    Queue(mpsc::Sender<ServerMessage>),
    Taker(Take),
    /// The child has ended.
    Closed,
}

impl Process {
    /// Starts the child.
    pub(super) fn start(
        command: &Command,
        most: usize,
        farewells: TaskTracker,
    ) -> Result<(Self, Unasked), Failure> {
        let name: Arc<str> = command.name().into();
        let (mut child, sensitive) = command.spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (outbox, outgoing) = mpsc::channel(QUEUE);
        let (sender, queue) = mpsc::channel(QUEUE);
        let way = Arc::new(WayOut(Mutex::new(Sink::Queue(sender))));
        let (said, log) = watch::channel(String::new());
        let group = Arc::new(Group::new(child));
        let waiting = Arc::new(PendingAnswers(Mutex::new(Ok(HashMap::new()))));
        let reader = lines::LineReader {
            name: Arc::clone(&name),
            most,
            sensitive: sensitive.clone(),
            waiting: Arc::clone(&waiting),
            outbox: outbox.clone(),
            unasked: Arc::clone(&way),
            group: Arc::clone(&group),
            log,
        };
        let writer = Some(AbortOnDropHandle::new(tokio::spawn(write(stdin, outgoing))));
        let readers = vec![
            AbortOnDropHandle::new(tokio::spawn(reader.run(stdout))),
            AbortOnDropHandle::new(tokio::spawn(lines::log(stderr, said, (Arc::clone(&name), sensitive)))),
        ];
        let process = Self { name, outbox: Some(outbox), waiting, group, farewells, writer, readers };
        Ok((process, Unasked { queue, way }))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn begin(&self, request: &OutgoingRequest) -> Result<ProcessExchange, Failure> {
        let (answer, answer_here) = oneshot::channel();
        let notes = Notes::new(NOTES);
        match &mut *self.waiting.lock() {
            Ok(waiting) => waiting.insert(request.id, Waiter { answer, notes: Arc::clone(&notes) }),
            Err(ended) => return Err(ended.clone()),
        };
        let exchange = ProcessExchange {
            name: Arc::clone(&self.name),
            id: request.id,
            waiting: Arc::clone(&self.waiting),
            answer: answer_here,
            notes,
        };
        self.send(request.message())?;
        Ok(exchange)
    }

    /// Puts a message into the queue.
    pub(super) fn send(&self, message: Bytes) -> Result<(), Failure> {
        let Some(outbox) = &self.outbox else { return Err(self.waiting.ending(&self.name)) };
        outbox.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Failure::Call(toolrail_core::CallError::new(
                toolrail_core::ErrorCode::UpstreamUnreachable,
                format!("{} does not read what it is sent; look into its log", self.name),
            )),
            mpsc::error::TrySendError::Closed(_) => self.waiting.ending(&self.name),
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.readers.clear();
        // The writer ends once it has written what waits, such as that a call was cancelled.
        self.outbox = None;
        let (group, writer) = (Arc::clone(&self.group), self.writer.take());
        let ending = async move {
            if let Some(writer) = writer {
                drop(tokio::time::timeout(LAST_WORDS_WITHIN, writer).await);
            }
            // The child's input is closed, which asks it to end.
            group.end().await;
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(self.farewells.spawn_on(ending, &runtime)),
            Err(_) => self.group.kill(),
        }
    }
}

impl PendingAnswers {
    fn lock(&self) -> MutexGuard<'_, Result<HashMap<u64, Waiter>, Failure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, id: u64) -> Option<Waiter> {
        self.lock().as_mut().ok()?.remove(&id)
    }

    fn answer(&self, id: u64, answer: Result<ServerMessage, Failure>) {
        if let Some(waiter) = self.remove(id) {
            // Whoever asked may be gone.
            drop(waiter.answer.send(answer));
        }
    }

    fn note(&self, token: u64, message: ServerMessage) {
        if let Some(waiter) = self.lock().as_ref().ok().and_then(|waiting| waiting.get(&token)) {
            drop(waiter.notes.push(message));
        }
    }

    fn fail(&self, failure: &Failure) {
        let all: Vec<_> = self.lock().as_mut().into_iter().flat_map(HashMap::drain).collect();
        for (_, waiter) in all {
            drop(waiter.answer.send(Err(failure.clone())));
        }
    }

    /// The child has ended: nobody waits any more, and nobody begins to.
    fn close(&self, failure: &Failure) {
        self.fail(failure);
        // Answered while it was unlocked: whoever came in between finds the channel closed.
        *self.lock() = Err(failure.clone());
    }

    /// How the child ended, as far as that is known.
    fn ending(&self, name: &str) -> Failure {
        let unknown = || Failure::lost(format!("{name:?} has ended; look into its log"));
        self.lock().as_ref().err().cloned().unwrap_or_else(unknown)
    }
}

impl ProcessExchange {
    pub(super) async fn next(&mut self) -> Result<ServerMessage, Failure> {
        tokio::select! {
            biased;
            note = self.notes.next() => Ok(note),
            answer = &mut self.answer => answer.unwrap_or_else(|_| Err(self.waiting.ending(&self.name))),
        }
    }
}

impl Drop for ProcessExchange {
    fn drop(&mut self) {
        drop(self.waiting.remove(self.id));
    }
}

impl Unasked {
    pub(super) async fn next(&mut self) -> Option<ServerMessage> {
        self.queue.recv().await
    }

    /// Hands everything to `take` from now on: at once, so that what the child says before an answer is there before it.
    pub(super) fn hand_to(mut self, take: Take) {
        let mut sink = self.way.lock();
        while let Ok(message) = self.queue.try_recv() {
            take(Some(message));
        }
        match *sink {
            Sink::Closed => take(None),
            Sink::Queue(_) | Sink::Taker(_) => *sink = Sink::Taker(take),
        }
    }
}

impl WayOut {
    fn lock(&self) -> MutexGuard<'_, Sink> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, message: ServerMessage) {
        match &*self.lock() {
            Sink::Queue(queue) => {
                let waiting = QUEUE - queue.capacity();
                // What is large waits only where there is little else.
                if waiting < FEW || message.size() <= SMALL {
                    drop(queue.try_send(message));
                }
            }
            Sink::Taker(take) => take(Some(message)),
            Sink::Closed => {}
        }
    }

    fn close(&self) {
        if let Sink::Taker(take) = std::mem::replace(&mut *self.lock(), Sink::Closed) {
            take(None);
        }
    }
}

async fn write(stdin: Option<ChildStdin>, mut outgoing: mpsc::Receiver<Bytes>) {
    let Some(mut stdin) = stdin else { return };
    while let Some(message) = outgoing.recv().await {
        let writing = async {
            stdin.write_all(&message).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        if !matches!(tokio::time::timeout(WRITE_WITHIN, writing).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// The answer to `ping`, which every client owes.
fn pong(id: &Bytes) -> Bytes {
    message::answer(id, Ok(&serde_json::json!({})))
}
